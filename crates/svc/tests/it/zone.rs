//! A zone: several servers on one PostgreSQL. Without PostgreSQL each of these tests says that it
//! is skipped.

mod changes;
mod members;
mod revocation;

use std::{
    future::Future,
    time::{Duration, Instant},
};

use svc_testkit::{TestServerBuilder, TestUser, TestZone, eventually};

use crate::SOON;

/// Within which a change at one server is in effect at all of them.
const EFFECT_MAX: Duration = Duration::from_secs(1);

/// Servers whose webhooks may reach the receivers of a test, and who try again soon.
fn reaching_tests(builder: TestServerBuilder) -> TestServerBuilder {
    builder.allow_loopback_webhooks().retries(0.2, 0.2)
}

/// The same user at each member, once their token is good at all of them.
async fn at_each(zone: &TestZone, user: &TestUser, members: usize) -> Vec<TestUser> {
    let everywhere: Vec<_> = (0..members).map(|n| user.at(zone.server(n))).collect();
    for user in &everywhere {
        eventually("the token is known", SOON, || async {
            user.get("/api/auth/me").await.status == 200
        })
        .await;
    }
    everywhere
}

/// Asserts that a condition comes to hold in time, counted from a moment that has just been.
async fn in_effect<F, Fut>(what: &str, since: Instant, mut condition: F)
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    loop {
        let asked = since.elapsed();
        if condition().await {
            println!("{what}: after {asked:?}");
            return;
        }
        assert!(asked < EFFECT_MAX, "not within {EFFECT_MAX:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
