//! Checks who may act on a space and which shared code may run in it.

use svc_core::{Permission, Permissions, SpaceId, UserId};
use svc_protocol::api::{NewSpace, Template};
use svc_store::{
    StoreError, Tx, agent_tokens,
    records::saved_power,
    spaces::{self, SpaceRow},
};

use crate::{
    identity::{Actor, Caller, Credential, power::check_saved},
    records::{RecordError, Result},
};

/// Returns a space that the caller may act on: the caller's own space, or, with `manage_spaces`, a
/// space whose owner has only permissions that the caller holds too.
pub fn managed(tx: &mut Tx<'_>, caller: &Caller, id: SpaceId) -> Result<SpaceRow> {
    let row = spaces::get(tx, id)?;
    let actor = Actor::read(tx, caller)?;
    if row.owner_id == actor.id {
        return Ok(row);
    }
    if !actor.may(Permission::ManageSpaces) {
        return Err(RecordError::not_found("space", id));
    }
    actor.check_user(tx, row.owner_id)?;
    Ok(row)
}

/// The user who makes a change to a space, if this user is not the owner. An agent token acts as
/// the owner: if another user created the token, that user is the result. When this user loses the
/// right to act on the space, the server removes the health check or token that the change set.
pub fn find_foreign_maker(
    tx: &mut Tx<'_>,
    caller: &Caller,
    space: &SpaceRow,
) -> Result<Option<UserId>, StoreError> {
    if space.owner_id != caller.user.id {
        return Ok(Some(caller.user.id));
    }
    match caller.credential {
        Credential::Agent { .. } => agent_tokens::find_maker(tx, &caller.key),
        _ => Ok(None),
    }
}

/// Checks that a space may run on the server. `owner` are the permissions of its owner.
pub fn check_local(allowed: bool, owner: Permissions) -> Result<()> {
    if !owner.contains(Permission::ManageSpaces) {
        return Err(RecordError::new(
            "permission_denied",
            "only a user with the permission `manage_spaces` may own a space that runs on the server",
        ));
    }
    match allowed {
        true => Ok(()),
        false => Err(RecordError::new(
            "local_disabled",
            "this server runs no spaces itself; set `spaces.allow_local = true` in its configuration, or use runtime `external`",
        )),
    }
}

/// A template's health check and startup script run on the machine of the space's owner. They are
/// used only if the user who last saved the template held every permission of the owner.
pub fn check_template_power(
    tx: &mut Tx<'_>,
    new: &NewSpace,
    template: Option<&Template>,
    owner: Permissions,
) -> Result<()> {
    let Some(template) = template else {
        return Ok(());
    };
    let takes_check = new.health_check.is_none() && template.health_check.is_some();
    let takes_script = new.startup_script_id.is_none() && template.startup_script_id.is_some();
    if takes_check || takes_script {
        let saved = saved_power::<Template>(tx, template.id)?;
        check_saved(saved, &format!("template `{}`", template.name), owner)?;
    }
    Ok(())
}
