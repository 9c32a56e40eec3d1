//! Audit entries about lanes.

use svc_store::lanes::Receiver;

pub(super) const SUBSCRIPTION: &str = "method_subscription";

/// `target_type` and `target_id` of entries about a receiver of events.
pub(super) fn target_of(receiver: &Receiver) -> (&'static str, String) {
    match receiver {
        Receiver::Sink(id) => ("event_sink", id.to_string()),
        Receiver::Method(name) => (SUBSCRIPTION, name.clone()),
    }
}
