//! Events: *emit* creates an event, *dispatch* chooses its lanes, *deliver* sends it to the
//! receiver of each lane, in order.
//!
//! Invariants: an event, its deliveries, its drops and their audit entries are one transaction.
//! Only lanes with a filter or with held events get their deliveries later. A lane has one delivery
//! in flight (with `ordering = "key"`, one for each key). To finish a delivery, a server must
//! present the fence of its claim. Streams and wake-ups are hints: correctness never depends on
//! them.

mod audit;
pub mod client_keys;
pub mod deliver;
pub mod dispatch;
pub mod emit;
pub mod history;
pub mod hub;
pub mod lanes;
pub mod sealed_headers;
pub mod secrets;
mod sink_event;
pub mod sinks;
pub mod subscriptions;
