//! Headless Chromium, driven by the flows of `web/tests/browser`.
//!
//! A test prepares a server with real agents and receivers, and one flow looks at it as a person
//! would, by the roles and names of what is on the page. Where the flow needs something done
//! outside the browser, it says so and waits: see [`flow::Flow::until`]. Without a browser a test
//! says `SKIPPED`; with `SVC_REQUIRE_BROWSER=1` that is a failure.

mod access;
mod events;
mod every_page;
mod first_call;
mod flow;
mod install;
mod scripts;
mod sign_in;
mod site;
mod spaces;

use std::time::Duration;

/// Limit for effects that are due at once: the machine may be busy.
const SOON: Duration = Duration::from_secs(20);
