//! Each change of a record writes one audit entry, and a refused change writes none.

use serde_json::Value;
use svc_testkit::TestUser;

use super::{
    kinds::{KINDS, Kind},
    world::{UNKNOWN_ID, World, id_of},
};

/// Checks that the newest entry is the only one since there were `before` entries, and returns the
/// number of entries now.
async fn expect_one(
    world: &World,
    before: usize,
    (kind, action): (&Kind, &str),
    (by, id): (&TestUser, &str),
) {
    let entries = world.audit().await;
    let new = &entries[..entries.len() - before];
    let [entry] = new else {
        panic!("{action}: {} entries: {new:#?}", new.len());
    };
    assert_eq!(entry["action"], action, "{entry}");
    assert_eq!(entry["actor"], by.name.as_str(), "{entry}");
    assert_eq!(entry["target_type"], kind.audit.target, "{entry}");
    assert_eq!(entry["target_id"], id, "{entry}");
    assert_eq!(entry.get("count"), None, "{entry}");
    assert!(entry["detail"].is_object(), "{entry}");
}

#[tokio::test]
async fn each_change_writes_one_audit_entry() {
    let world = World::new().await;
    for kind in KINDS {
        let by = world.manager(kind);
        let before = world.audit().await.len();
        let created = world.create(kind, "one").await;
        let id = id_of(&created);
        if let Some(action) = kind.audit.created {
            expect_one(&world, before, (kind, action), (by, id)).await;
        }
        if let (Some(action), Some(patch)) = (kind.audit.updated, &kind.patch) {
            let before = world.audit().await.len();
            let answer = by.patch(&kind.path_of(id), patch.change()).await;
            answer.expect(200);
            expect_one(&world, before, (kind, action), (by, id)).await;
        }
        if let Some(action) = kind.audit.deleted {
            let before = world.audit().await.len();
            by.delete(&kind.path_of(id)).await.expect(204);
            expect_one(&world, before, (kind, action), (by, id)).await;
        }
    }
}

#[tokio::test]
async fn a_refused_change_writes_no_audit_entry() {
    let world = World::new().await;
    for kind in KINDS {
        world.create(kind, "one").await;
    }
    let before = world.audit().await.len();
    for kind in KINDS {
        let by = world.manager(kind);
        by.post(kind.path, "{\"colour\": 1}").await;
        let unknown = kind.path_of(UNKNOWN_ID);
        if let Some(patch) = &kind.patch {
            by.patch(&unknown, patch.change()).await.expect(404);
        }
        if kind.delete {
            by.delete(&unknown).await.expect(404);
        }
    }
    let entries = world.audit().await;
    assert_eq!(entries.len(), before, "{}", entries[0]);
}

#[test]
fn every_operation_that_changes_a_record_has_an_action() {
    for kind in KINDS
        .iter()
        .filter(|kind| kind.audit.target != "user" || kind.get)
    {
        let path = kind.path;
        assert_eq!(kind.audit.updated.is_some(), kind.patch.is_some(), "{path}");
        assert_eq!(kind.audit.deleted.is_some(), kind.delete, "{path}");
    }
}

#[tokio::test]
async fn no_audit_entry_shows_a_secret_of_a_record() {
    let world = World::new().await;
    let mut secrets = Vec::new();
    for kind in KINDS {
        let created = world.create(kind, "one").await;
        for member in kind.shown_once {
            let secret = created[member].as_str().unwrap();
            // The secret part of a URL is its last step.
            let secret = secret.rsplit('/').next().unwrap();
            secrets.push((kind.path, secret.to_owned()));
        }
    }
    let audit = Value::Array(world.audit().await).to_string();
    assert!(secrets.len() >= 4, "{secrets:?}");
    for (path, secret) in secrets {
        assert!(!audit.contains(&secret), "{path}");
    }
}
