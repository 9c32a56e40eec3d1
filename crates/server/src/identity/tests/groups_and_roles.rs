use svc_core::{Permission, Permissions};
use svc_protocol::api;
use svc_store::{PageRequest, records};
use uuid::Uuid;

use super::{Fixture, assert_code};
use crate::identity::DirectoryChange;

fn group(name: &str) -> api::GroupBody {
    api::GroupBody { name: name.into() }
}

#[tokio::test]
async fn renaming_or_deleting_a_group_affects_its_members_at_once() {
    let fixture = Fixture::new().await;
    let (identity, admin) = (&fixture.identity, &fixture.admin);
    let directory = identity.directory();
    let ops = identity.create_group(admin, group("ops")).await;
    let ops = ops.expect("created");
    let patch = api::UserPatch {
        groups: Some(vec![ops.id.to_string()]),
        ..api::UserPatch::default()
    };
    let ann = fixture.user("ann", &["user"]).await;
    let joined = identity.update_user(admin, ann.id, patch).await;
    assert_eq!(joined.expect("joined").groups, ["ops"]);
    let groups_of_ann = || directory.find_user(ann.id).expect("known").groups.clone();
    assert_eq!(groups_of_ann(), [ops.id]);

    let mut changes = directory.subscribe();
    let renamed = identity
        .rename_group(admin, ops.id, group("operators"))
        .await;
    assert_eq!(renamed.expect("renamed").name, "operators");
    assert_eq!(changes.try_recv(), Ok(DirectoryChange::GroupsChanged));
    assert_eq!(directory.resolve_group("ops"), None);
    assert_eq!(directory.resolve_group("operators"), Some(ops.id));
    let user = directory.find_user(ann.id).expect("known");
    assert_eq!(user.group_names, ["operators"]);

    identity.delete_group(admin, ops.id).await.expect("deleted");
    assert!(groups_of_ann().is_empty());
    assert_eq!(directory.resolve_group(&ops.id.to_string()), None);
    assert_code(identity.get_group(ops.id).await, "not_found");
}

#[tokio::test]
async fn group_names_are_unique_and_cannot_be_ids() {
    let fixture = Fixture::new().await;
    let create = |name: &str| fixture.identity.create_group(&fixture.admin, group(name));
    let first = create("ops").await.expect("created");
    assert_code(create("ops").await, "name_taken");
    assert_code(create("").await, "invalid_name");
    assert_code(create(&first.id.to_string()).await, "invalid_name");
    let second = create("dev").await.expect("created");
    let rename = |name: &str| {
        fixture
            .identity
            .rename_group(&fixture.admin, second.id, group(name))
    };
    assert_code(rename("ops").await, "name_taken");
    rename("dev").await.expect("a group may keep its name");
    let listed = fixture.identity.list_groups(PageRequest::default()).await;
    assert_eq!(listed.expect("read").groups.len(), 2);
}

#[tokio::test]
async fn built_in_roles_cannot_be_changed_or_deleted() {
    let fixture = Fixture::new().await;
    let (identity, admin) = (&fixture.identity, &fixture.admin);
    let listed = identity.list_roles(PageRequest::default()).await;
    let roles = listed.expect("read").roles;
    assert_eq!(roles.len(), 2);
    for role in roles {
        assert!(role.builtin);
        let patch = api::RolePatch {
            permissions: Some(Permissions::NONE),
            ..api::RolePatch::default()
        };
        let changed = identity.update_role(admin, role.id, patch).await;
        assert_code(changed, "builtin_role");
        assert_code(identity.delete_role(admin, role.id).await, "builtin_role");
        let again = api::NewRole {
            name: role.name,
            permissions: Permissions::NONE,
            require_second_factor: false,
        };
        assert_code(identity.create_role(admin, again).await, "name_taken");
    }
}

#[tokio::test]
async fn a_changed_role_changes_the_permissions_of_its_holders_at_once() {
    let fixture = Fixture::new().await;
    let (identity, admin) = (&fixture.identity, &fixture.admin);
    let ann = fixture.caller("ann", &[Permission::UseSpaces]).await;
    let listed = identity.list_roles(PageRequest::default()).await;
    let role = listed.expect("read").roles.pop().expect("of ann");
    let permissions = || {
        let now = identity.directory().find_user(ann.user.id);
        now.expect("known").permissions
    };
    assert_eq!(permissions(), Permissions::of(&[Permission::UseSpaces]));
    let patch = api::RolePatch {
        name: Some("renamed".into()),
        permissions: Some(Permissions::of(&[Permission::UseMcp])),
        require_second_factor: None,
    };
    let changed = identity.update_role(admin, role.id, patch).await;
    assert_eq!(changed.expect("changed").name, "renamed");
    assert_eq!(permissions(), Permissions::of(&[Permission::UseMcp]));
    identity.delete_role(admin, role.id).await.expect("deleted");
    assert_eq!(permissions(), Permissions::NONE);
}

