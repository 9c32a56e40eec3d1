//! Groups and roles of users, and which of them users got from their provider.

use svc_core::{GroupId, OidcIdentityId, RoleId, UserId};

use super::{
    error::StoreError,
    sql::{Tx, values},
    value::ColumnValue,
};

/// The id of a group or of a role.
pub trait Membership: Copy + ColumnValue {
    const KIND: &'static str;
    /// The table of the groups or roles.
    const TABLE: &'static str;
    /// The table of their users, and its column with the id.
    const USERS: &'static str;
    const COLUMN: &'static str;
}

impl Membership for GroupId {
    const KIND: &'static str = "group";
    const TABLE: &'static str = "groups";
    const USERS: &'static str = "user_groups";
    const COLUMN: &'static str = "group_id";
}

impl Membership for RoleId {
    const KIND: &'static str = "role";
    const TABLE: &'static str = "roles";
    const USERS: &'static str = "user_roles";
    const COLUMN: &'static str = "role_id";
}

/// The members of a group, or the holders of a role.
pub fn list_users<M: Membership>(tx: &mut Tx<'_>, id: M) -> Result<Vec<UserId>, StoreError> {
    let sql = format!("SELECT user_id FROM {} WHERE {} = ?1", M::USERS, M::COLUMN);
    tx.list(&sql, values![id])
}

/// Sets the groups or the roles of a user.
pub fn set_of_user<M: Membership>(
    tx: &mut Tx<'_>,
    user: UserId,
    ids: &[M],
) -> Result<(), StoreError> {
    let sql = format!("DELETE FROM {} WHERE user_id = ?1", M::USERS);
    tx.execute(&sql, values![user])?;
    for id in ids {
        add(tx, user, *id)?;
    }
    Ok(())
}

/// Returns whether the user did not have the group or the role before.
fn add<M: Membership>(tx: &mut Tx<'_>, user: UserId, id: M) -> Result<bool, StoreError> {
    let (table, column) = (M::USERS, M::COLUMN);
    let sql = format!(
        "INSERT INTO {table} (user_id, {column}) VALUES (?1, ?2)
         ON CONFLICT (user_id, {column}) DO NOTHING"
    );
    tx.changes(&sql, values![user, id])
}

/// The groups or the roles that a user got from a provider.
pub fn list_given<M: Membership>(
    tx: &mut Tx<'_>,
    identity: OidcIdentityId,
) -> Result<Vec<M>, StoreError> {
    let sql = format!(
        "SELECT m.target_id FROM oidc_memberships m JOIN {} t ON t.id = m.target_id
         WHERE m.identity_id = ?1 AND m.kind = ?2",
        M::TABLE
    );
    tx.list(&sql, values![identity, M::KIND])
}

/// Gives a user a group or a role because of the provider, and records that it comes from the
/// provider. Returns whether the user did not have it before. If the user had it, nothing is
/// recorded: the provider cannot take away what it did not give.
pub fn give<M: Membership>(
    tx: &mut Tx<'_>,
    (identity, user): (OidcIdentityId, UserId),
    id: M,
) -> Result<bool, StoreError> {
    let is_new = add(tx, user, id)?;
    if is_new {
        tx.execute(
            "INSERT INTO oidc_memberships (identity_id, kind, target_id) VALUES (?1, ?2, ?3)
             ON CONFLICT (identity_id, kind, target_id) DO NOTHING",
            values![identity, M::KIND, id],
        )?;
    }
    Ok(is_new)
}

pub fn take_away<M: Membership>(
    tx: &mut Tx<'_>,
    (identity, user): (OidcIdentityId, UserId),
    id: M,
) -> Result<(), StoreError> {
    let (table, column) = (M::USERS, M::COLUMN);
    let sql = format!("DELETE FROM {table} WHERE user_id = ?1 AND {column} = ?2");
    tx.execute(&sql, values![user, id])?;
    tx.execute(
        "DELETE FROM oidc_memberships WHERE identity_id = ?1 AND kind = ?2 AND target_id = ?3",
        values![identity, M::KIND, id],
    )
}
