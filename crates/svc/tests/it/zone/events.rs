//! Events of a zone: emitted anywhere, delivered in one order, seen everywhere.

use std::{collections::HashSet, time::Instant};

use serde_json::{Value, json};
use svc_testkit::{
    RegistrationToml, SseStream, TestAgent, TestPostgres, TestReceiver, TestServerBuilder,
    TestUser, TestZone, eventually, fixture, get_eventually, method,
};

use super::{at_each, linking_to, reaching_tests};
use crate::{
    SOON,
    events::crash::{first_arrivals, ids},
};

/// The number of events of one emitter in one round. All emitters together stay below 100, the
/// capacity of a sink's queue.
const EVENTS: usize = 20;

/// An emit that was acknowledged.
struct Emitted {
    id: String,
    sent: Instant,
    acknowledged: Instant,
}

/// Emits in sequence, each time through the next server.
async fn emit_through_all(users: Vec<TestUser>, first: usize) -> Vec<Emitted> {
    let mut emitted = Vec::new();
    for n in 0..EVENTS {
        let user = &users[(first + n) % users.len()];
        let sent = Instant::now();
        let id = user.emit("zone.api", json!({ "n": n })).await;
        let acknowledged = Instant::now();
        emitted.push(Emitted {
            id,
            sent,
            acknowledged,
        });
    }
    emitted
}

/// Emits through a space's agent, and so through the server it is linked to.
async fn emit_through_agent(agent: &TestAgent) -> Vec<Emitted> {
    let mut emitted = Vec::new();
    let socket = agent.socket().await;
    for n in 0..EVENTS {
        let sent = Instant::now();
        let body = json!({"type": "zone.space", "payload": {"n": n}}).to_string();
        let headers = [("content-type", "application/json")];
        let answer = socket.request("POST", "/event", &headers, body).await;
        let answer = answer.expect(202).json();
        let acknowledged = Instant::now();
        emitted.push(Emitted {
            id: answer["event_id"].as_str().unwrap().to_owned(),
            sent,
            acknowledged,
        });
    }
    emitted
}

/// In each round the space's agent is linked to another server, and the owner of the space emits
/// through all servers.
#[tokio::test(flavor = "multi_thread")]
async fn s6_5_events_emitted_through_all_servers_reach_a_global_sink_in_commit_order() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_with(postgres, 3, reaching_tests).await;
    let receiver = TestReceiver::start().await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 3).await;
    let sink = zone
        .admin(1)
        .global_webhook("all", "custom.zone.*", &receiver.url("/all"))
        .await;
    let mut space = at[0].space("lab").await;
    let mut emitted = Vec::new();
    for round in 0..3 {
        space = linking_to(zone.server(round), space);
        let agent = space.agent().await;
        let through_all: Vec<_> = (0..3)
            .map(|first| tokio::spawn(emit_through_all(at.clone(), first)))
            .collect();
        emitted.extend(emit_through_agent(&agent).await);
        for emitter in through_all {
            emitted.extend(emitter.await.unwrap());
        }
        let expected = emitted.len();
        eventually("every event arrives", 3 * SOON, || async {
            first_arrivals(receiver.received("/all")).len() >= expected
        })
        .await;
    }
    assert_eq!(emitted.len(), 3 * 4 * EVENTS);
    let arrived = ids(&first_arrivals(receiver.received("/all")));
    let unique: HashSet<_> = emitted.iter().map(|one| one.id.clone()).collect();
    assert_eq!(unique.len(), emitted.len());
    assert_eq!(arrived.iter().cloned().collect::<HashSet<_>>(), unique);
    // The number of a delivery is its position in the order of commits.
    let deliveries = sink.deliveries().await;
    let committed: Vec<_> = deliveries.iter().map(|one| &one["event_id"]).collect();
    assert_eq!(committed, arrived.iter().collect::<Vec<_>>());
    let numbers: Vec<_> = deliveries.iter().map(|one| one["n"].as_u64()).collect();
    assert_eq!(numbers, (1..=240).map(Some).collect::<Vec<_>>());
    // An event that was acknowledged before another was sent, at any server, must arrive first.
    let place = |one: &Emitted| arrived.iter().position(|id| *id == one.id).unwrap();
    let placed: Vec<_> = emitted.iter().map(|one| (place(one), one)).collect();
    for (at, one) in &placed {
        for (later_at, later) in &placed {
            if one.acknowledged < later.sent {
                assert!(at < later_at, "{} came after {}", one.id, later.id);
            }
        }
    }
}

