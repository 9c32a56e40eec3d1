//! Events (spec 2.2, 2.3, 6): emit, dispatch, delivery, sinks, subscriptions.

mod cli;
pub mod crash;
mod delivery;
mod emit;
mod exact;
mod exchanges;
mod failing;
mod fairness;
mod formats;
mod headers;
mod history;
pub mod hold;
mod isolation;
mod methods;
mod methods_hold;
mod origin;
mod programs;
mod proxy;
mod queue;
mod recovery;
mod sink_events;
mod sink_stats;
mod sinks;
mod templates;
mod tls;
mod transport;
mod webhook;
