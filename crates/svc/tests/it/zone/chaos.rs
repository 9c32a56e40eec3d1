//! Servers of a zone that are killed and frozen at random while events are emitted through all of
//! them: no acknowledged event is lost or duplicated, and order holds. `SVC_ZONE_SEED` chooses
//! the same members again.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use svc_testkit::{
    Reply, TestPostgres, TestReceiver, TestServerBuilder, TestSink, TestUser, TestZone, eventually,
};
use tokio::{task::JoinHandle, time::timeout};

use super::{at_each, reaching_tests};
use crate::events::crash::{count_arrivals, first_arrivals, ids};

const SERVERS: usize = 3;
const EMITTERS: usize = 4;
const ROUNDS: usize = 20;
/// How long a server may hold a lane without a heartbeat.
const LEASE: Duration = Duration::from_secs(2);
/// How long a server stays frozen: longer than its lease and its renewal.
const FROZEN: Duration = Duration::from_millis(2_800);
/// Pause between two events of one emitter.
const PACE: Duration = Duration::from_millis(30);
/// How long an emitter waits for a response before it tries another server.
const PATIENCE: Duration = Duration::from_millis(600);
/// Maximum pending events of one emitter. All emitters together stay below 100, the capacity of the
/// sink for all of them.
const UNDER_WAY_MAX: usize = 20;
/// A frozen server may block all writers until the database ends its session.
const PROGRESS_LIMIT: Duration = Duration::from_secs(40);

/// A random generator with a seed.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        // It must not be 0.
        Self(seed | 1)
    }

    fn roll(&mut self, sides: usize) -> usize {
        // xorshift64: good enough to choose members by.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }
}

/// One client: emits its numbers in order, each under one key until a server acknowledges it.
struct Emitter {
    number: usize,
    /// The same user at each member.
    at: Vec<TestUser>,
    dice: Dice,
    /// Arrivals by emitter: at the sink for all emitters, and at each emitter's own sink.
    arrived: [Arc<[AtomicUsize]>; 2],
    acknowledged: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl Emitter {
    /// Event ids in the order of their numbers.
    async fn run(mut self) -> Vec<String> {
        let mut ids = Vec::new();
        while !self.stop.load(Ordering::SeqCst) {
            tokio::time::sleep(PACE).await;
            if ids.len() < self.arrived() + UNDER_WAY_MAX {
                ids.push(self.emit(ids.len()).await);
                self.acknowledged.fetch_add(1, Ordering::SeqCst);
            }
        }
        ids
    }

    fn arrived(&self) -> usize {
        let of = |counts: &Arc<[AtomicUsize]>| counts[self.number].load(Ordering::SeqCst);
        self.arrived.iter().map(of).min().unwrap()
    }

    async fn emit(&mut self, number: usize) -> String {
        let key = format!("emitter-{}-number-{number}", self.number);
        let kind = format!("chaos.e{}", self.number);
        let body = json!({"type": kind, "payload": {"client": self.number, "n": number}});
        loop {
            let user = &self.at[self.dice.roll(SERVERS)];
            // A dead server refuses, a frozen one is silent: its response may be lost, and
            // the emit may still be done later.
            if let Ok(Ok(answer)) = timeout(PATIENCE, user.emit_with_key(&key, &body)).await
                && answer.status < 500
            {
                let emitted = answer.expect(202).json();
                return emitted["event_id"].as_str().unwrap().to_owned();
            }
        }
    }
}

/// One member, killed and started again, or frozen past its lease.
async fn round(zone: &mut TestZone, dice: &mut Dice) -> String {
    let member = dice.roll(SERVERS);
    let begun = Instant::now();
    let what = match dice.roll(2) {
        0 => {
            zone.kill(member);
            zone.restart(member).await;
            "killed"
        }
        _ => {
            zone.freeze(member);
            tokio::time::sleep(FROZEN).await;
            zone.thaw(member);
            "frozen"
        }
    };
    format!("server {member} {what}, back after {:?}", begun.elapsed())
}

/// Every event is there, once, and first arrivals are in the order of the lane's numbers.
async fn check_sink(receiver: &TestReceiver, path: &str, sink: &TestSink, expected: usize) {
    let what = format!("all {expected} events reach {path}");
    eventually(&what, PROGRESS_LIMIT, || async {
        first_arrivals(receiver.received(path)).len() >= expected
            && sink.record().await["queue_depth"] == 0
    })
    .await;
    assert_eq!(sink.record().await["dropped"], 0, "{path}");
    let deliveries = sink.deliveries().await;
    let late = deliveries.iter().find(|one| one["state"] != "delivered");
    assert!(late.is_none(), "{path}: {late:?}");
    let numbers: Vec<_> = deliveries.iter().map(|one| one["n"].as_u64()).collect();
    let whole: Vec<_> = (1..=expected as u64).map(Some).collect();
    assert_eq!(numbers, whole, "{path}");
    let committed: Vec<_> = deliveries.iter().map(|one| &one["event_id"]).collect();
    let arrived = ids(&first_arrivals(receiver.received(path)));
    assert_eq!(arrived.iter().collect::<Vec<_>>(), committed, "{path}");
}

fn short_lease(builder: TestServerBuilder) -> TestServerBuilder {
    let seconds = LEASE.as_secs().to_string();
    reaching_tests(builder).env("SVC_LEASE_SECONDS", &seconds)
}

/// All emitters and receivers.
struct Traffic {
    receiver: Arc<TestReceiver>,
    /// First the sink for the events of all emitters, then one sink per emitter.
    sinks: Vec<TestSink>,
    emitters: Vec<JoinHandle<Vec<String>>>,
    counting: Vec<JoinHandle<()>>,
    acknowledged: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    stop_counting: Arc<AtomicBool>,
}

impl Traffic {
    async fn start(zone: &TestZone, seed: u64) -> Self {
        let ann = zone.server(0).user("ann").await;
        let at = at_each(zone, &ann, SERVERS).await;
        let receiver = Arc::new(TestReceiver::start().await);
        receiver.set("/all", Reply::After(Duration::from_millis(1), 200));
        let url = receiver.url("/all");
        let admin = zone.admin(0);
        let all = admin.global_webhook("all", "custom.chaos.*", &url).await;
        let mut traffic = Self {
            receiver,
            sinks: vec![all],
            emitters: Vec::new(),
            counting: Vec::new(),
            acknowledged: Arc::default(),
            stop: Arc::default(),
            stop_counting: Arc::default(),
        };
        let arrived = [counts(), counts()];
        traffic.count("/all", &arrived[0]);
        for number in 0..EMITTERS {
            let path = format!("/e{number}");
            let pattern = format!("custom.chaos.e{number}");
            let url = traffic.receiver.url(&path);
            let sink = ann.webhook(&format!("e{number}"), &pattern, &url).await;
            traffic.sinks.push(sink);
            traffic.count(&path, &arrived[1]);
            let emitter = Emitter {
                number,
                at: at.clone(),
                dice: Dice::new(seed.rotate_left(8 * (1 + number as u32))),
                arrived: arrived.clone(),
                acknowledged: Arc::clone(&traffic.acknowledged),
                stop: Arc::clone(&traffic.stop),
            };
            traffic.emitters.push(tokio::spawn(emitter.run()));
        }
        traffic
    }

