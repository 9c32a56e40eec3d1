//! Emits events through all servers of a zone while a test kills, freezes or upgrades the servers,
//! and checks the order of the events.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use svc_testkit::{Reply, TestReceiver, TestSink, TestUser, TestZone, eventually};
use tokio::{task::JoinHandle, time::timeout};

use super::at_each;
use crate::events::crash::{count_arrivals, first_arrivals, ids};

const SERVERS: usize = 3;
const EMITTERS: usize = 4;
/// Pause between two events of one emitter.
const PACE: Duration = Duration::from_millis(30);
/// How long an emitter waits for a response before it tries another server.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum pending events of one emitter. All emitters together stay below 100, the capacity of the
/// sink that gets the events of all emitters.
const UNDER_WAY_MAX: usize = 20;
/// How long a test waits for progress. A frozen server may block all writers until the database
/// ends its session.
const PROGRESS_LIMIT: Duration = Duration::from_secs(90);
/// Counts the events of the emitters.
pub(super) const COUNT_EVENTS: &str =
    "SELECT COUNT(*) FROM events WHERE type LIKE 'custom.chaos.%'";

/// A random generator with a seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        // The state must not be 0.
        Self(seed | 1)
    }

    pub(super) fn roll(&mut self, sides: usize) -> usize {
        // xorshift64 is good enough to choose members.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }
}

/// One client. It emits its numbers in order, and repeats each emit with the same key until a
/// server acknowledges it.
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
            // A dead server refuses the connection. A frozen server does not answer: it may still
            // perform the emit later, and its response is lost.
            if let Ok(Ok(answer)) = timeout(PATIENCE, user.emit_with_key(&key, &body)).await
                && answer.status < 500
            {
                let emitted = answer.expect(202).json();
                return emitted["event_id"].as_str().unwrap().to_owned();
            }
            tokio::time::sleep(PACE).await;
        }
    }
}

/// Checks that every event was queued once and delivered, and that first arrivals are in the order
/// of the lane's numbers.
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

/// All emitters and receivers.
pub(super) struct Traffic {
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
    pub(super) async fn start(zone: &TestZone, seed: u64) -> Self {
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

    /// Waits until the servers have acknowledged more events.
    pub(super) async fn go_on(&self) {
        let before = self.acknowledged.load(Ordering::SeqCst);
        eventually("events are acknowledged", PROGRESS_LIMIT, || async {
            self.acknowledged.load(Ordering::SeqCst) >= before + 10 * EMITTERS
        })
        .await;
    }

    /// Ends the load, and checks every sink. A lane may have had two attempts at once at most
    /// `overlaps_max` times. Returns the number of events.
    pub(super) async fn end(self, overlaps_max: usize) -> usize {
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
            check_overlaps(&self.receiver, &path, overlaps_max);
        }
        check_overlaps(&self.receiver, "/all", overlaps_max);
        self.stop_counting.store(true, Ordering::SeqCst);
        for counting in self.counting {
            counting.await.unwrap();
        }
        let repeated = self.receiver.count("/all") - total;
        println!("{total} events, {repeated} of them repeated at the sink for all");
        total
    }
}

/// Checks how often a request arrived before the response to the previous one.
fn check_overlaps(receiver: &TestReceiver, path: &str, most: usize) {
    let received = receiver.received(path);
    let pairs = received.windows(2);
    let overlaps = pairs.filter(|pair| pair[0].ended.is_none_or(|ended| pair[1].began < ended));
    let overlaps = overlaps.count();
    if overlaps > 0 {
        println!("{path}: {overlaps} requests arrived before the end of the previous one");
    }
    assert!(overlaps <= most, "{path}: {overlaps} overlaps");
}

fn counts() -> Arc<[AtomicUsize]> {
    (0..EMITTERS).map(|_| AtomicUsize::new(0)).collect()
}
