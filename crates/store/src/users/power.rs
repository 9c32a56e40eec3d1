//! The permissions of users.

use svc_core::{GroupId, Permissions, RoleId, ScriptId, TemplateId, UserId, UserName};

use crate::{error::StoreError, roles, sql::Tx, value::Value};

/// A user and their permissions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserPower {
    pub id: UserId,
    pub username: UserName,
    pub active: bool,
    /// The union of the permissions of all roles.
    pub permissions: Permissions,
}

/// A selection of users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UserFilter {
    Id(UserId),
    Role(RoleId),
    Group(GroupId),
    /// The owners of spaces that were created from this template and are not deleted.
    SpaceOf(TemplateId),
    /// The owners of spaces that start with this script and are not deleted.
    StartupScript(ScriptId),
}

impl UserFilter {
    /// The ids of the users, as a subquery, and its parameter.
    fn subquery(self) -> (&'static str, Value) {
        match self {
            Self::Id(id) => ("SELECT id FROM users WHERE id = ?1", id.into()),
            Self::Role(id) => (
                "SELECT user_id FROM user_roles WHERE role_id = ?1",
                id.into(),
            ),
            Self::Group(id) => (
                "SELECT user_id FROM user_groups WHERE group_id = ?1",
                id.into(),
            ),
            Self::SpaceOf(id) => (
                "SELECT owner_id FROM spaces WHERE template_id = ?1 AND state <> 'deleted'",
                id.into(),
            ),
            Self::StartupScript(id) => (
                "SELECT owner_id FROM spaces
                 WHERE startup_script_id = ?1 AND state <> 'deleted'",
                id.into(),
            ),
        }
    }
}

pub fn find_power(tx: &mut Tx<'_>, id: UserId) -> Result<Option<UserPower>, StoreError> {
    Ok(list_powers(tx, UserFilter::Id(id))?.pop())
}

/// The permissions of these users, in one statement.
pub fn list_powers(tx: &mut Tx<'_>, with: UserFilter) -> Result<Vec<UserPower>, StoreError> {
    let (ids, parameter) = with.subquery();
    let rows = tx.query(
        &format!(
            "SELECT u.id AS id, u.username AS username, u.active AS active, r.id AS role_id,
                    r.name AS name, r.permissions AS permissions, r.builtin AS builtin
             FROM users u
             LEFT JOIN user_roles ur ON ur.user_id = u.id
             LEFT JOIN roles r ON r.id = ur.role_id
             WHERE u.id IN ({ids}) ORDER BY u.id"
        ),
        &[parameter],
    )?;
    let mut powers: Vec<UserPower> = Vec::new();
    for row in &rows {
        let id = row.get("id")?;
        if powers.last().is_none_or(|last| last.id != id) {
            powers.push(UserPower {
                id,
                username: row.get("username")?,
                active: row.get("active")?,
                permissions: Permissions::NONE,
            });
        }
        let role: Option<RoleId> = row.get("role_id")?;
        if let (Some(_), Some(user)) = (role, powers.last_mut()) {
            user.permissions = user.permissions.union(roles::read_permissions(row)?);
        }
    }
    Ok(powers)
}
