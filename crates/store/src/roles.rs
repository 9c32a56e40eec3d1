//! Roles: named sets of permissions, and their holders.

use svc_core::{
    Permissions, RoleId, Timestamp, UserId,
    permission::{ROLE_ADMIN, ROLE_USER},
};
use svc_protocol::api::Role;
use uuid::Uuid;

use super::{
    conditions::Conditions,
    error::StoreError,
    page::{Page, PageRequest},
    record::record,
    sql::{Row, Tx, values},
};

record! {
    Role in "roles": id, name, builtin, created_at, require_second_factor;
    permissions as "permissions" with read_permissions, |role: &Self| role.permissions
}

/// The permissions of a role. The permissions of a built-in role come from the code of this
/// version, not from the role's row.
pub(super) fn read_permissions(row: &Row) -> Result<Permissions, StoreError> {
    let name: String = row.get("name")?;
    match Permissions::of_builtin_role(&name) {
        Some(permissions) if row.get("builtin")? => Ok(permissions),
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

pub fn count(tx: &mut Tx<'_>) -> Result<u64, StoreError> {
    tx.get("SELECT COUNT(*) FROM roles", &[])
}

pub fn insert(tx: &mut Tx<'_>, role: &Role) -> Result<(), StoreError> {
    tx.insert(role)
}

pub fn find(tx: &mut Tx<'_>, id: RoleId) -> Result<Option<Role>, StoreError> {
    tx.find_record("WHERE id = ?1", values![id])
}

pub fn find_by_name(tx: &mut Tx<'_>, name: &str) -> Result<Option<Role>, StoreError> {
    tx.find_record("WHERE name = ?1", values![name])
}

pub fn list(tx: &mut Tx<'_>, page: PageRequest) -> Result<Page<Role>, StoreError> {
    page.records(tx, Conditions::default())
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
    )
}

/// Sets whether the holders of a role need a second factor.
pub fn set_require_second_factor(
    tx: &mut Tx<'_>,
    id: RoleId,
    required: bool,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE roles SET require_second_factor = ?2 WHERE id = ?1",
        values![id, required],
    )
}

/// Deletes a role; its holders lose it.
pub fn delete(tx: &mut Tx<'_>, id: RoleId) -> Result<(), StoreError> {
    tx.execute("DELETE FROM roles WHERE id = ?1", values![id])
}

pub fn list_holders(tx: &mut Tx<'_>, id: RoleId) -> Result<Vec<UserId>, StoreError> {
    tx.list(
        "SELECT user_id FROM user_roles WHERE role_id = ?1",
        values![id],
    )
}

/// The number of active users other than `except` who have a role of this name.
pub fn count_other_active_holders(
    tx: &mut Tx<'_>,
    role: &str,
    except: UserId,
) -> Result<i64, StoreError> {
    tx.get(
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
