//! Creating, reading and deleting records, and callers who may not do it.

use serde_json::Value;

use super::{
    kinds::{KINDS, Kind, Manager},
    world::{UNKNOWN_ID, World, id_of, ids, without},
};
use crate::identity::revocation::{Begun, begin};

/// The requests about one record that a kind has: method and body.
fn requests(kind: &Kind) -> Vec<(&'static str, Option<String>)> {
    let mut requests = Vec::new();
    if kind.get {
        requests.push(("GET", None));
    }
    if let Some(patch) = &kind.patch {
        requests.push(("PATCH", Some(patch.change().to_string())));
    }
    if kind.delete {
        requests.push(("DELETE", None));
    }
    requests
}

#[tokio::test]
async fn a_record_is_read_as_it_was_created_until_it_is_deleted() {
    let world = World::new().await;
    for kind in KINDS {
        let created = world.create(kind, "one").await;
        let id = id_of(&created);
        let manager = world.manager(kind);
        for member in kind.shown_once {
            assert!(created[member].is_string(), "{} {created}", kind.path);
        }
        let shown = without(&created, kind.shown_once);
        let found = world.find(kind, id).await;
        assert_eq!(found, Some(shown.clone()), "{}", kind.path);
        if kind.list.is_some() {
            let listed = world.list(manager, kind).await;
            assert!(listed.contains(&shown), "{shown} is not in {listed:#?}");
        }
        if kind.delete {
            let path = kind.path_of(id);
            manager.delete(&path).await.expect(204);
            assert_eq!(world.find(kind, id).await, None, "{}", kind.path);
            for (method, body) in requests(kind) {
                let answer = manager.send(method, &path, body).await;
                assert_eq!(answer.expect(404).code(), "not_found", "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn an_id_of_no_record_is_not_found() {
    let world = World::new().await;
    for kind in KINDS {
        let manager = world.manager(kind);
        for (method, body) in requests(kind) {
            for id in [UNKNOWN_ID, "x", "%F0%9F%8E%88"] {
                let path = kind.path_of(id);
                let answer = manager.send(method, &path, body.clone()).await;
                assert_eq!(answer.expect(404).code(), "not_found", "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn a_record_of_another_user_is_answered_like_one_that_does_not_exist() {
    let world = World::new().await;
    for kind in KINDS {
        if kind.manager != Manager::Owner {
            continue;
        }
        let created = world.create(kind, "one").await;
        let id = id_of(&created);
        for (method, body) in requests(kind) {
            let path = kind.path_of(id);
            let unknown = kind.path_of(UNKNOWN_ID);
            let of_other = world
                .bob
                .send(method, &path, body.clone())
                .await
                .expect(404);
            let of_none = world.bob.send(method, &unknown, body).await.expect(404);
            let of_none = of_none.text().replace(UNKNOWN_ID, id);
            assert_eq!(of_other.text(), of_none, "{method} {path}");
        }
        if kind.list.is_some() {
            let seen = ids(&world.list(&world.bob, kind).await);
            assert!(!seen.contains(id), "{}", kind.path);
        }
        let kept = without(&created, kind.shown_once);
        assert_eq!(world.find(kind, id).await, Some(kept), "{}", kind.path);
    }
}

/// Sends a request whose token is revoked before the body arrives.
async fn send_revoked(world: &World, kind: &Kind, method: &str, path: &str, body: &Value) {
    let manager = world.manager(kind);
    let token = manager.new_token(&[]).await;
    let secret = token["token"].as_str().unwrap();
    let begun = begin(&world.server, secret, method, path, &body.to_string()).await;
    let Begun::Waits(request) = begun else {
        panic!("{method} {path} does not wait for its body");
    };
    let revoke = format!("/api/tokens/{}", id_of(&token));
    manager.delete(&revoke).await.expect(204);
    assert_eq!(request.finish().await, 401, "{method} {path}");
}

#[tokio::test]
async fn a_caller_who_was_revoked_meanwhile_changes_nothing() {
    let world = World::new().await;
    for (kind, body) in Kind::posted() {
        let before = world.list(world.manager(kind), kind).await.len();
        send_revoked(&world, kind, "POST", kind.path, &body("backdoor")).await;
        let after = world.list(world.manager(kind), kind).await.len();
        assert_eq!(before, after, "{}", kind.path);
    }
    for (kind, patch) in Kind::patched() {
        let created = world.create(kind, "one").await;
        let path = kind.path_of(id_of(&created));
        send_revoked(&world, kind, "PATCH", &path, &patch.change()).await;
        let kept = without(&created, kind.shown_once);
        let found = world.find(kind, id_of(&created)).await;
        assert_eq!(found, Some(kept), "{}", kind.path);
    }
}
