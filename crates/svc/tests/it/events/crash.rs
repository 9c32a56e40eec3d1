//! Acknowledged events are never lost: emit, deliver, and `kill -9` at any moment.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use svc_testkit::{Received, Reply, TestReceiver, TestServer, TestSink, TestUser, eventually};

const CLIENTS: usize = 8;
/// The number of rounds, unless `SVC_CRASH_ROUNDS` sets another number.
const ROUNDS: usize = 25;
/// Maximum number of deliveries of a webhook that one crash may repeat.
const MAX_REPEATS: usize = 8;
/// Maximum pending events of one client. All clients together stay below 100, the capacity of the
/// queue of the sink that gets the events of all clients.
const UNDER_WAY_MAX: usize = 10;

/// One client. It emits numbered events in order, and repeats each emit with the same key until the
/// server acknowledges the event.
struct Emitter {
    user: TestUser,
    client: usize,
    acknowledged: Arc<AtomicUsize>,
    arrived: Arc<[AtomicUsize]>,
    stop: Arc<AtomicBool>,
}

impl Emitter {
    /// Emits events until `stop` is set. Returns their ids in the order of the emits.
    async fn run(self) -> Vec<String> {
        let mut ids = Vec::new();
        while !self.stop.load(Ordering::SeqCst) {
            let arrived = self.arrived[self.client].load(Ordering::SeqCst);
            if ids.len() >= arrived + UNDER_WAY_MAX {
                tokio::time::sleep(Duration::from_millis(2)).await;
                continue;
            }
            ids.push(self.emit(ids.len()).await);
            self.acknowledged.fetch_add(1, Ordering::SeqCst);
        }
        ids
    }

