//! The rate limits of the server, per user or per address.
//!
//! | Limit | Type | Value |
//! |---|---|---|
//! | calls of a user per second | [`RateLimit`] | `calls_per_second`, none by default |
//! | events a user emits per second | [`RateLimit`] | `emits_per_second`, 1,000 by default |
//! | test deliveries of a user per minute | [`MinuteLimit`] | [`SINK_TESTS_PER_MINUTE`] |
//! | test runs of scripts of a user per minute | [`MinuteLimit`] | [`SCRIPT_RUNS_PER_MINUTE`] |
//! | failed logins of a user and an address | [`LoginLimit`] | [`LoginPolicy`]; `login_limit` is the number without a wait |
//! | bytes of bodies still arriving | [`BodyBudget`] | `max_unfinished_body_bytes`, a quarter of it per user |
//!
//! All of these are in memory: a restart resets them.
//!
//! Limits on what a user may have (spaces, sinks, scripts, open streams) are quotas:
//! `svc_core::quota`. Queues bound their own length: connections (`http::connections`), computations
//! and password hashes (`fair_pool`).

mod body_budget;
mod login_limit;
mod minute_limit;
mod rate_limit;

pub use body_budget::{Account, BodiesFull, BodyBudget, Reservation};
pub use login_limit::{LoginLimit, LoginPolicy, network};
pub use minute_limit::{MinuteLimit, OverMinuteLimit};
pub use rate_limit::{OverLimit, RateLimit};

/// Test deliveries that one user may send within a minute.
pub const SINK_TESTS_PER_MINUTE: usize = 10;
/// Test runs of scripts that one user may start within a minute.
pub const SCRIPT_RUNS_PER_MINUTE: usize = 60;
