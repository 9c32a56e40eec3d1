//! Roles: create, change, delete.
//!
//! Changing a role acts on all its holders. The caller needs every permission that the role has
//! before and after the change, and every permission of the holders. Otherwise a caller could
//! take from a user every permission that the caller lacks. Then the caller would have enough power
//! over this user to reset the user's password and act as the user.

use serde_json::{Value, json};
use svc_core::{RoleId, name::check_free_name};
use svc_protocol::api;
use svc_store::{PageRequest, Tx, memberships, records, users::UserFilter};
use uuid::Uuid;

use super::{Identity, caller::Caller, lapsed::remove_lapsed, power::Actor};
use crate::records::{RecordError, Result, check_limit, check_name_free, settings_of};

/// The maximum number of roles of the whole server.
const ROLES_MAX: u64 = 1_000;

impl Identity {
    pub async fn create_role(&self, caller: &Caller, new: api::NewRole) -> Result<api::Role> {
        check_free_name("role", &new.name)?;
        let role = api::Role {
            id: RoleId(Uuid::now_v7()),
            name: new.name,
            permissions: new.permissions,
            builtin: false,
            created_at: self.clock.now(),
            require_second_factor: new.require_second_factor,
        };
        self.change(caller, move |tx, caller| {
            Actor::read(tx, caller)?.check_role(&role.name, role.permissions)?;
            check_name_free(tx, &role)?;
            check_limit(
                records::count::<api::Role>(tx, &())?,
                ROLES_MAX,
                "roles",
                "too_many_roles",
            )?;
            records::insert(tx, &role)?;
            tx.audit(caller, "role.created", ("role", role.id), describe(&role))?;
            Ok(role)
        })
        .await
    }

    pub async fn list_roles(&self, page: PageRequest) -> Result<api::Roles> {
        let page = self
            .store
            .read(move |tx| records::list::<api::Role>(tx, &(), page))
            .await?;
        Ok(page.into_list())
    }

    pub async fn get_role(&self, id: RoleId) -> Result<api::Role> {
        let reading = self.store.read(move |tx| records::get(tx, id));
        Ok(reading.await?)
    }

    pub async fn update_role(
        &self,
        caller: &Caller,
        id: RoleId,
        patch: api::RolePatch,
    ) -> Result<api::Role> {
        if let Some(name) = &patch.name {
            check_free_name("role", name)?;
        }
        self.change(caller, move |tx, caller| {
            let redefines = patch.name.is_some() || patch.permissions.is_some();
            let mut role = match patch.require_second_factor {
                Some(_) if !redefines => records::get(tx, id)?,
                _ => get_changeable(tx, id)?,
            };
            let before = role.clone();
            let actor = Actor::read(tx, caller)?;
            actor.check_role(&before.name, before.permissions)?;
            actor.check_users(tx, UserFilter::Role(id))?;
            patch.apply(&mut role);
            check_name_free(tx, &role)?;
            actor.check_role(&role.name, role.permissions)?;
            if role == before {
                return Ok(role);
            }
            records::replace(tx, &role)?;
            let mut detail = describe(&role);
            detail["previous"] = describe(&before);
            tx.audit(caller, "role.updated", ("role", id), detail)?;
            let holders = memberships::list_users(tx, id)?;
            remove_lapsed(tx, &holders)?;
            tx.affects_users(holders);
            Ok(role)
        })
        .await
    }

    pub async fn delete_role(&self, caller: &Caller, id: RoleId) -> Result<()> {
        self.change(caller, move |tx, caller| {
            let role = get_changeable(tx, id)?;
            let actor = Actor::read(tx, caller)?;
            actor.check_role(&role.name, role.permissions)?;
            actor.check_users(tx, UserFilter::Role(id))?;
            let holders = memberships::list_users(tx, id)?;
            records::delete::<api::Role>(tx, id)?;
            let detail = json!({"name": role.name, "holders": holders.len()});
            tx.audit(caller, "role.deleted", ("role", id), detail)?;
            remove_lapsed(tx, &holders)?;
            tx.affects_users(holders);
            Ok(())
        })
        .await
    }
}

/// The detail of an audit entry.
fn describe(role: &api::Role) -> Value {
    settings_of(role, api::NewRole::MEMBERS, &[])
}

/// A role whose name and permissions may change.
fn get_changeable(tx: &mut Tx<'_>, id: RoleId) -> Result<api::Role> {
    let role: api::Role = records::get(tx, id)?;
    if role.builtin {
        return Err(RecordError::new(
            "builtin_role",
            format!(
                "role `{}` is built in: its name and permissions never change; create another role",
                role.name
            ),
        ));
    }
    Ok(role)
}
