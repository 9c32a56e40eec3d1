//! The load on a zone while a test disturbs the database: calls at the first server and emits at
//! each server, without a pause.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use svc_testkit::{TestReceiver, TestSink, TestUser, eventually};
use tokio::task::JoinHandle;

use crate::{
    SOON,
    events::crash::{first_arrivals, ids},
};

/// Counts the events of the emitters.
pub(super) const COUNT_EVENTS: &str =
    "SELECT COUNT(*) FROM events WHERE type LIKE 'custom.outage.%'";
/// Counts the events without a delivery among the events of the emitters.
pub(super) const COUNT_UNDELIVERED: &str = "SELECT COUNT(*) FROM events e \
     WHERE type LIKE 'custom.outage.%' \
     AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = e.id)";
/// The minimum number of times that the server of each emitter must report the outage.
const REFUSALS_MIN: usize = 10;

/// Calls a method all the time. No call may fail. Returns the number of calls and the duration of
/// the slowest call.
pub(super) async fn call_all_the_time(user: TestUser, stop: Arc<AtomicBool>) -> (usize, Duration) {
    let (mut calls, mut slowest) = (0, Duration::ZERO);
    while !stop.load(Ordering::SeqCst) {
        let begun = Instant::now();
        let answer = user.call("echo", json!({"n": calls})).await;
        assert_eq!(answer["result"], json!({"n": calls}), "{answer}");
        slowest = slowest.max(begun.elapsed());
        calls += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    (calls, slowest)
}

/// Emits one event after the other. Repeats each emit with the same key until it is acknowledged.
struct Emitter {
    number: usize,
    user: TestUser,
    stop: Arc<AtomicBool>,
    /// How often the server reported that its database is unavailable.
    refusals: Arc<AtomicUsize>,
}

impl Emitter {
    /// Returns the ids of the acknowledged events in order.
    async fn run(self) -> Vec<String> {
        let mut ids = Vec::new();
        while !self.stop.load(Ordering::SeqCst) {
            let key = format!("emitter-{}-{}", self.number, ids.len());
            let kind = format!("outage.e{}", self.number);
            let body = json!({"type": kind, "payload": {"n": ids.len()}});
            loop {
                let begun = Instant::now();
                let answer = self.user.emit_with_key(&key, &body).await.unwrap();
                let took = begun.elapsed();
                assert!(took < SOON, "answered after {took:?}");
                if answer.status == 202 {
                    let emitted = answer.json();
                    ids.push(emitted["event_id"].as_str().unwrap().to_owned());
                    break;
                }
                let answer = answer.expect(503);
                assert_eq!(answer.code(), "database_unavailable");
                assert_eq!(answer.header("retry-after"), Some("1"));
                self.refusals.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        ids
    }
}

/// A method is called at the first server, and events are emitted at both servers, all the time.
pub(super) struct Load {
    receiver: TestReceiver,
    sinks: Vec<TestSink>,
    calling: JoinHandle<(usize, Duration)>,
    emitting: Vec<JoinHandle<Vec<String>>>,
    /// The refusals of each emitter.
    refusals: Vec<Arc<AtomicUsize>>,
    stop: Arc<AtomicBool>,
    stop_calls: Arc<AtomicBool>,
}

impl Load {
    pub(super) async fn start(at: &[TestUser]) -> Self {
        let receiver = TestReceiver::start().await;
        let [stop, stop_calls] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let calling = tokio::spawn(call_all_the_time(at[0].clone(), Arc::clone(&stop_calls)));
        let (mut sinks, mut emitting) = (Vec::new(), Vec::new());
        let refusals: Vec<_> = at.iter().map(|_| Arc::<AtomicUsize>::default()).collect();
        for (number, user) in at.iter().enumerate() {
            let url = receiver.url(&format!("/e{number}"));
            let pattern = format!("custom.outage.e{number}");
            sinks.push(user.webhook(&format!("e{number}"), &pattern, &url).await);
            let emitter = Emitter {
                number,
                user: user.clone(),
                stop: Arc::clone(&stop),
                refusals: Arc::clone(&refusals[number]),
            };
            emitting.push(tokio::spawn(emitter.run()));
        }
        Self {
            receiver,
            sinks,
            calling,
            emitting,
            refusals,
            stop,
            stop_calls,
        }
    }

    /// Waits until more events of each emitter have arrived.
    pub(super) async fn go_on(&self) {
        for path in ["/e0", "/e1"] {
            let more = self.receiver.count(path) + 5;
            self.receiver.wait_for(path, more, 2 * SOON).await;
        }
    }

    /// Waits until the server of each emitter has reported the outage several times.
    pub(super) async fn refused(&self) {
        eventually("emits are refused", 2 * SOON, || async {
            let mut refusals = self.refusals.iter();
            refusals.all(|refusals| refusals.load(Ordering::SeqCst) >= REFUSALS_MIN)
        })
        .await;
    }

    /// Ends the load, and checks that every event arrived in order and no call failed or took long.
    /// Returns the number of events.
    pub(super) async fn end(self) -> usize {
        self.stop.store(true, Ordering::SeqCst);
        let mut total = 0;
        for (number, emitter) in self.emitting.into_iter().enumerate() {
            let expected = emitter.await.unwrap();
            let refusals = self.refusals[number].load(Ordering::SeqCst);
            println!("{} events, refused {refusals} times", expected.len());
            assert!(refusals >= REFUSALS_MIN, "only {refusals} refusals");
            total += expected.len();
            let path = format!("/e{number}");
            let arrived = || first_arrivals(self.receiver.received(&path));
            eventually("every event arrives", 2 * SOON, || async {
                arrived().len() >= expected.len()
            })
            .await;
            assert_eq!(ids(&arrived()), expected);
            assert_eq!(self.sinks[number].record().await["dropped"], 0);
        }
        self.stop_calls.store(true, Ordering::SeqCst);
        let (calls, slowest) = self.calling.await.unwrap();
        println!("{calls} calls, the slowest took {slowest:?}");
        assert!(slowest < Duration::from_secs(14), "{slowest:?}");
        total
    }
}
