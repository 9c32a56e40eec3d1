//! Pages with a lot of data: the document stays small, and the lists are requested page by page.

use serde_json::{Value, json};
use svc_testkit::{Http, SimulatedAgents, TestReceiver, TestServer, TestUser, get_eventually};
use tokio::task::JoinSet;

use super::{
    SOON,
    flow::{credentials, run},
    install::Browser,
    site::embedded,
};

const SPACES: usize = 10;
const METHODS_PER_SPACE: usize = 1_000;
/// The number of events. `SVC_LARGE_EVENTS` sets another number, such as 100000.
const EVENTS: usize = 20_000;
/// The number of events that a sink delivers.
const DELIVERIES: usize = 300;
/// The number of deliveries that wait at the same time. It is small, because a full queue drops
/// events.
const WAITING: usize = 50;
/// The number of batches of calls.
const BATCHES: usize = 4;
/// The number of calls in each batch.
const BATCH: usize = 500;
/// Requests of the test that run at the same time.
const AT_ONCE: usize = 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_many_methods_events_and_calls_every_page_stays_small() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = embedded().config_table("events", "emits_per_second = 100000");
    let server = server.start().await;
    let ann = server.user_with("ann", &["admin"], &[]).await;
    let _agents = publish(&server, &ann).await;
    let receiver = TestReceiver::start().await;
    let sink = ann
        .webhook("busy", "custom.delivered", &receiver.url("/hook"))
        .await;
    let events = std::env::var("SVC_LARGE_EVENTS").map_or(EVENTS, |text| {
        text.parse().expect("SVC_LARGE_EVENTS is a number")
    });
    for done in (0..DELIVERIES).step_by(WAITING) {
        emit(&ann, "delivered", WAITING).await;
        sink.wait_for("delivered", done + WAITING, SOON).await;
    }
    emit(&ann, "counted", events).await;
    call(&ann).await;
    let facts = json!({
        "ann": credentials(&ann),
        "methods": SPACES * METHODS_PER_SPACE,
        "methods_per_space": METHODS_PER_SPACE,
        "sink": {"id": sink.id},
    });
    run(&browser, "large-data", &server, &facts).await;
}

async fn publish(server: &TestServer, user: &TestUser) -> SimulatedAgents {
    let tokens = user.create_spaces(SPACES, 4).await;
    let Http::Tcp(address) = server.http() else {
        unreachable!("a test server listens on TCP")
    };
    SimulatedAgents::link(address, tokens, METHODS_PER_SPACE, 2).await
}

/// Emits events of one type, many at the same time.
async fn emit(user: &TestUser, event_type: &'static str, count: usize) {
    let mut tasks = JoinSet::new();
    for part in 0..AT_ONCE {
        let user = user.clone();
        tasks.spawn(async move {
            for n in (part..count).step_by(AT_ONCE) {
                user.emit(event_type, json!({"number": n})).await;
            }
        });
    }
    tasks.join_all().await;
}

/// Calls methods in batches, and waits until the journal has the last call.
async fn call(user: &TestUser) {
    for batch in 0..BATCHES {
        let calls: Vec<Value> = (0..BATCH)
            .map(|n| json!({"jsonrpc": "2.0", "id": n, "method": format!("s0.m{n}"), "params": {"batch": batch}}))
            .collect();
        user.call_raw(Value::from(calls)).await.expect(200);
    }
    get_eventually("the calls are recorded", SOON, || async {
        let listed = user.list("/api/calls", "calls").await;
        (listed.len() == BATCHES * BATCH).then_some(())
    })
    .await;
}