#[tokio::test]
async fn a_user_cannot_create_or_change_a_role_with_a_permission_they_do_not_hold() {
    let fixture = Fixture::new().await;
    let identity = &fixture.identity;
    let held = [Permission::ManageRoles, Permission::UseSpaces];
    let clerk = fixture.caller("clerk", &held).await;
    let role = |permission| api::NewRole {
        name: "new".into(),
        permissions: Permissions::of(&[permission]),
        require_second_factor: false,
    };
    let refused = identity
        .create_role(&clerk, role(Permission::ViewAudit))
        .await;
    assert_code(refused, "exceeds_own_power");
    let created = identity
        .create_role(&clerk, role(Permission::UseSpaces))
        .await;
    let created = created.expect("holds it");
    let patch = |permissions: &[Permission]| api::RolePatch {
        permissions: Some(Permissions::of(permissions)),
        ..api::RolePatch::default()
    };
    let added = patch(&[Permission::UseSpaces, Permission::ManageUsers]);
    let refused = identity.update_role(&clerk, created.id, added).await;
    assert_code(refused, "exceeds_own_power");
    // If a role has a permission that the clerk does not hold, the clerk cannot add permissions to
    // the role or remove them.
    let wider = patch(&[Permission::ViewAudit]);
    let widened = identity
        .update_role(&fixture.admin, created.id, wider)
        .await;
    widened.expect("holds everything");
    let kept = patch(&[Permission::ViewAudit, Permission::UseSpaces]);
    for patch in [kept, patch(&[]), patch(&[Permission::UseSpaces])] {
        let refused = identity.update_role(&clerk, created.id, patch).await;
        assert_code(refused, "exceeds_own_power");
    }
    let refused = identity.delete_role(&clerk, created.id).await;
    assert_code(refused, "exceeds_own_power");
}

#[tokio::test]
async fn changes_are_audited_with_the_name_of_the_actor_and_without_secrets() {
    let fixture = Fixture::new().await;
    let token = fixture.token(&fixture.admin, &["mcp"]).await;
    let deleted = fixture.identity.delete_token(&fixture.admin, token.id);
    deleted.await.expect("revoked");
    let made = fixture
        .identity
        .create_group(&fixture.admin, group("ops"))
        .await;
    made.expect("created");
    assert_eq!(
        fixture.actions().await,
        [
            "user.created",
            "session.created",
            "token.created",
            "token.revoked",
            "group.created"
        ]
    );
    let listed = fixture
        .identity
        .list_audit(
            svc_core::UserId::NIL,
            api::AuditQuery::default(),
            PageRequest::default(),
        )
        .await
        .expect("read");
    let actors: Vec<_> = listed.audit.iter().map(|entry| &entry.actor[..]).collect();
    assert_eq!(actors, ["admin", "admin", "admin", "admin", "system"]);
    let text = serde_json::to_string(&listed).expect("writes");
    for secret in ["svc_pat_", "svc_ses_", "argon2", super::PASSWORD] {
        assert!(!text.contains(secret), "{secret}");
    }
    // A rejected change is not recorded.
    let refused = fixture
        .identity
        .create_group(&fixture.admin, group("ops"))
        .await;
    assert_code(refused, "name_taken");
    assert_eq!(fixture.actions().await.len(), 5);
    let retention = super::policy().audit_retention;
    fixture.pass(retention + std::time::Duration::from_secs(1));
    fixture.identity.prune().await.expect("pruned");
    assert!(fixture.actions().await.is_empty());
}

/// Every server holds all groups, and the names of the roles of each user, in memory.
#[tokio::test]
async fn a_server_has_a_limited_number_of_groups_and_roles() {
    let fixture = Fixture::new().await;
    let (identity, admin) = (&fixture.identity, &fixture.admin);
    let fill = fixture.store.write(|tx| {
        let created_at = svc_core::Timestamp(0);
        // One role and one group may still be created. Two roles are built in.
        for n in 0..997 {
            let role = api::Role {
                id: svc_core::RoleId(Uuid::now_v7()),
                name: format!("r{n}"),
                permissions: Permissions::NONE,
                builtin: false,
                created_at,
                require_second_factor: false,
            };
            records::insert(tx, &role)?;
        }
        for n in 0..9_999 {
            let group = api::Group {
                id: svc_core::GroupId(Uuid::now_v7()),
                name: format!("g{n}"),
                created_at,
            };
            records::insert(tx, &group)?;
        }
        Ok(())
    });
    fill.await.expect("filled");
    let role = |name: &str| api::NewRole {
        name: name.to_owned(),
        permissions: Permissions::NONE,
        require_second_factor: false,
    };
    identity.create_role(admin, role("a")).await.expect("last");
    assert_code(
        identity.create_role(admin, role("b")).await,
        "too_many_roles",
    );
    identity
        .create_group(admin, group("a"))
        .await
        .expect("last");
    assert_code(
        identity.create_group(admin, group("b")).await,
        "too_many_groups",
    );
}
