//! Users: create, change, delete.
//!
//! Acting on a user requires every permission that the user holds. Otherwise any user with
//! `manage_users` could set a new password for an administrator and log in with it. Changing the
//! members of a group also requires `manage_groups` or membership in that group.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use svc_core::{
    RoleId, UserId, UserName,
    permission::{ROLE_ADMIN, ROLE_USER},
};
use svc_protocol::api;
use svc_store::{
    PageRequest, Tx, lanes, memberships, records, roles, scripts, sessions, sinks,
    users::{self, Profile, UserRow},
    zone_changes::ZoneChange,
};

use super::{
    Identity,
    caller::{Caller, User},
    change::Change,
    lapsed::remove_lapsed,
    membership::{
        check_group_changes, find_roles, ids_of, names_of, resolve_groups, resolve_roles,
    },
    own_proof::end_begun_changes,
    passwords::Payer,
    power::Actor,
    quotas,
    user_sinks::delete_sinks_of,
};
use crate::records::{RecordError, Result, check_name_free};

/// The maximum number of sinks that the error names if a user cannot be deleted because of them.
const SINKS_NAMED: usize = 5;

impl Identity {
    pub async fn create_user(&self, caller: &Caller, new: api::NewUser) -> Result<api::User> {
        let name = UserName::parse(&new.username)?;
        if self.directory.find_user_by_name(&name).is_some() {
            return Err(RecordError::name_taken("user", name.as_str()));
        }
        let payer = Payer::User(caller.user.id);
        let password_hash = self.passwords.hash(payer, new.password).await?;
        let user = UserRow {
            active: new.active,
            ..UserRow::new(name, password_hash, self.clock.now())
        };
        let role_names = new.roles.unwrap_or_else(|| vec![ROLE_USER.to_owned()]);
        self.change(caller, move |tx, caller| {
            let actor = Actor::read(tx, caller)?;
            check_name_free(tx, &user)?;
            let role_ids = resolve_roles(tx, &actor, &role_names)?;
            let joined = resolve_groups(tx, &new.groups)?;
            for (id, name) in &joined {
                actor.check_group(tx, *id, name)?;
            }
            records::insert(tx, &user)?;
            memberships::set_of_user(tx, user.id, &role_ids)?;
            memberships::set_of_user(tx, user.id, &ids_of(&joined))?;
            let detail = json!({
                "username": user.username,
                "roles": role_names,
                "groups": names_of(&joined),
                "active": user.active,
            });
            tx.audit(caller, "user.created", ("user", user.id), detail)?;
            tx.affects(ZoneChange::User(user.id));
            Ok(record(get(tx, user.id)?))
        })
        .await
    }

    pub async fn list_users(&self, reader: UserId, page: PageRequest) -> Result<api::Users> {
        let reading = self.store.read_list(reader, move |tx| {
            let page = users::list_profiles(tx, page)?;
            let first = page.items.first().map_or(UserId::NIL, |user| user.id);
            let last = page.items.last().map_or(UserId::NIL, |user| user.id);
            Ok((users::list_last_seen(tx, first, last)?, page))
        });
        let (mut seen, page) = reading.await?;
        let page = page.map(|profile| api::User {
            last_seen_at: seen.remove(&profile.id),
            ..record(profile)
        });
        Ok(page.into_list())
    }

    pub async fn get_user(&self, id: UserId) -> Result<api::User> {
        self.store.read(move |tx| Ok(read(tx, id))).await?
    }

    pub async fn update_user(
        &self,
        caller: &Caller,
        id: UserId,
        mut patch: api::UserPatch,
    ) -> Result<api::User> {
        if id == caller.user.id && patch.password.is_some() {
            return Err(RecordError::new(
                "own_password",
                "your own password is changed with POST /api/auth/password, which asks for the current one",
            ));
        }
        let password_hash = match patch.password.take() {
            Some(password) => {
                let payer = Payer::User(caller.user.id);
                Some(self.passwords.hash(payer, password).await?)
            }
            None => None,
        };
        let identity = self.clone();
        self.change(caller, move |tx, caller| {
            let actor = Actor::read(tx, caller)?;
            let before = get(tx, id)?;
            actor.check_user(tx, id)?;
            identity.apply_patch(tx, caller, &actor, &before, patch, password_hash)?;
            remove_lapsed(tx, &[id])?;
            tx.affects(ZoneChange::User(id));
            read(tx, id)
        })
        .await
    }

