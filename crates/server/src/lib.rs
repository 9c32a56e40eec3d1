//! The control plane: identity, methods, events, scripts, links and spaces, and their HTTP API. One
//! [`Server`] is one process of a zone. `docs/design/modules.md` says what each module owns.

pub mod app;
pub mod backup;
pub mod bootstrap;
pub mod call_history;
pub mod diagnostics;
pub mod events;
mod host_names;
pub mod http;
pub mod identity;
pub mod journal;
pub mod lifecycle;
pub mod limits;
pub mod links;
pub mod live;
pub mod mcp;
pub mod methods;
pub mod metrics;
pub mod migrate;
pub mod oauth;
pub mod oidc;
pub mod options;
mod random_key;
pub mod records;
pub mod schedules;
pub mod scripts;
pub mod second_factors;
pub mod secrets;
mod server;
pub mod sources;
pub mod spaces;
pub mod stats;
pub mod streams;
pub mod tables;
mod tls;
pub mod traces;
pub mod web;
pub mod zone;

pub use app::App;
pub use journal::JournalOptions;
pub use metrics::MetricsOptions;
pub use options::{EventOptions, Limits, Options, Policy, Quotas, SharedDatabase, TlsFiles};
pub use scripts::ScriptOptions;
pub use server::{Pulse, Server, StartError};
