//! The product from outside: the real `svc` program, real HTTP, real processes.
//!
//! One file per part of the specification; a test carries the name of the rule it shows, so that
//! `cargo test v3` runs the tests of rule V3. Every test has a server, a data folder and ports of
//! its own, and waits for conditions, never for a while.
#![allow(clippy::unwrap_used)]

mod access;
mod agent_api;
mod agent_servers;
mod call_budget;
mod call_depth;
mod call_errors;
mod call_fairness;
mod call_responses;
mod calls;
mod cli;
mod cli_context;
mod cli_forms;
mod compute;
mod connections;
mod events_cli;
mod events_crash;
mod events_delivery;
mod events_emit;
mod events_fair;
mod events_headers;
mod events_history;
mod events_isolation;
mod events_methods;
mod events_queue;
mod events_sinks;
mod events_templates;
mod events_webhook;
mod examples;
mod hosts;
mod identity;
mod lab;
mod link;
mod link_hostile;
mod local_machine;
mod mcp;
mod mcp_cli;
mod mcp_errors;
mod mcp_judges;
mod mcp_progress;
mod mcp_scripts;
mod mcp_search;
mod mcp_streams;
mod mcp_tools;
mod method_server;
mod method_server_serial;
mod methods_paging;
mod methods_targets;
mod methods_visibility;
mod migrate;
mod operations;
mod operations_settings;
mod pages_api;
mod power;
mod power_shared;
mod proxies;
mod quotas;
mod registration;
mod registration_replace;
mod revocation;
mod scale;
mod scripts_checks;
mod scripts_cli;
mod scripts_fair;
mod scripts_hostile;
mod scripts_methods_file;
mod scripts_packages;
mod scripts_register;
mod scripts_register_outcomes;
mod scripts_serve;
mod scripts_serve_failures;
mod scripts_serve_processes;
mod scripts_sinks;
mod scripts_sinks_owners;
mod scripts_startup;
mod scripts_stored;
mod scripts_suite;
mod scripts_tools;
mod sessions;
mod space_grace;
mod space_health;
mod space_lifecycle;
mod spaces;
mod stats;
mod tokens;
mod up;
mod web;
mod zone;

use std::time::Duration;

/// What is due at once gets this long: the machine may be busy.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn the_program_under_test_is_the_one_cargo_built() {
    let built = std::path::Path::new(env!("CARGO_BIN_EXE_svc"));
    assert_eq!(svc_testkit::svc_program(), built);
}