    fn apply_patch(
        &self,
        tx: &mut Change<'_, '_>,
        caller: &Caller,
        actor: &Actor,
        before: &Profile,
        patch: api::UserPatch,
        password_hash: Option<String>,
    ) -> Result<()> {
        let id = before.id;
        let note = |tx: &mut Change<'_, '_>, action, detail| {
            tx.audit(caller, action, ("user", id), detail)
        };
        let api::UserPatch {
            password: _,
            roles,
            groups,
            active,
            quotas,
        } = patch;
        let mut detail = Map::new();
        if let Some(names) = roles {
            let granted = names.iter().filter(|&name| !before.roles.contains(name));
            resolve_roles(tx, actor, &granted.cloned().collect::<Vec<_>>())?;
            if !names.iter().any(|name| name == ROLE_ADMIN) {
                check_not_last_admin(tx, before)?;
            }
            let ids = find_roles(tx, &names)?.into_iter().map(|role| role.id);
            memberships::set_of_user(tx, id, &ids.collect::<Vec<RoleId>>())?;
            if BTreeSet::from_iter(&names) != BTreeSet::from_iter(&before.roles) {
                detail.insert("roles".to_owned(), json!(names));
                detail.insert("previous_roles".to_owned(), json!(before.roles));
            }
        }
        if let Some(names) = groups {
            let after = resolve_groups(tx, &names)?;
            let (added, removed) = check_group_changes(tx, actor, &before.groups, &after)?;
            memberships::set_of_user(tx, id, &ids_of(&after))?;
            if !added.is_empty() || !removed.is_empty() {
                detail.insert("groups".to_owned(), json!(names_of(&after)));
                detail.insert("groups_added".to_owned(), json!(added));
                detail.insert("groups_removed".to_owned(), json!(removed));
            }
        }
        if let Some(changes) = quotas {
            quotas::check_may_set(caller, before)?;
            let after = quotas::patched(&before.quotas, &changes)?;
            users::set_quotas(tx, id, &after)?;
            if after != before.quotas {
                detail.insert("quotas".to_owned(), json!(after));
                detail.insert("previous_quotas".to_owned(), json!(before.quotas));
            }
        }
        if !detail.is_empty() {
            note(tx, "user.updated", Value::Object(detail))?;
        }
        match active {
            Some(false) if before.active => {
                check_not_self(caller, id, "deactivate")?;
                check_not_last_admin(tx, before)?;
                users::set_active(tx, id, false)?;
                lanes::set_owner_active(tx, id, false)?;
                sessions::delete_of_user(tx, id, None)?;
                note(tx, "user.deactivated", json!({}))?;
            }
            Some(true) if !before.active => {
                users::set_active(tx, id, true)?;
                lanes::set_owner_active(tx, id, true)?;
                note(tx, "user.activated", json!({}))?;
            }
            _ => {}
        }
        if let Some(hash) = password_hash {
            users::set_password_hash(tx, id, &hash)?;
            end_begun_changes(tx, id)?;
            sessions::delete_of_user(tx, id, None)?;
            note(tx, "user.password_changed", json!({}))?;
        }
        Ok(())
    }

    pub async fn delete_user(&self, caller: &Caller, id: UserId) -> Result<()> {
        self.change(caller, move |tx, caller| {
            let user = get(tx, id)?;
            Actor::read(tx, caller)?.check_user(tx, id)?;
            check_not_self(caller, id, "delete")?;
            check_not_last_admin(tx, &user)?;
            let spaces = users::count_spaces(tx, id)?;
            if spaces > 0 {
                return Err(RecordError::new(
                    "user_owns_spaces",
                    format!(
                        "user `{}` owns {spaces} spaces; delete those first",
                        user.username
                    ),
                ));
            }
            check_no_global_scripts(tx, &user)?;
            let now = tx.now;
            delete_sinks_of(tx, id, caller.user.name.as_str(), now)?;
            scripts::delete_of_owner(tx, id)?;
            users::delete(tx, id)?;
            let detail = json!({"username": user.username});
            tx.audit(caller, "user.deleted", ("user", id), detail)?;
            remove_lapsed(tx, &[id])?;
            tx.affects(ZoneChange::User(id));
            Ok(())
        })
        .await
    }
}

fn read(tx: &mut Tx<'_>, id: UserId) -> Result<api::User> {
    let profile = get(tx, id)?;
    Ok(api::User {
        last_seen_at: users::list_last_seen(tx, id, id)?.remove(&id),
        ..record(profile)
    })
}

fn get(tx: &mut Tx<'_>, id: UserId) -> Result<Profile> {
    users::find_profile(tx, id)?.ok_or_else(|| RecordError::not_found("user", id))
}

fn check_not_self(caller: &Caller, id: UserId, verb: &str) -> Result<()> {
    if caller.user.id != id {
        return Ok(());
    }
    Err(RecordError::new(
        "own_account",
        format!("you cannot {verb} your own account; ask another administrator"),
    ))
}

fn check_not_last_admin(tx: &mut Tx<'_>, user: &Profile) -> Result<()> {
    let is_admin = user.active && user.roles.iter().any(|role| role == ROLE_ADMIN);
    if !is_admin || roles::count_other_active_holders(tx, ROLE_ADMIN, user.id)? > 0 {
        return Ok(());
    }
    Err(RecordError::new(
        "last_admin",
        format!(
            "user `{}` is the last active administrator; first give another user the role `admin`",
            user.username
        ),
    ))
}

/// Rejects the deletion of a user for whom scripts of global sinks run.
fn check_no_global_scripts(tx: &mut Tx<'_>, user: &Profile) -> Result<()> {
    let names = sinks::list_global_scripts_of(tx, user.id)?;
    if names.is_empty() {
        return Ok(());
    }
    let named = names.iter().take(SINKS_NAMED);
    let named: Vec<_> = named.map(|name| format!("`{name}`")).collect();
    let more = match names.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Err(RecordError::new(
        "user_runs_sinks",
        format!(
            "the scripts of the global event sinks {}{more} run for user `{}`; delete these sinks first",
            named.join(", "),
            user.username
        ),
    ))
}

fn record(profile: Profile) -> api::User {
    api::User::from(&User::from(profile))
}