    fn count(&mut self, path: &str, arrived: &Arc<[AtomicUsize]>) {
        self.counting.push(tokio::spawn(count_arrivals(
            Arc::clone(&self.receiver),
            path.to_owned(),
            Arc::clone(arrived),
            Arc::clone(&self.stop_counting),
        )));
    }

    /// Waits until servers have acknowledged more.
    async fn go_on(&self) {
        let before = self.acknowledged.load(Ordering::SeqCst);
        eventually("events are acknowledged", PROGRESS_LIMIT, || async {
            self.acknowledged.load(Ordering::SeqCst) >= before + 10 * EMITTERS
        })
        .await;
    }

    /// Ends the load, and checks every sink. Returns the number of events.
    async fn end(self) -> usize {
        self.stop.store(true, Ordering::SeqCst);
        let mut expected = Vec::new();
        for emitter in self.emitters {
            expected.push(emitter.await.unwrap());
        }
        let total: usize = expected.iter().map(Vec::len).sum();
        let unique: HashSet<_> = expected.iter().flatten().collect();
        assert_eq!(unique.len(), total);
        let (all, of_emitters) = self.sinks.split_first().unwrap();
        check_sink(&self.receiver, "/all", all, total).await;
        for (number, (sink, expected)) in of_emitters.iter().zip(&expected).enumerate() {
            let path = format!("/e{number}");
            check_sink(&self.receiver, &path, sink, expected.len()).await;
            // Exactly the acknowledged events, in the order of their emits.
            let arrived = ids(&first_arrivals(self.receiver.received(&path)));
            assert_eq!(&arrived, expected);
        }
        self.stop_counting.store(true, Ordering::SeqCst);
        for counting in self.counting {
            counting.await.unwrap();
        }
        let repeated = self.receiver.count("/all") - total;
        println!("{total} events, {repeated} of them repeated at the sink for all");
        total
    }
}

fn counts() -> Arc<[AtomicUsize]> {
    (0..EMITTERS).map(|_| AtomicUsize::new(0)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_5_no_acknowledged_event_is_lost_through_20_rounds_of_kills_and_freezes() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let seed = std::env::var("SVC_ZONE_SEED").ok();
    let seed = seed.map_or_else(|| getrandom::u64().unwrap(), |seed| seed.parse().unwrap());
    println!("SVC_ZONE_SEED={seed}");
    let mut zone = TestZone::start_with(postgres, SERVERS, short_lease).await;
    let traffic = Traffic::start(&zone, seed).await;
    let mut dice = Dice::new(seed);
    for number in 0..ROUNDS {
        traffic.go_on().await;
        println!("round {number}: {}", round(&mut zone, &mut dice).await);
    }
    let total = traffic.end().await;
    // One event per key, whatever the killed and frozen servers received.
    let count = "SELECT COUNT(*) FROM events WHERE type LIKE 'custom.chaos.%'";
    let stored = postgres.sql(&zone.database().name, count);
    assert_eq!(stored, total.to_string(), "one event for each key");
}
