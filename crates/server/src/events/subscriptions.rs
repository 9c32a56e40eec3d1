//! Subscriptions of methods, declared by spaces (spec 6.4). A subscription that loses its last
//! declaration is removed with its queue; if deliveries were waiting, the same transaction adds an
//! audit entry.

#[cfg(test)]
mod tests;

use serde_json::json;
use svc_core::{LaneId, SpaceId, UserId, subscription::Subscription};
use svc_store::{
    StoreError, Tx,
    audit::{self, Entry},
    lanes::{self, RemovedSubscription, Withdrawal},
};

use super::audit::SUBSCRIPTION;

/// Replaces the subscriptions that a space declares. Returns their lanes.
pub fn declare(
    tx: &mut Tx<'_>,
    owner: UserId,
    space: SpaceId,
    subscriptions: &[Subscription],
) -> Result<Vec<LaneId>, StoreError> {
    let declared = lanes::declare(tx, owner, space, subscriptions)?;
    audit_removed(tx, space, &declared.removed)?;
    Ok(declared.lanes)
}

/// Withdraws those declarations of a space that `withdrawal` selects.
pub fn withdraw_space(
    tx: &mut Tx<'_>,
    space: SpaceId,
    withdrawal: Withdrawal,
) -> Result<(), StoreError> {
    let removed = lanes::withdraw_space(tx, space, withdrawal)?;
    audit_removed(tx, space, &removed)
}

fn audit_removed(
    tx: &mut Tx<'_>,
    space: SpaceId,
    removed: &[RemovedSubscription],
) -> Result<(), StoreError> {
    for removed in removed.iter().filter(|removed| removed.queued > 0) {
        let action = "method_subscription.removed";
        let target = (SUBSCRIPTION, removed.method.clone());
        let detail = json!({
            "owner_id": removed.owner_id, "space_id": space, "queued": removed.queued,
        });
        let entry = Entry::by_system(svc_clock::now(), action, target, detail);
        audit::append_for(tx, &removed.owner_id.to_string(), &entry)?;
    }
    Ok(())
}
