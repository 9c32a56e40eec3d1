//! Events: emit (create one), dispatch (choose its lanes), deliver (get it to each, in order).
//!
//! Invariants: an event, its deliveries, its drops and their audit entries are one transaction;
//! a lane has one delivery in flight; whoever finishes a delivery proves that the lane is still
//! theirs (fence). Streams and wake-ups are hints: nothing depends on them for correctness.

mod audit;
pub mod deliver;
pub mod dispatch;
pub mod emit;
pub mod history;
pub mod hub;
pub mod lanes;
pub mod sealed_headers;
pub mod secrets;
pub mod sinks;
pub mod subscriptions;
pub mod template;
