//! Roles: named sets of permissions, and their holders.

use svc_core::{
    Permissions, RoleId, Timestamp, UserId,
    permission::{ROLE_ADMIN, ROLE_USER},
};
use svc_protocol::api::Role;
use uuid::Uuid;

use super::{
    error::StoreError,
    record::record,
    records::kept,
    sql::{Row, Tx, values},
};

record! {
    Role in "roles": id, name, builtin, created_at, require_second_factor;
    permissions as "permissions" with read_permissions, |role: &Self| role.permissions
}

kept! {
    Role "role": RoleId, fixed [builtin, created_at], of (): (), unique [name] named name
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
