use svc_core::{Permission, SinkId, delivery_policy::DeliveryPolicy, pattern::Pattern};
use svc_protocol::api;
use svc_store::{
    PageRequest,
    sinks::{self, SinkConfig, SinkRow},
    spaces,
};
use uuid::Uuid;

use super::{Fixture, assert_code, new_user};
use crate::identity::{AccessDenied, Caller, DirectoryChange, delete_sink};

fn roles(names: &[&str]) -> api::UserPatch {
    api::UserPatch {
        roles: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..api::UserPatch::default()
    }
}

fn active(active: bool) -> api::UserPatch {
    api::UserPatch {
        active: Some(active),
        ..api::UserPatch::default()
    }
}

fn password(password: &str) -> api::UserPatch {
    api::UserPatch {
        password: Some(password.into()),
        ..api::UserPatch::default()
    }
}

#[tokio::test]
async fn users_are_created_listed_and_found() {
    let fixture = Fixture::new().await;
    let group = api::GroupBody { name: "ops".into() };
    fixture
        .identity
        .create_group(&fixture.admin, group)
        .await
        .expect("created");
    let new = api::NewUser {
        roles: None,
        groups: vec!["ops".into()],
        ..new_user("ann", &[])
    };
    let created = fixture.identity.create_user(&fixture.admin, new).await;
    let ann = created.expect("created");
    assert_eq!(
        (&ann.roles[..], &ann.groups[..]),
        (&["user".to_owned()][..], &["ops".to_owned()][..])
    );
    let found = fixture.identity.get_user(ann.id).await.expect("found");
    assert_eq!(found.username, ann.username);
    let listed = fixture
        .identity
        .list_users(ann.id, PageRequest::default())
        .await;
    let names: Vec<_> = listed
        .expect("read")
        .users
        .iter()
        .map(|user| user.username.to_string())
        .collect();
    assert_eq!(names, ["admin", "ann"]);
    let known = fixture.identity.directory().find_user_by_name("ann");
    let known = known.expect("in the directory");
    assert!(known.permissions.contains(Permission::UseMethods));
    assert_eq!(known.group_names, ["ops"]);

    assert_code(fixture.try_user("ann", &[]).await, "name_taken");
    assert_code(fixture.try_user("A.B", &[]).await, "invalid_name");
    assert_code(fixture.try_user("bob", &["boss"]).await, "unknown_role");
    let new = api::NewUser {
        groups: vec!["dev".into()],
        ..new_user("bob", &[])
    };
    let created = fixture.identity.create_user(&fixture.admin, new).await;
    assert_code(created, "unknown_group");
    assert!(
        fixture
            .identity
            .directory()
            .find_user_by_name("bob")
            .is_none()
    );
}

#[tokio::test]
async fn deactivating_ends_sessions_and_blocks_tokens_at_once() {
    let fixture = Fixture::new().await;
    let directory = fixture.identity.directory();
    let ann = fixture.caller("ann", &[]).await;
    let token = fixture.token(&ann, &[]).await;
    let text = token.token.expect("shown once");
    let mut changes = directory.subscribe();
    let patch = |active_now| {
        fixture
            .identity
            .update_user(&fixture.admin, ann.user.id, active(active_now))
    };
    patch(false).await.expect("deactivated");
    assert_eq!(
        changes.try_recv(),
        Ok(DirectoryChange::UserDeactivated(ann.user.id))
    );
    assert_eq!(
        directory.authenticate(&text, fixture.now()).err(),
        Some(AccessDenied::UserInactive)
    );
    assert_eq!(
        directory.recheck(&ann, fixture.now()).err(),
        Some(AccessDenied::Unknown)
    );
    patch(true).await.expect("activated");
    assert!(directory.authenticate(&text, fixture.now()).is_ok());
    assert!(directory.recheck(&ann, fixture.now()).is_err());
    let actions = fixture.actions().await;
    assert_eq!(
        actions[actions.len() - 2..],
        ["user.deactivated", "user.activated"]
    );
}

#[tokio::test]
async fn a_password_reset_ends_all_sessions_of_the_user() {
    let fixture = Fixture::new().await;
    let ann = fixture.caller("ann", &[]).await;
    let reset =
        fixture
            .identity
            .update_user(&fixture.admin, ann.user.id, password("another horse"));
    reset.await.expect("reset");
    let directory = fixture.identity.directory();
    assert!(directory.recheck(&ann, fixture.now()).is_err());
    let own = fixture.admin.user.id;
    let own = fixture
        .identity
        .update_user(&fixture.admin, own, password("another horse"));
    assert_code(own.await, "own_password");
}

#[tokio::test]
async fn users_cannot_remove_themselves_or_the_last_active_administrator() {
    let fixture = Fixture::new().await;
    let (identity, admin) = (&fixture.identity, &fixture.admin);
    let id = admin.user.id;
    let deactivate = identity.update_user(admin, id, active(false)).await;
    assert_code(deactivate, "own_account");
    assert_code(identity.delete_user(admin, id).await, "own_account");
    let demote = identity.update_user(admin, id, roles(&["user"])).await;
    assert_code(demote, "last_admin");

    let root = fixture.user("root", &["admin"]).await;
    // Holds every permission, but is not an administrator.
    let steward = fixture.caller("steward", Permission::ALL).await;
    let off = identity.update_user(admin, root.id, active(false)).await;
    off.expect("not the last admin");
    // An inactive administrator does not count.
    for refused in [
        identity.update_user(&steward, id, active(false)).await,
        identity.update_user(&steward, id, roles(&[])).await,
    ] {
        assert_code(refused, "last_admin");
    }
    assert_code(identity.delete_user(&steward, id).await, "last_admin");
    let on = identity.update_user(admin, root.id, active(true)).await;
    on.expect("activated");
    let demoted = identity.update_user(admin, id, roles(&["user"])).await;
    assert_eq!(demoted.expect("not the last admin").roles, ["user"]);
}

