//! The typed client of the server's HTTP API and of the agent's local API, for the CLI, the agent,
//! scripts and tests.
//!
//! The client never retries a request that the server may have received, never follows a redirect,
//! and never logs: the [`Error`] holds the reason.

mod agent;
mod certificates;
mod client;
mod error;
mod proxy;
mod receiver_tls;
mod resource;
mod sse;
mod target;
pub mod transport;

pub use agent::AgentClient;
pub use certificates::TlsFailure;
pub use client::{Client, Credential, LoginStep};
pub use error::Error;
pub use proxy::{Proxy, ProxyUrlError};
pub use receiver_tls::{TlsConfigs, TlsSettings, TlsSettingsError, check_tls_settings};
pub use resource::{Action, Resource, choose_named, global_name};
pub use sse::{EventStream, Message, Received};
pub use target::{Address, Target, TargetError, first_address, tls_config};
pub use transport::{Answer, Policy, Reply, Stream, certificate_end, connect};
