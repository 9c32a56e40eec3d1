//! Servers that are killed or stopped under load, and registrations that are replaced under load.

use std::sync::Arc;

use svc_testkit::TestSpace;
use tokio::task::JoinHandle;

use super::*;
use crate::zone::callers::{Callers, FailedCall};

const CALLERS: usize = 16;
/// Each round stops and starts one server.
const ROUNDS: usize = 20;
/// Calls in flight on a server when it is asked to stop.
const IN_FLIGHT: usize = 4;

/// The fields are in the order in which they must be dropped.
struct LoadedZone {
    callers: Vec<JoinHandle<Vec<FailedCall>>>,
    load: Arc<Callers>,
    agent: TestAgent,
    space: TestSpace,
    at: Vec<TestUser>,
    zone: TestZone,
}

impl LoadedZone {
    /// Three servers, a space whose home is the first, and callers at each server.
    async fn start(postgres: &TestPostgres) -> Self {
        let zone = TestZone::start_announced(postgres, SERVERS).await;
        let ann = zone.server(0).user("ann").await;
        let at = at_each(&zone, &ann, SERVERS).await;
        let space = at[0].space("lab").await;
        let agent = space.publish(methods()).await;
        wait_until_answered(&at, "echo").await;
        let load = Arc::new(Callers::default());
        let callers = (0..CALLERS)
            .map(|caller| load.start(caller, &at, "sleep"))
            .collect();
        load.wait_for_calls(500).await;
        Self {
            callers,
            load,
            agent,
            space,
            at,
            zone,
        }
    }

    /// Ends the callers, and returns the calls that failed.
    async fn end(&mut self) -> Vec<FailedCall> {
        let callers = std::mem::take(&mut self.callers);
        self.load.end(callers).await
    }
}

fn methods() -> svc_testkit::RegistrationToml {
    fixture()
        .plain("sleep")
        .plain("echo")
        .with(method("slow", "sleep"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_home_server_costs_only_the_calls_in_flight_on_it() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut loaded = LoadedZone::start(postgres).await;
    let killed = loaded.zone.server(0).url().to_owned();
    assert_eq!(loaded.agent.status().await["server_url"], killed);
    loaded.zone.kill(0);
    eventually("the agent has another home", SOON, || async {
        let status = loaded.agent.status().await;
        status["linked"] == true && status["server_url"] != killed
    })
    .await;
    loaded.load.wait_for_calls(2_000).await;
    let events = loaded.at[1]
        .list("/api/events?type=space.*", "events")
        .await;
    assert_eq!(events.len(), 2, "the space was deployed all the time");
    let failed = loaded.end().await;
    let mut callers: Vec<_> = failed.iter().map(|failed| failed.caller).collect();
    callers.dedup();
    assert_eq!(callers.len(), failed.len(), "one call of each caller");
    for failed in &failed {
        assert_eq!(failed.server, 0, "{failed:?}");
        assert!(failed.why.starts_with("no response"), "{failed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_stops_and_starts_of_servers_under_load_fail_no_call() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut loaded = LoadedZone::start(postgres).await;
    for round in 0..ROUNDS {
        let member = round % SERVERS;
        let user = loaded.at[member].clone();
        let go = format!("go{round}");
        let in_flight: Vec<_> = (0..IN_FLIGHT)
            .map(|_| user.start_call("slow", json!({"ms": 1_500, "until": go})))
            .collect();
        user.wait_for_in_flight("slow", IN_FLIGHT as u64).await;
        loaded.load.avoid(member).await;
        loaded.space.write(&go, "");
        loaded.zone.restart(member).await;
        for call in in_flight {
            assert_eq!(result(&call.await.unwrap())["slept"], 1_500);
        }
        eventually("the server has its links again", 2 * SOON, || async {
            answers(&user, "echo").await
        })
        .await;
        loaded.load.wait_for_calls(50).await;
    }
    let failed = loaded.end().await;
    assert!(failed.is_empty(), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn new_registrations_under_load_fail_no_call_at_any_server() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut loaded = LoadedZone::start(postgres).await;
    for round in 0..5 {
        let name = format!("round{round}");
        let registration = methods().with(method(&name, "echo"));
        loaded.agent.register(registration).await.expect(0);
        wait_until_answered(&loaded.at, &name).await;
        loaded.load.wait_for_calls(200).await;
    }
    let failed = loaded.end().await;
    assert!(failed.is_empty(), "{failed:?}");
}
