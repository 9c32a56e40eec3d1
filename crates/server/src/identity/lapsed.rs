//! Removes health checks and agent tokens that a user (the maker) made for another user's space,
//! once the maker may no longer make them.
//!
//! Health checks and agent tokens act with the permissions of the space's owner. They are removed
//! when the maker loses `manage_spaces`, is deactivated or is deleted. They are also removed when
//! the owner holds a permission that the maker lacks: the owner gained it, or the maker lost it.
//! The transaction that changes the users also removes the health checks and tokens.

use std::collections::HashMap;

use serde_json::json;
use svc_core::{Permission, UserId, power};
use svc_store::{
    StoreError, Tx, agent_tokens,
    audit::{self, Entry},
    spaces::{self, ForeignSetting},
    users::{self, UserPower},
};

use super::change::Change;

/// Checks the health checks and agent tokens that these users made, or that others made for spaces
/// of these users.
pub(super) fn remove_lapsed(
    change: &mut Change<'_, '_>,
    users: &[UserId],
) -> Result<(), StoreError> {
    let mut powers = Powers::default();
    let mut ended = Vec::new();
    for set in spaces::list_health_checks_by_others(change)? {
        if powers.has_ended(change, &set, users)? {
            spaces::end_health_check(change, set.space)?;
            record(change, "space.health_check_ended", &set)?;
            ended.push(set.space);
        }
    }
    for made in agent_tokens::list_made_by_others(change)? {
        if powers.has_ended(change, &made, users)? {
            agent_tokens::delete_made_by_others(change, made.space)?;
            record(change, "agent_token.revoked", &made)?;
            ended.push(made.space);
        }
    }
    change.affects_lapsed(ended);
    Ok(())
}

/// The permissions of users; each user is read once.
#[derive(Default)]
struct Powers(HashMap<UserId, Option<UserPower>>);

impl Powers {
    fn has_ended(
        &mut self,
        tx: &mut Tx<'_>,
        set: &ForeignSetting,
        changed: &[UserId],
    ) -> Result<bool, StoreError> {
        if !changed.contains(&set.owner) && !changed.contains(&set.by) {
            return Ok(false);
        }
        let owner = self.get(tx, set.owner)?;
        let maker = self.get(tx, set.by)?;
        let may = |maker: &UserPower, owner: &UserPower| {
            maker.active
                && maker.permissions.contains(Permission::ManageSpaces)
                && power::check(maker.permissions, owner.permissions).is_ok()
        };
        Ok(!maker
            .zip(owner)
            .is_some_and(|(maker, owner)| may(&maker, &owner)))
    }

    fn get(&mut self, tx: &mut Tx<'_>, id: UserId) -> Result<Option<UserPower>, StoreError> {
        if let Some(known) = self.0.get(&id) {
            return Ok(known.clone());
        }
        let found = users::find_power(tx, id)?;
        self.0.insert(id, found.clone());
        Ok(found)
    }
}

fn record(
    change: &mut Change<'_, '_>,
    action: &'static str,
    set: &ForeignSetting,
) -> Result<(), StoreError> {
    let detail = json!({
        "made_by": set.by,
        "reason": "the user who made it may no longer make it for this space",
    });
    let target = ("space", set.space.to_string());
    let entry = Entry::by_system(change.now, action, target, detail);
    audit::append_for(change, &set.owner.to_string(), &entry)
}