    async fn emit(&self, number: usize) -> String {
        let key = format!("client-{}-number-{number}", self.client);
        let kind = format!("crash.c{}", self.client);
        let body = json!({"type": kind, "payload": {"client": self.client, "n": number}});
        loop {
            if let Ok(answer) = self.user.emit_with_key(&key, &body).await
                && answer.status < 500
            {
                let emitted = answer.expect(202).json();
                return emitted["event_id"].as_str().unwrap().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// The first request for each event. Repetitions are left out.
pub fn first_arrivals(received: Vec<Received>) -> Vec<Received> {
    let mut seen = HashSet::new();
    received
        .into_iter()
        .filter(|one| seen.insert(one.header("x-service-event-id").to_owned()))
        .collect()
}

/// Event ids of the requests.
pub fn ids(received: &[Received]) -> Vec<String> {
    let id = |one: &Received| one.header("x-service-event-id").to_owned();
    received.iter().map(id).collect()
}

/// Counts the events of each client that have arrived at a path, until `stop` is set.
pub async fn count_arrivals(
    receiver: Arc<TestReceiver>,
    path: String,
    arrived: Arc<[AtomicUsize]>,
    stop: Arc<AtomicBool>,
) {
    let (mut seen, mut counted) = (HashSet::new(), 0);
    while !stop.load(Ordering::SeqCst) {
        if receiver.count(&path) > counted {
            let received = receiver.received(&path);
            for one in &received[counted..] {
                if seen.insert(one.header("x-service-event-id").to_owned()) {
                    let client = one.json()["data"]["client"].as_u64().unwrap();
                    arrived[usize::try_from(client).unwrap()].fetch_add(1, Ordering::SeqCst);
                }
            }
            counted = received.len();
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}

fn rounds() -> usize {
    let given = std::env::var("SVC_CRASH_ROUNDS").ok();
    given.map_or(ROUNDS, |rounds| rounds.parse().expect("a number of rounds"))
}

/// Checks that the crashes repeated no more deliveries than allowed. Returns the number of
/// repetitions.
fn check_repeats(receiver: &TestReceiver, path: &str, crashes: usize) -> usize {
    let received = receiver.received(path);
    let repeats = received.len() - first_arrivals(received).len();
    assert!(
        repeats <= crashes * MAX_REPEATS,
        "{path} got {repeats} repeats in {crashes} crashes"
    );
    repeats
}

async fn check_sink(receiver: &TestReceiver, path: &str, sink: &TestSink, expected: usize) {
    let what = format!("all {expected} events reach {path}");
    eventually(&what, 3 * crate::SOON, || async {
        first_arrivals(receiver.received(path)).len() >= expected
            && sink.record().await["queue_depth"] == 0
    })
    .await;
    assert_eq!(receiver.peak(path), 1, "{path} had two requests at once");
    let record = sink.record().await;
    assert_eq!(record["dropped"], 0);
    // The number of a delivery is its position in the order of commits.
    let deliveries = sink.deliveries().await;
    let committed: Vec<_> = deliveries
        .iter()
        .map(|delivery| delivery["event_id"].as_str().unwrap().to_owned())
        .collect();
    let arrived = ids(&first_arrivals(receiver.received(path)));
    assert_eq!(arrived.len(), committed.len());
    assert_eq!(arrived, committed, "{path} is out of order");
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_5_no_acknowledged_event_is_lost_and_order_holds_through_25_crashes() {
    let rounds = rounds();
    let mut server = TestServer::builder()
        .allow_loopback_webhooks()
        .retries(0.2, 0.2)
        .start()
        .await;
    let receiver = Arc::new(TestReceiver::start().await);
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    receiver.set("/all", Reply::After(Duration::from_millis(1), 200));
    let all = admin
        .global_webhook("all", "custom.crash.*", &receiver.url("/all"))
        .await;
    let mut sinks = Vec::new();
    for client in 0..CLIENTS {
        let url = receiver.url(&format!("/c{client}"));
        let pattern = format!("custom.crash.c{client}");
        sinks.push(ann.webhook(&format!("c{client}"), &pattern, &url).await);
    }
    let arrived: Arc<[AtomicUsize]> = (0..CLIENTS).map(|_| AtomicUsize::new(0)).collect();
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let (stop, stop_counting) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    let counting = tokio::spawn(count_arrivals(
        Arc::clone(&receiver),
        "/all".to_owned(),
        Arc::clone(&arrived),
        Arc::clone(&stop_counting),
    ));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let emitter = Emitter {
                user: ann.clone(),
                client,
                acknowledged: Arc::clone(&acknowledged),
                arrived: Arc::clone(&arrived),
                stop: Arc::clone(&stop),
            };
            tokio::spawn(emitter.run())
        })
        .collect();
    for round in 0..rounds {
        let before = acknowledged.load(Ordering::SeqCst);
        eventually("events are acknowledged", 2 * crate::SOON, || async {
            acknowledged.load(Ordering::SeqCst) >= before + CLIENTS
        })
        .await;
        let moment = Duration::from_micros(getrandom::u64().unwrap() % 400_000);
        tokio::time::sleep(moment).await;
        server.kill9();
        let down = Instant::now();
        server.start_again().await;
        println!(
            "round {round}: killed after {moment:?}, back after {:?}",
            down.elapsed()
        );
    }
    stop.store(true, Ordering::SeqCst);
    let mut expected = Vec::new();
    for client in clients {
        expected.push(client.await.unwrap());
    }
    let total: usize = expected.iter().map(Vec::len).sum();
    assert!(total >= rounds * CLIENTS, "only {total} events");
    check_sink(&receiver, "/all", &all, total).await;
    for (client, (sink, expected)) in sinks.iter().zip(&expected).enumerate() {
        let path = format!("/c{client}");
        check_sink(&receiver, &path, sink, expected.len()).await;
        // Exactly the acknowledged events, in the order of their emits.
        assert_eq!(&ids(&first_arrivals(receiver.received(&path))), expected);
        check_repeats(&receiver, &path, rounds);
    }
    stop_counting.store(true, Ordering::SeqCst);
    counting.await.unwrap();
    let repeats = check_repeats(&receiver, "/all", rounds);
    println!("{total} events through {rounds} crashes; {repeats} repeated");
}

#[tokio::test]
async fn s6_5_delivery_resumes_soon_after_a_restart() {
    let mut server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    receiver.set("/hook", Reply::Hang);
    ann.webhook("hook", "*", &receiver.url("/hook")).await;
    ann.emit("a", json!({})).await;
    receiver.wait_for("/hook", 1, crate::SOON).await;
    server.kill9();
    receiver.set("/hook", Reply::Status(200));
    server.start_again().await;
    let up = Instant::now();
    let received = receiver.wait_for("/hook", 2, crate::SOON).await;
    let resumed = up.elapsed();
    // Much longer than 2 s, because the machine may be busy, and shorter than the lease of 30 s.
    assert!(resumed < Duration::from_secs(15), "{resumed:?}");
    assert_eq!(ids(&received[..1]), ids(&received[1..]));
    assert_eq!(receiver.peak("/hook"), 1);
}
