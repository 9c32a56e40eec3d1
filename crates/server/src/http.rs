//! The HTTP API. A handler extracts its input, makes one call and converts the result. It contains
//! no rules, no SQL and no loops.
//!
//! `router` lists every route with its `rule`, such as the permission it requires; `auth` applies it.

mod agent_link;
mod answers;
mod audit;
mod auth;
mod calls;
mod client;
mod client_stream;
pub mod connections;
mod cookies;
mod describe;
mod diagnostics;
mod door;
mod error;
mod event_sinks;
mod event_stream;
mod events;
mod extract;
mod failures;
mod groups;
mod handlers;
mod head_guard;
mod head_timer;
mod host;
pub mod listen;
mod mcp;
mod methods;
mod oauth;
mod oidc;
mod openapi;
mod operations;
mod passkeys;
mod plain_page;
mod roles;
mod router;
mod rule;
mod schedules;
mod scripts;
mod second_factors;
mod servers;
mod sessions;
mod setup;
mod sources;
mod spaces;
mod stats;
mod templates;
mod tokens;
mod unknown_credentials;
mod users;
mod web;

#[cfg(test)]
mod tests;

pub use door::Door;
pub use router::{RouteRow, route_table, router};
