//! Three servers emit and deliver at the same time, with one PostgreSQL database. Afterwards a
//! checker compares the acknowledged emits with the events in the database and with the deliveries
//! that arrived.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use parking_lot::Mutex;
use svc_core::{
    LaneId, ServerId,
    lane::{QUEUE_CAPACITY, RetryPolicy},
};
use svc_store::{
    DatabaseUrl, Store, StoreOptions,
    deliveries::{self, DeliveryPage},
    lanes::{self, LaneRow},
};
use svc_testkit::TestPostgres;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    super::command::EmitOutcome,
    together::{Random, START, command},
    *,
};
use crate::events::{
    hub::Hub,
    lanes::{AttemptDetail, AttemptResult, Deliver, Engine, FilterResult, Job, LanePolicy},
};

const SERVERS: usize = 3;
const OWNERS: usize = 3;
/// Clients of each owner. A client emits one event after the other, each at a random server.
const CLIENTS: usize = 3;
/// Emits of each client.
const EMITS: usize = 60;
/// The delivery engines start after this many emits of all clients, when some queues are full.
const EMITS_BEFORE: usize = 350;
const DEADLINE: Duration = Duration::from_secs(60);

/// A receiver that records each arrival. Some attempts fail, at random.
struct Recorder {
    arrived: Mutex<Vec<(LaneId, u64)>>,
    in_flight: Mutex<HashMap<LaneId, usize>>,
    /// Lanes that had two deliveries in flight at once.
    overlapping: Mutex<Vec<LaneId>>,
    random: Mutex<Random>,
}

impl Deliver for Recorder {
    async fn keys(&self, _: &SinkRow, events: Vec<Event>) -> Result<Vec<String>, String> {
        Ok(vec![String::new(); events.len()])
    }

    async fn filter(
        &self,
        _: UserId,
        _: String,
        events: Vec<Event>,
    ) -> Result<Vec<FilterResult>, String> {
        Ok(vec![Ok(true); events.len()])
    }

