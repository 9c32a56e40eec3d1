//! Audit entries about lanes.

use serde_json::json;
use svc_store::{
    StoreError, Tx,
    audit::{self, Entry},
    events::LostEvents,
    lanes::{self, Receiver},
};

pub(super) const SUBSCRIPTION: &str = "method_subscription";

/// `target_type` and `target_id` of entries about a receiver of events.
pub(super) fn target_of(receiver: &Receiver) -> (&'static str, String) {
    match receiver {
        Receiver::Sink(id) => ("event_sink", id.to_string()),
        Receiver::Method(name) => (SUBSCRIPTION, name.clone()),
    }
}

/// Audits and logs that events were removed although lanes still needed them: one entry per lane.
pub(super) fn audit_lost(
    tx: &mut Tx<'_>,
    lost: &[LostEvents],
    why: &str,
) -> Result<(), StoreError> {
    for lost in lost {
        let (target_type, target_id) = target_of(&lost.receiver);
        tracing::error!(
            owner.id = %lost.owner_key,
            lane.id = %lost.lane,
            receiver.kind = target_type,
            receiver.id = %target_id,
            events = lost.events,
            "removed events that were not delivered to a receiver yet: {why}"
        );
        let detail = json!({
            "events": lost.events,
            "first_event_id": lost.first,
            "last_event_id": lost.last,
            "reason": why,
        });
        let target = (target_type, target_id);
        let entry = Entry::by_system(svc_clock::now(), "event_sink.lost", target, detail);
        let owner = lanes::find_owner_key(tx, lost.lane)?.unwrap_or_default();
        audit::append_for(tx, &owner, &entry)?;
    }
    Ok(())
}
