//! Headless Chromium, driven by the flows of `web/tests/browser`.
//!
//! A test prepares a server with real agents and receivers. One flow uses the pages of that server
//! as a person would: it finds elements by their role and name. If something must be done outside
//! the browser, the flow notifies the test and waits: see [`flow::Flow::until`]. Without a browser,
//! a test prints `SKIPPED`; with `SVC_REQUIRE_BROWSER=1` it fails instead.

mod access;
mod calls;
mod events;
mod every_page;
mod first_call;
mod flow;
mod form;
mod install;
mod large;
mod oauth;
mod oidc;
mod scripts;
mod shell;
mod sign_in;
mod site;
mod sources;
mod spaces;
mod states;

use std::time::Duration;

/// Time limit for effects that should come at once. Long, because the machine may be busy.
const SOON: Duration = Duration::from_secs(60);
