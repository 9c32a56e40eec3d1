//! The delivery engine, on a real store, with a scripted receiver.

mod attempts;
mod fairness;
mod feeds;
mod filters;
mod holding;
mod keyed;
mod order;
mod policy;
mod queue;
mod receiver;
mod refill;
mod simulation;
mod together;
mod wait;
mod wake_ups;
mod window;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::json;
use svc_clock::Clock;
use svc_core::{
    EventId, LaneId, ServerId, SinkId, SpaceId, Timestamp, UserId,
    delivery_policy::DeliveryPolicy,
    event::{Actor, Event},
    json_text::JsonText,
    pattern::Pattern,
};
use svc_protocol::api::{AuditQuery, Delivery, SinkType, WebhookConfig};
use svc_store::{
    PageRequest, Store, StoreOptions, audit,
    deliveries::{self, DeliveryPage},
    lanes::{self, DeliveryKind, LaneLease},
    sinks::{self, GLOBAL, SinkConfig, SinkRow},
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::{
    receiver::{Receiver, Reply, filter_events},
    wait::{DEADLINE, eventually, until},
};
use super::{AttemptDetail, AttemptResult, Deliver, Engine, FilterResult, Job, LanePolicy};
use crate::events::{dispatch::emit_in, hub::Hub};

const START: i64 = 1_700_000_000_000;

/// A store with a clock that moves only by [`Fixture::advance`].
struct Fixture {
    folder: tempfile::TempDir,
    store: Store,
    clock: Clock,
    hub: Hub,
    now: Arc<AtomicI64>,
    server: ServerId,
    owner: UserId,
}

fn open(folder: &std::path::Path, clock: &Clock) -> Store {
    let options = StoreOptions {
        clock: clock.clone(),
        ..StoreOptions::default()
    };
    Store::open_with(folder, options).expect("opens")
}

/// A running engine.
struct Running {
    task: JoinHandle<()>,
    shutdown: CancellationToken,
}

impl Running {
    async fn stop(self) {
        self.shutdown.cancel();
        self.task.await.expect("no panic");
    }

    /// Like `kill -9`: no lane is released.
    async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

impl Fixture {
    fn new() -> Self {
        let now = Arc::new(AtomicI64::new(START));
        let clock_millis = now.clone();
        let clock = Clock::from_fn(move || Timestamp(clock_millis.load(Ordering::SeqCst)));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = open(folder.path(), &clock);
        Self {
            folder,
            store,
            clock,
            hub: Hub::default(),
            now,
            server: ServerId(Uuid::now_v7()),
            owner: UserId(Uuid::now_v7()),
        }
    }

    async fn reopen(&mut self) {
        self.store.close().await;
        self.store = open(self.folder.path(), &self.clock);
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::SeqCst))
    }

    fn advance(&self, by: Duration) {
        let millis = i64::try_from(by.as_millis()).expect("short");
        self.now.fetch_add(millis, Ordering::SeqCst);
        self.hub.wake();
    }

    fn policy(&self) -> LanePolicy {
        LanePolicy {
            poll: Duration::from_millis(5),
            drain: DEADLINE,
            ..LanePolicy::default()
        }
    }

    fn start(&self, receiver: &Arc<Receiver>) -> Running {
        self.start_with(receiver, self.policy())
    }

    fn start_with(&self, receiver: &Arc<Receiver>, policy: LanePolicy) -> Running {
        let shutdown = CancellationToken::new();
        let engine = Engine::new(
            self.store.clone(),
            self.server,
            receiver.clone(),
            policy,
            shutdown.clone(),
            self.hub.clone(),
        );
        Running {
            task: tokio::spawn(engine.run()),
            shutdown,
        }
    }

    fn sink_row(&self, owner_key: &str, name: &str, patterns: &str) -> SinkRow {
        SinkRow {
            id: SinkId(Uuid::now_v7()),
            owner_key: owner_key.to_owned(),
            owner_id: self.owner,
            name: name.to_owned(),
            description: String::new(),
            patterns: Pattern::parse_list(patterns).expect("valid"),
            kind: SinkType::Webhook,
            active: true,
            config: SinkConfig::Webhook(WebhookConfig {
                url: "http://127.0.0.1:1/".to_owned(),
                ..WebhookConfig::default()
            }),
            secret: None,
            previous_secret: None,
            previous_until: None,
            sealed_headers: None,
            sealed_client_key: None,
            policy: DeliveryPolicy::default(),
            paused: None,
            created_at: Timestamp(START),
        }
    }

    /// A sink of the fixture's owner, and its lane.
    async fn sink(&self, name: &str, patterns: &str) -> (SinkRow, LaneId) {
        self.add(self.sink_row(&sinks::owner_key(self.owner), name, patterns))
            .await
    }

    async fn global_sink(&self, name: &str, patterns: &str) -> (SinkRow, LaneId) {
        self.add(self.sink_row(GLOBAL, name, patterns)).await
    }

    async fn add(&self, row: SinkRow) -> (SinkRow, LaneId) {
        let lane = self.write({
            let row = row.clone();
            move |tx| {
                sinks::insert(tx, &row)?;
                lanes::find_by_sink(tx, row.id)
            }
        });
        (row, lane.await.expect("a webhook has a lane").id)
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut svc_store::Tx<'_>) -> Result<T, svc_store::StoreError> + Send + 'static,
    ) -> T {
        self.store.write(work).await.expect("committed")
    }

    async fn execute(&self, sql: &'static str) {
        self.write(move |tx| svc_store::testing::execute_script(tx, sql))
            .await;
    }

    /// Claims the owner's due webhook lanes as another server.
    async fn claim(&self, until: Timestamp) -> Vec<LaneLease> {
        let (key, now) = (sinks::owner_key(self.owner), self.now());
        self.write(move |tx| {
            let server = ServerId(Uuid::now_v7());
            let claim = lanes::Claim {
                kind: DeliveryKind::Webhook,
                owner_key: &key,
                limit: 10,
            };
            let claimed = lanes::claim(tx, server, &[claim], (now, until))?;
            Ok(claimed.into_iter().flat_map(|one| one.leases).collect())
        })
        .await
    }

    fn event(&self, owner: UserId, event_type: &str) -> Event {
        Event {
            id: EventId(Uuid::now_v7()),
            r#type: event_type.to_owned(),
            ts: self.now(),
            owner_id: owner,
            space_id: SpaceId::NIL,
            actor: Actor::system(),
            data: JsonText::from(&json!({})),
            trace: None,
        }
    }

    /// Emits an event of the fixture's owner.
    async fn emit(&self, event_type: &str) -> EventId {
        self.emit_of(self.owner, event_type).await
    }

    async fn emit_of(&self, owner: UserId, event_type: &str) -> EventId {
        let event = Arc::new(self.event(owner, event_type));
        let writing = event.clone();
        self.write(move |tx| emit_in(tx, &writing)).await;
        self.hub.committed(std::slice::from_ref(&event));
        event.id
    }

    /// Emits events in one transaction.
    async fn emit_many(&self, count: usize) {
        let events: Vec<_> = (0..count)
            .map(|_| Arc::new(self.event(self.owner, "custom.x")))
            .collect();
        let writing = events.clone();
        self.write(move |tx| {
            writing
                .iter()
                .try_for_each(|event| emit_in(tx, event).map(drop))
        })
        .await;
        self.hub.committed(&events);
    }

    /// The deliveries of a lane, oldest first.
    async fn deliveries(&self, lane: LaneId) -> Vec<Delivery> {
        let page = DeliveryPage::parse(None, Some(1_000)).expect("valid");
        let mut listed = self
            .write(move |tx| deliveries::list(tx, lane, None, page))
            .await
            .items;
        listed.reverse();
        listed
    }

    async fn depth(&self, sink: &SinkRow) -> u32 {
        let id = sink.id;
        self.write(move |tx| sinks::status(tx, id))
            .await
            .queue_depth
    }

    async fn until_empty(&self, sinks: &[&SinkRow]) {
        let deadline = Instant::now() + DEADLINE;
        for sink in sinks {
            while self.depth(sink).await > 0 {
                assert!(Instant::now() < deadline, "`{}` never empties", sink.name);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// Wakes the engine again and again for 300 ms, and checks that it writes nothing.
    async fn expect_no_writes(&self) {
        let before = self.store.stats().commits;
        let end = Instant::now() + Duration::from_millis(300);
        while Instant::now() < end {
            self.hub.wake();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(self.store.stats().commits, before);
    }

    async fn audited(&self, action: &str) -> usize {
        let filter = AuditQuery {
            action: Some(action.to_owned()),
            ..AuditQuery::default()
        };
        let page = PageRequest::parse(None, Some(1_000)).expect("valid");
        let listed = self.write(move |tx| audit::list(tx, &filter, page)).await;
        listed.items.len()
    }
}
