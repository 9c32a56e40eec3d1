//! Decides for which users a global script runs.
//!
//! A global script has the permissions of the user for whom it runs. Therefore it runs for a user
//! only if the user who last saved it had all these permissions at that time. A user's own script
//! runs only for that user.

use svc_core::{Permissions, UserId, power::SavedPower};
use svc_protocol::api::{Script, ScriptOwner};
use svc_store::{
    StoreError, Tx,
    records::{saved_power, set_saved_power},
    users,
};

use crate::{
    identity::{Actor, power::check_saved},
    records::RecordError,
};

/// Why a stored script does not run for a user; `None` if it does.
pub fn withheld_from(
    tx: &mut Tx<'_>,
    script: &Script,
    user: UserId,
) -> Result<Option<RecordError>, StoreError> {
    if script.owner == ScriptOwner::User {
        return Ok(None);
    }
    let held = users::find_power(tx, user)?;
    let held = held.map_or(Permissions::NONE, |user| user.permissions);
    let saved = saved_power::<Script>(tx, script.id)?;
    let what = format!("global script `{}`", script.name);
    Ok(check_saved(saved, &what, held).err())
}

/// Records the permissions of the user who saves a global script.
pub fn record_saved_power(
    tx: &mut Tx<'_>,
    actor: &Actor,
    script: &Script,
) -> Result<(), StoreError> {
    match script.owner {
        ScriptOwner::Global => {
            set_saved_power::<Script>(tx, script.id, SavedPower::of(actor.permissions))
        }
        ScriptOwner::User => Ok(()),
    }
}
