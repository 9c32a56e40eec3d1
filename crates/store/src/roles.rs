//! Roles: named sets of permissions, and their holders.

use svc_core::{
    Permissions, RoleId, Timestamp, UserId,
    permission::{ROLE_ADMIN, ROLE_USER},
};
use uuid::Uuid;

use super::{
    error::StoreError,
    page::{Page, PageRequest},
    sql::{Row, Tx, values},
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoleRow {
    pub id: RoleId,
    pub name: String,
    pub permissions: Permissions,
    pub builtin: bool,
    pub created_at: Timestamp,
}

impl RoleRow {
    fn read(row: &Row) -> Result<Self, StoreError> {
        let name: String = row.get("name")?;
        let builtin = row.get("builtin")?;
        Ok(Self {
            id: row.get("id")?,
            permissions: permissions(row, &name, builtin)?,
            name,
            builtin,
            created_at: row.get("created_at")?,
        })
    }
}

fn permissions(row: &Row, name: &str, builtin: bool) -> Result<Permissions, StoreError> {
    match Permissions::of_builtin_role(name) {
        Some(permissions) if builtin => Ok(permissions),
        _ => row.get("permissions"),
    }
}

/// Inserts the two built-in roles if they are missing.
pub(super) fn ensure_builtin(tx: &mut Tx<'_>, now: Timestamp) -> Result<(), StoreError> {
    for name in [ROLE_ADMIN, ROLE_USER] {
        tx.execute(
            "INSERT INTO roles (id, name, permissions, builtin, created_at)
             VALUES (?1, ?2, ?3, 1, ?4) ON CONFLICT (name) DO NOTHING",
            values![RoleId(Uuid::now_v7()), name, &Permissions::NONE, now],
        )?;
    }
    Ok(())
}

/// A query for whole rows, with what follows the name of the table.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, permissions, builtin, created_at FROM roles ",
            $rest
        )
    };
}

pub fn count(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    let count = tx.count("SELECT COUNT(*) FROM roles", &[])?;
    Ok(count.unsigned_abs())
}

pub fn insert(tx: &mut Tx<'_>, role: &RoleRow) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO roles (id, name, permissions, builtin, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
        values![
            role.id,
            &role.name,
            &role.permissions,
            role.builtin,
            role.created_at
        ],
    )?;
    Ok(())
}

pub fn find(tx: &mut Tx<'_>, id: RoleId) -> Result<Option<RoleRow>, StoreError> {
    tx.find(select!("WHERE id = ?1"), values![id], RoleRow::read)
}

pub fn find_by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<RoleRow>, StoreError> {
    tx.find(select!("WHERE name = ?1"), values![name], RoleRow::read)
}

pub fn list(tx: &mut Tx<'_>, page: PageRequest) -> Result<Page<RoleRow>, StoreError> {
    let rows = tx.query(
        select!("WHERE id > ?1 ORDER BY id LIMIT ?2"),
        values![page.after(), page.limit()],
    )?;
    let roles = rows.iter().map(RoleRow::read).collect::<Result<_, _>>()?;
    Ok(page.page(roles, |role: &RoleRow| role.id.0))
}

pub fn update(
    tx: &mut Tx<'_>,
    id: RoleId,
    name: &str,
    permissions: &Permissions,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE roles SET name = ?2, permissions = ?3 WHERE id = ?1",
        values![id, name, permissions],
    )?;
    Ok(())
}

/// Deletes a role; its holders lose it.
pub fn delete(tx: &mut Tx<'_>, id: RoleId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM roles WHERE id = ?1", values![id])?;
    Ok(())
}

pub fn list_holders(tx: &mut Tx<'_>, id: RoleId) -> Result<Vec<UserId>, StoreError> {
    tx.list(
        "SELECT user_id FROM user_roles WHERE role_id = ?1",
        values![id],
        |row| row.get("user_id"),
    )
}

/// Active users other than `except` who have a role of this name.
pub fn count_other_active_holders(
    tx: &mut Tx<'_>,
    role: &str,
    except: UserId,
) -> Result<i64, StoreError> {
    tx.count(
        "SELECT COUNT(*) FROM user_roles ur
         JOIN roles r ON r.id = ur.role_id
         JOIN users u ON u.id = ur.user_id
         WHERE r.name = ?1 AND u.active = 1 AND u.id <> ?2",
        values![role, except],
    )
}

/// Sets the roles of a user.
pub fn set_of_user(tx: &mut Tx<'_>, user: UserId, roles: &[RoleId]) -> Result<(), StoreError> {
    tx.execute("DELETE FROM user_roles WHERE user_id = ?1", values![user])?;
    for role in roles {
        tx.execute(
            "INSERT INTO user_roles (user_id, role_id) VALUES (?1, ?2)
             ON CONFLICT (user_id, role_id) DO NOTHING",
            values![user, *role],
        )?;
    }
    Ok(())
}

pub(super) fn read_permissions(row: &Row) -> Result<Permissions, StoreError> {
    let name: String = row.get("name")?;
    permissions(row, &name, row.get("builtin")?)
}
