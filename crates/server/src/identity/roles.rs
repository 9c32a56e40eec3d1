//! Roles: create, change, delete. Nobody puts into a role what they do not hold themselves.

use serde_json::json;
use svc_core::{Permissions, RoleId, name::check_free_name};
use svc_protocol::api;
use uuid::Uuid;

use super::{Identity, caller::Caller, change::Affected, error::IdentityError};
use crate::store::{
    PageRequest, Tx, audit,
    roles::{self, RoleRow},
};

impl Identity {
    pub async fn create_role(
        &self,
        caller: &Caller,
        new: api::NewRole,
    ) -> Result<api::Role, IdentityError> {
        check_free_name("role", &new.name)?;
        check_held(caller, new.permissions)?;
        let role = RoleRow {
            id: RoleId(Uuid::now_v7()),
            name: new.name,
            permissions: new.permissions,
            builtin: false,
            created_at: self.clock.now(),
        };
        let entry = self.entry(
            caller,
            "role.created",
            ("role", role.id),
            json!({"name": role.name, "permissions": role.permissions}),
        );
        self.apply(move |tx| {
            check_free(tx, &role.name, None)?;
            roles::insert(tx, &role)?;
            audit::append(tx, &entry)?;
            Ok((record(role), Affected::none()))
        })
        .await
    }

    pub async fn list_roles(&self, page: PageRequest) -> Result<api::Roles, IdentityError> {
        let page = self.store.read(move |tx| roles::list(tx, page)).await?;
        let page = page.map(record);
        Ok(api::Roles {
            roles: page.items,
            next_cursor: page.next_cursor,
        })
    }

    pub async fn get_role(&self, id: RoleId) -> Result<api::Role, IdentityError> {
        let found = self.store.read(move |tx| roles::find(tx, id)).await?;
        found
            .map(record)
            .ok_or_else(|| IdentityError::not_found("role", id))
    }

    pub async fn update_role(
        &self,
        caller: &Caller,
        id: RoleId,
        patch: api::RolePatch,
    ) -> Result<api::Role, IdentityError> {
        if let Some(name) = &patch.name {
            check_free_name("role", name)?;
        }
        let mut entry = self.entry(caller, "role.updated", ("role", id), json!({}));
        let caller = caller.clone();
        self.apply(move |tx| {
            let mut role = get_changeable(tx, id)?;
            let before = role.clone();
            if let Some(name) = patch.name {
                check_free(tx, &name, Some(id))?;
                role.name = name;
            }
            if let Some(permissions) = patch.permissions {
                let added = permissions
                    .iter()
                    .filter(|&permission| !before.permissions.contains(permission));
                check_held(&caller, added.collect())?;
                role.permissions = permissions;
            }
            roles::update(tx, id, &role.name, &role.permissions)?;
            entry.detail = json!({
                "name": role.name,
                "permissions": role.permissions,
                "previous": {"name": before.name, "permissions": before.permissions},
            });
            audit::append(tx, &entry)?;
            let holders = roles::list_holders(tx, id)?;
            Ok((record(role), Affected::users(holders)))
        })
        .await
    }

    pub async fn delete_role(&self, caller: &Caller, id: RoleId) -> Result<(), IdentityError> {
        let mut entry = self.entry(caller, "role.deleted", ("role", id), json!({}));
        self.apply(move |tx| {
            let role = get_changeable(tx, id)?;
            let holders = roles::list_holders(tx, id)?;
            roles::delete(tx, id)?;
            entry.detail = json!({"name": role.name, "holders": holders.len()});
            audit::append(tx, &entry)?;
            Ok(((), Affected::users(holders)))
        })
        .await
    }
}

fn get_changeable(tx: &mut Tx<'_>, id: RoleId) -> Result<RoleRow, IdentityError> {
    let role = roles::find(tx, id)?.ok_or_else(|| IdentityError::not_found("role", id))?;
    if role.builtin {
        return Err(IdentityError::conflict(
            "builtin_role",
            format!(
                "role `{}` is built in and never changes; create another",
                role.name
            ),
        ));
    }
    Ok(role)
}

fn check_free(tx: &mut Tx<'_>, name: &str, but: Option<RoleId>) -> Result<(), IdentityError> {
    match roles::find_by_name(tx, name)? {
        Some(other) if Some(other.id) != but => Err(IdentityError::conflict(
            "role_exists",
            format!("role `{name}` exists already"),
        )),
        _ => Ok(()),
    }
}

/// Refuses to hand out what the caller does not hold.
pub(super) fn check_held(caller: &Caller, wanted: Permissions) -> Result<(), IdentityError> {
    match wanted.iter().find(|&permission| !caller.may(permission)) {
        None => Ok(()),
        Some(missing) => Err(IdentityError::permission_denied(format!(
            "you do not hold the permission `{missing}` yourself, so you cannot give it to others"
        ))),
    }
}

fn record(role: RoleRow) -> api::Role {
    api::Role {
        id: role.id,
        name: role.name,
        permissions: role.permissions,
        builtin: role.builtin,
        created_at: role.created_at,
    }
}