    async fn deliver(&self, job: Job) -> AttemptResult {
        {
            let mut in_flight = self.in_flight.lock();
            let count = in_flight.entry(job.lane).or_default();
            *count += 1;
            if *count > 1 {
                self.overlapping.lock().push(job.lane);
            }
        }
        self.arrived.lock().push((job.lane, job.n));
        let (is_slow, fails) = {
            let mut random = self.random.lock();
            (random.below(4) == 0, random.below(12) == 0)
        };
        if is_slow {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        *self.in_flight.lock().entry(job.lane).or_default() -= 1;
        match fails {
            true => AttemptResult::Failed(AttemptDetail::error("the receiver refused")),
            false => AttemptResult::Delivered(AttemptDetail::default()),
        }
    }
}

/// How many deliveries the emits queued and dropped in total, according to their results.
#[derive(Default)]
struct Acknowledged {
    queued: u32,
    dropped: u32,
}

fn policy() -> LanePolicy {
    let soon = Duration::from_millis(5);
    LanePolicy {
        retry: RetryPolicy {
            after_first: soon,
            after_second: soon,
        },
        poll: Duration::from_millis(20),
        ..LanePolicy::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_three_servers_keep_their_order_and_their_number() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    for seed in 0..3 {
        let database = postgres.database();
        let url = DatabaseUrl::parse(&database.url).expect("a URL");
        let mut stores = Vec::new();
        for _ in 0..SERVERS {
            let store = Store::connect(url.clone(), StoreOptions::default()).await;
            stores.push(store.expect("the store opens"));
        }
        check(seed, &stores).await;
        for store in stores {
            store.close().await;
        }
    }
}

async fn check(seed: u64, stores: &[Store]) {
    let owners: Vec<_> = (0..OWNERS).map(|_| caller()).collect();
    let mut sinks = Vec::new();
    for (number, owner) in owners.iter().enumerate() {
        let id = owner.user.id;
        for n in 0..2 {
            let name = format!("s{number}{n}");
            sinks.push(webhook_row(id, sinks::owner_key(id), &name));
        }
    }
    let first = owners[0].user.id;
    sinks.push(webhook_row(first, sinks::GLOBAL.to_owned(), "all"));
    let inserted = sinks.clone();
    let inserting =
        stores[0].write(move |tx| inserted.iter().try_for_each(|row| sinks::insert(tx, row)));
    inserting.await.expect("committed");

    let recorder = Arc::new(Recorder {
        arrived: Mutex::default(),
        in_flight: Mutex::default(),
        overlapping: Mutex::default(),
        random: Mutex::new(Random(seed)),
    });
    let (acknowledged, emitted) = (Mutex::new(Acknowledged::default()), watch::Sender::new(0));
    let clients = (0..OWNERS * CLIENTS).map(|client| {
        let (owners, acknowledged, emitted) = (&owners, &acknowledged, &emitted);
        async move {
            let mut random = Random(seed ^ client as u64);
            for i in 0..EMITS {
                let data = JsonText::from(&json!({"client": client, "i": i}));
                let emit = command(&owners[client % OWNERS], "x", (data, START), None);
                let store = &stores[random.below(SERVERS)];
                let Ok(EmitOutcome::New(_, result)) = store.write_grouped(emit).await else {
                    panic!("the emit was refused");
                };
                let mut acknowledged = acknowledged.lock();
                acknowledged.queued += result.queued;
                acknowledged.dropped += result.dropped;
                emitted.send_modify(|count| *count += 1);
            }
        }
    });
    let shutdown = CancellationToken::new();
    let engines = async {
        let mut count = emitted.subscribe();
        let _ = count.wait_for(|count| *count >= EMITS_BEFORE).await;
        let engines = stores.iter().map(|store| {
            let server = ServerId(Uuid::now_v7());
            let (recorder, hub) = (recorder.clone(), Hub::default());
            Engine::new(
                store.clone(),
                server,
                recorder,
                policy(),
                shutdown.clone(),
                hub,
            )
            .run()
        });
        join_all(engines).await;
    };
    let emitting_then_watching = async {
        join_all(clients).await;
        let began = Instant::now();
        while !is_empty(&stores[0]).await {
            assert!(began.elapsed() < DEADLINE, "the queues never empty");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        shutdown.cancel();
    };
    tokio::join!(engines, emitting_then_watching);
    let acknowledged = acknowledged.into_inner();
    assert!(acknowledged.dropped > 0, "no queue was full");
    assert_eq!(recorder.overlapping.lock().as_slice(), []);
    let mut totals = Acknowledged::default();
    for sink in &sinks {
        let lane = check_lane(&stores[1], sink, &recorder).await;
        totals.queued += lane.0;
        totals.dropped += lane.1;
    }
    assert_eq!(totals.queued, acknowledged.queued);
    assert_eq!(totals.dropped, acknowledged.dropped);
}

/// Whether all queues are empty. No queue may ever hold more than its capacity.
async fn is_empty(store: &Store) -> bool {
    let backlog = store.read(lanes::list_backlog).await.expect("read");
    let too_long = backlog.iter().find(|lane| lane.depth > QUEUE_CAPACITY);
    assert_eq!(too_long, None);
    backlog.is_empty()
}

/// Checks the queue of a sink. Returns how many deliveries it had and how many events it dropped.
async fn check_lane(store: &Store, sink: &SinkRow, recorder: &Recorder) -> (u32, u32) {
    let id = sink.id;
    let reading = store.read(move |tx| {
        let lane: LaneRow = lanes::find_by_sink(tx, id)?.expect("a lane");
        let (mut all, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let page = DeliveryPage::parse(cursor.as_deref(), Some(200)).expect("valid");
            let page = deliveries::list(tx, lane.id, None, page)?;
            for delivery in page.items {
                let data = events::find(tx, delivery.event_id)?
                    .expect("stored")
                    .data
                    .to_string();
                all.push((delivery.n, data));
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                all.reverse();
                return Ok((lane, all));
            }
        }
    });
    let (lane, deliveries) = reading.await.expect("read");
    // The numbers have no gap and no duplicate.
    let numbers: Vec<_> = deliveries.iter().map(|(n, _)| *n).collect();
    let expected: Vec<_> = (1..=numbers.len() as u64).collect();
    assert_eq!(numbers, expected, "{}", sink.name);
    // The emits of each client are in the order in which the client made them.
    let mut last = BTreeMap::new();
    for (n, data) in &deliveries {
        let data: Value = serde_json::from_str(data).expect("JSON");
        let (client, i) = (data["client"].as_u64(), data["i"].as_i64());
        let before = last.insert(client, i);
        assert!(before < Some(i), "{}: delivery {n} is too late", sink.name);
    }
    // Retries aside, the deliveries arrived in the order of their numbers, and none is missing.
    let mut first = Vec::new();
    for (of, n) in recorder.arrived.lock().iter() {
        if *of == lane.id && !first.contains(n) {
            first.push(*n);
        }
    }
    assert_eq!(first, expected, "{}", sink.name);
    assert_eq!(lane.depth, 0, "{}", sink.name);
    (deliveries.len() as u32, lane.dropped as u32)
}
