//! Events: *emit* creates an event, *dispatch* chooses its lanes, *deliver* sends it to the
//! receiver of each lane, in order. A *lane* is the queue of one sink or of one subscribed method.
//!
//! Invariants: one transaction writes an event, its deliveries, its drops and their audit entries.
//! Only lanes with a filter or with held events get their deliveries later. A lane has at most one
//! delivery in flight (with `ordering = "key"`, one for each key). A server claims a lane before it
//! delivers. Each claim raises a number, the fence of the lane, and a server with an older fence
//! cannot finish a delivery. Streams and wake-ups are hints: correctness never depends on them.

mod audit;
pub mod client_keys;
pub mod deliver;
pub mod dispatch;
pub mod emit;
pub mod history;
pub mod hub;
pub mod lanes;
pub mod sealed_headers;
mod sink_event;
pub mod sink_secrets;
pub mod sinks;
pub mod subscriptions;
