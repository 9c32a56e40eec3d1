//! Audit entries about lanes.

use serde_json::json;
use svc_core::SpaceId;
use svc_store::{
    audit::{Entry, SYSTEM},
    lanes::{Receiver, RemovedSubscription},
};

const SUBSCRIPTION: &str = "method_subscription";

/// `target_type` and `target_id` of entries about a receiver of events.
pub(super) fn target_of(receiver: &Receiver) -> (&'static str, String) {
    match receiver {
        Receiver::Sink(id) => ("event_sink", id.to_string()),
        Receiver::Method(name) => (SUBSCRIPTION, name.clone()),
    }
}

/// The entry for a subscription that was removed with deliveries in its queue, because `space`
/// withdrew its last declaration.
pub(super) fn subscription_removed(removed: &RemovedSubscription, space: SpaceId) -> Entry {
    Entry {
        at: svc_clock::now(),
        actor: SYSTEM.to_owned(),
        action: "method_subscription.removed",
        target_type: SUBSCRIPTION,
        target_id: removed.method.clone(),
        detail: json!({
            "owner_id": removed.owner_id,
            "space_id": space,
            "queued": removed.queued,
        }),
    }
}
