//! Groups and roles that users got from their provider.

use svc_core::{GroupId, OidcIdentityId, RoleId, UserId};

use crate::{
    error::StoreError,
    sql::{Tx, values},
};

pub fn list_groups(tx: &mut Tx<'_>, id: OidcIdentityId) -> Result<Vec<GroupId>, StoreError> {
    tx.list(
        "SELECT m.target_id FROM oidc_memberships m JOIN groups g ON g.id = m.target_id
         WHERE m.identity_id = ?1 AND m.kind = 'group'",
        values![id],
    )
}

pub fn list_roles(tx: &mut Tx<'_>, id: OidcIdentityId) -> Result<Vec<RoleId>, StoreError> {
    tx.list(
        "SELECT m.target_id FROM oidc_memberships m JOIN roles r ON r.id = m.target_id
         WHERE m.identity_id = ?1 AND m.kind = 'role'",
        values![id],
    )
}

/// Adds a user to a group because of the provider, and records that the membership comes from the
/// provider. If the user is already a member, nothing is recorded: the provider cannot end a
/// membership that it did not give.
pub fn join_group(
    tx: &mut Tx<'_>,
    (id, user): (OidcIdentityId, UserId),
    group: GroupId,
) -> Result<(), StoreError> {
    let is_new = tx.changes(
        "INSERT INTO user_groups (user_id, group_id) VALUES (?1, ?2)
         ON CONFLICT (user_id, group_id) DO NOTHING",
        values![user, group],
    )?;
    match is_new {
        true => record(tx, id, "group", &group.to_string()),
        false => Ok(()),
    }
}

/// Like [`join_group`], for a role.
pub fn give_role(
    tx: &mut Tx<'_>,
    (id, user): (OidcIdentityId, UserId),
    role: RoleId,
) -> Result<(), StoreError> {
    let is_new = tx.changes(
        "INSERT INTO user_roles (user_id, role_id) VALUES (?1, ?2)
         ON CONFLICT (user_id, role_id) DO NOTHING",
        values![user, role],
    )?;
    match is_new {
        true => record(tx, id, "role", &role.to_string()),
        false => Ok(()),
    }
}

pub fn leave_group(
    tx: &mut Tx<'_>,
    (id, user): (OidcIdentityId, UserId),
    group: GroupId,
) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM user_groups WHERE user_id = ?1 AND group_id = ?2",
        values![user, group],
    )?;
    forget(tx, id, "group", &group.to_string())
}

pub fn take_role(
    tx: &mut Tx<'_>,
    (id, user): (OidcIdentityId, UserId),
    role: RoleId,
) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM user_roles WHERE user_id = ?1 AND role_id = ?2",
        values![user, role],
    )?;
    forget(tx, id, "role", &role.to_string())
}

fn record(tx: &mut Tx<'_>, id: OidcIdentityId, kind: &str, target: &str) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO oidc_memberships (identity_id, kind, target_id) VALUES (?1, ?2, ?3)
         ON CONFLICT (identity_id, kind, target_id) DO NOTHING",
        values![id, kind, target],
    )
}

fn forget(tx: &mut Tx<'_>, id: OidcIdentityId, kind: &str, target: &str) -> Result<(), StoreError> {
    tx.execute(
        "DELETE FROM oidc_memberships WHERE identity_id = ?1 AND kind = ?2 AND target_id = ?3",
        values![id, kind, target],
    )
}