fn listening() -> RegistrationToml {
    fixture()
        .with(method("on.build", "push").line("events", r#"["custom.build.*"]"#))
        .with(method("pushed", "pushed"))
}

/// Ids of the events that reached the method, in the order of their arrival at the method server.
async fn pushed(user: &TestUser) -> Vec<String> {
    let answer = user.call("pushed", json!({})).await;
    let list = answer["result"].as_array().cloned().unwrap_or_default();
    let id = |params: &Value| params["event_id"].as_str().unwrap().to_owned();
    list.iter().map(id).collect()
}

#[tokio::test]
async fn s6_4_a_method_gets_events_emitted_at_any_server_through_the_server_of_its_agent() {
    if let Some(postgres) = TestPostgres::find() {
        methods_get_events(postgres, |builder| builder).await;
    }
}

pub async fn methods_get_events(
    postgres: &TestPostgres,
    configure: impl Fn(TestServerBuilder) -> TestServerBuilder,
) {
    let zone = TestZone::start_with(postgres, 3, configure).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 3).await;
    let mut space = at[0].space("lab").await;
    for member in [1, 2] {
        space = linking_to(zone.server(member), space);
        let mut agent = space.publish(listening()).await;
        let mut expected = Vec::new();
        for n in 0..12 {
            let id = at[n % 3].emit("build.done", json!({ "n": n })).await;
            expected.push(id);
        }
        let what = "every event reaches the method";
        let got = get_eventually(what, 2 * SOON, || async {
            let got = pushed(&at[member]).await;
            (got.len() >= expected.len()).then_some(got)
        })
        .await;
        assert_eq!(got, expected, "in order, once each");
        agent.stop().await;
        // The event waits in the queue of the subscription until the agent links to any server.
        let while_away = at[0].emit("build.late", json!({})).await;
        let next = linking_to(zone.server(0), space);
        let agent = next.agent_with(&["--methods-file", "methods.toml"]).await;
        eventually("the event is taken there", 2 * SOON, || async {
            pushed(&at[0]).await == [while_away.as_str()]
        })
        .await;
        space = next;
        drop(agent);
    }
}

async fn stream(user: &TestUser, query: &str) -> SseStream {
    let path = format!("/api/events/stream{query}");
    let request = user.request("GET", &path).body(Default::default()).unwrap();
    SseStream::open(&user.http(), request).await
}

#[tokio::test]
async fn a_stream_at_one_server_shows_the_events_of_all_servers_once() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 3).await;
    let ann = zone.server(0).user("ann").await;
    let ben = zone.server(0).user("ben").await;
    let at = at_each(&zone, &ann, 3).await;
    let before = at[1].emit("before", json!({})).await;
    let mut open = stream(&at[0], "?pattern=custom.*,space.created").await;
    let mut shown = Vec::new();
    let mut expected = Vec::new();
    // Emit in bursts, so that the stream reads the events in several polls.
    for round in 0..3 {
        at_each(&zone, &ben, 3).await[1]
            .emit("other", json!({}))
            .await;
        for user in &at {
            expected.push(user.emit("seen", json!({ "round": round })).await);
        }
        at[2].space(&format!("lab-{round}")).await;
        for _ in 0..4 {
            let message = open.next(SOON).await.expect("the stream goes on");
            match message.event.as_str() {
                "space.created" => {}
                _ => shown.push(message.id),
            }
        }
    }
    shown.sort();
    expected.sort();
    assert_eq!(shown, expected, "own events, each once");
    assert!(!shown.contains(&before));
    let last = at[0].emit("last", json!({})).await;
    let message = open.next(SOON).await.unwrap();
    assert_eq!(message.id, last, "nothing came twice");
}