#[tokio::test]
async fn a_user_who_owns_spaces_cannot_be_deleted() {
    let fixture = Fixture::new().await;
    let ann = fixture.caller("ann", &[]).await;
    let space = fixture.space(ann.user.id).await;
    let delete = || fixture.identity.delete_user(&fixture.admin, ann.user.id);
    assert_code(delete().await, "user_owns_spaces");
    let at = fixture.now();
    fixture
        .store
        .write(move |tx| spaces::mark_deleted(tx, space, at))
        .await
        .expect("committed");
    delete().await.expect("deleted");
    let directory = fixture.identity.directory();
    assert!(directory.find_user(ann.user.id).is_none());
    assert!(directory.recheck(&ann, fixture.now()).is_err());
    assert_code(delete().await, "not_found");
    // The name is free again.
    fixture.user("ann", &["user"]).await;
}

/// A global sink whose script runs for a user.
fn script_sink(fixture: &Fixture, user: &Caller, name: &str) -> SinkRow {
    SinkRow {
        id: SinkId(Uuid::now_v7()),
        owner_key: sinks::GLOBAL.to_owned(),
        owner_id: user.user.id,
        name: name.to_owned(),
        description: String::new(),
        patterns: vec![Pattern::parse("*", 1).expect("valid")],
        kind: api::SinkType::Script,
        active: true,
        config: SinkConfig::Script(api::ScriptConfig {
            script_id: None,
            source: Some("pass".to_owned()),
        }),
        secret: None,
        previous_secret: None,
        previous_until: None,
        sealed_headers: None,
        sealed_client_key: None,
        policy: DeliveryPolicy::default(),
        paused: None,
        created_at: fixture.now(),
    }
}

#[tokio::test]
async fn a_user_who_is_deactivated_twice_is_audited_once() {
    let fixture = Fixture::new().await;
    let ann = fixture.user("ann", &["user"]).await;
    for on in [false, false, true, true] {
        let patched = fixture
            .identity
            .update_user(&fixture.admin, ann.id, active(on))
            .await;
        assert_eq!(patched.expect("updated").active, on);
    }
    let actions = fixture.actions().await;
    for once in ["user.deactivated", "user.activated"] {
        let count = actions.iter().filter(|action| *action == once).count();
        assert_eq!(count, 1, "{once}");
    }
}

#[tokio::test]
async fn a_user_cannot_be_deleted_while_a_global_sink_runs_a_script_for_them() {
    let fixture = Fixture::new().await;
    let ann = fixture.caller("ann", &[]).await;
    let mut ids = Vec::new();
    for n in 0..7 {
        let row = script_sink(&fixture, &ann, &format!("watch{n}"));
        ids.push(row.id);
        let insert = fixture.store.write(move |tx| sinks::insert(tx, &row));
        insert.await.expect("committed");
    }
    let delete = || fixture.identity.delete_user(&fixture.admin, ann.user.id);
    let at = fixture.now();
    // At most five sinks are named.
    for (named, more) in [("`watch4` and 2 more run", 2), ("`watch4` run", 5)] {
        let refused = delete().await;
        let said = refused.as_ref().expect_err("refused").to_string();
        assert!(said.contains(named), "{said}");
        assert_code(refused, "user_runs_sinks");
        for id in ids.split_off(ids.len() - more) {
            let remove = fixture
                .store
                .write(move |tx| delete_sink(tx, id, "admin", at));
            remove.await.expect("committed");
        }
    }
    delete().await.expect("deleted");
}

#[tokio::test]
async fn a_user_cannot_grant_a_permission_that_they_do_not_hold() {
    let fixture = Fixture::new().await;
    let (identity, admin) = (&fixture.identity, &fixture.admin);
    let clerk = fixture.caller("clerk", &[Permission::ManageUsers]).await;
    let bob = fixture.user("bob", &[]).await;
    for refused in [
        identity
            .create_user(&clerk, new_user("eve", &["admin"]))
            .await,
        identity
            .create_user(&clerk, new_user("eve", &["user"]))
            .await,
        identity
            .update_user(&clerk, bob.id, roles(&["admin"]))
            .await,
        identity
            .update_user(&clerk, clerk.user.id, roles(&["role of clerk", "admin"]))
            .await,
    ] {
        assert_code(refused, "exceeds_own_power");
    }
    let granted = identity
        .update_user(&clerk, bob.id, roles(&["role of clerk"]))
        .await;
    assert_eq!(granted.expect("held by the clerk").roles, ["role of clerk"]);
    let granted = identity.update_user(admin, bob.id, roles(&["admin"])).await;
    granted.expect("an administrator holds everything");
}

#[tokio::test]
async fn a_user_cannot_act_on_a_user_with_more_permissions() {
    let fixture = Fixture::new().await;
    let identity = &fixture.identity;
    let clerk = fixture.caller("clerk", &[Permission::ManageUsers]).await;
    let admin = fixture.admin.user.id;
    fixture.user("root", &["admin"]).await;
    for patch in [
        password("another horse"),
        active(false),
        roles(&[]),
        api::UserPatch {
            groups: Some(Vec::new()),
            ..api::UserPatch::default()
        },
    ] {
        let refused = identity.update_user(&clerk, admin, patch).await;
        assert_code(refused, "exceeds_own_power");
    }
    let refused = identity.delete_user(&clerk, admin).await;
    assert_code(refused, "exceeds_own_power");
}
