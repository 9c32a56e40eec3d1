//! The run of one seed: steps that disturb the servers, then a quiet time in which everything must
//! be delivered.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::json;
use svc_clock::Clock;
use svc_core::{
    EventId, LaneId, SinkId, SpaceId, Timestamp, UserId,
    delivery_policy::{DeliveryPolicy, Overflow},
    event::{Actor, Event},
    json_text::JsonText,
    lane::QUEUE_CAPACITY,
    pattern::Pattern,
};
use svc_protocol::api::{ScriptConfig, SinkType, WebhookConfig};
use svc_simulation::{Random, Trace};
use svc_store::{
    Store, StoreError, Tx, lanes, records,
    simulated::{PlantedFault, SimulatedDatabase},
    sinks::{self, SinkConfig, SinkRow},
};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{
    journal::Journal,
    receiver::{Mood, Receivers},
    server::{ServerRun, SimulatedServer, Zone},
};
use crate::events::lanes::{LanePolicy, Retention, tests::START};

/// A rule that is broken on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    Store(PlantedFault),
    /// A wake-up is lost if the engine does not wait for one at that moment.
    LostWakeUp,
}

/// Time between two scans of the engine. Long, so that a lost wake-up delays a delivery visibly.
const POLL: Duration = Duration::from_secs(60);
const STEPS: u64 = 40;
const FAILING_COMMITS_PERCENT: u64 = 2;
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub struct World {
    pub random: Random,
    pub zone: Zone,
    pub servers: Vec<Option<SimulatedServer>>,
    starts: u64,
    events: u64,
    emitters: u64,
    owner: UserId,
    /// The sinks, in the order in which the journal numbers their lanes.
    pub sinks: Vec<SinkId>,
}

impl World {
    /// Runs the simulation of a seed, and returns its trace.
    pub async fn run(seed: u64, fault: Option<Fault>) -> Arc<Trace> {
        let mut world = Self::new(seed, fault);
        let trace = world.journal().trace.clone();
        for server in 0..world.servers.len() {
            world.start(server);
        }
        world.add_sinks().await;
        for _ in 0..STEPS {
            world.step().await;
            if trace.is_broken() {
                break;
            }
        }
        if !trace.is_broken() {
            world.settle().await;
        }
        for server in 0..world.servers.len() {
            world.kill(server).await;
        }
        trace
    }

    fn new(seed: u64, fault: Option<Fault>) -> Self {
        let began = Instant::now();
        let clock = Clock::from_fn(move || Timestamp(START).plus(began.elapsed()));
        let planted = match fault {
            Some(Fault::Store(planted)) => Some(planted),
            _ => None,
        };
        let policy = LanePolicy {
            poll: POLL,
            retention: Retention {
                every: YEAR,
                removal_every: YEAR,
                ..Retention::default()
            },
            ..LanePolicy::default()
        };
        let mut random = Random::new(seed);
        let servers = 1 + random.index(3);
        Self {
            random,
            zone: Zone {
                database: SimulatedDatabase::open(clock, planted).expect("a database in memory"),
                receivers: Receivers {
                    journal: Arc::new(Journal::new()),
                    mood: Arc::new(Mutex::new(Mood::Usual)),
                    lanes: Arc::default(),
                },
                policy,
                failing_commits: Arc::new(Mutex::new(FAILING_COMMITS_PERCENT)),
                loses_wake_ups: fault == Some(Fault::LostWakeUp),
            },
            servers: (0..servers).map(|_| None).collect(),
            starts: 0,
            events: 0,
            emitters: 0,
            owner: UserId(Uuid::from_u128(77)),
            sinks: Vec::new(),
        }
    }

    pub fn journal(&self) -> &Arc<Journal> {
        &self.zone.receivers.journal
    }

    fn start(&mut self, server: usize) {
        if self.servers[server].is_some() {
            return;
        }
        self.starts += 1;
        let run = ServerRun::new(server, self.starts);
        self.journal().note(&format!("{run} starts"));
        let started = SimulatedServer::start(&self.zone, run, &mut self.random);
        self.servers[server] = Some(started);
    }

    async fn kill(&mut self, server: usize) {
        if let Some(running) = self.servers[server].take() {
            self.journal().note(&format!("{} is killed", running.run));
            running.kill().await;
        }
    }

    async fn stop(&mut self, server: usize) {
        if let Some(running) = self.servers[server].take() {
            self.journal().note(&format!("{} is stopped", running.run));
            running.stop().await;
        }
    }

    /// Adds sinks of different kinds, and notes their lanes.
    async fn add_sinks(&mut self) {
        let count = 1 + self.random.index(3);
        for number in 0..count {
            let row = self.sink_row(number);
            let lane = loop {
                let (row, store) = (row.clone(), self.store());
                let adding = store.write(move |tx| {
                    // A commit that failed may have stored the sink.
                    if records::find::<SinkRow>(tx, row.id)?.is_none() {
                        sinks::insert(tx, &row)?;
                    }
                    lanes::find_by_sink(tx, row.id)
                });
                if let Ok(lane) = adding.await {
                    break lane.expect("the sink has a lane").id;
                }
            };
            self.add_lane(row.id, lane);
        }
    }

    fn add_lane(&mut self, sink: SinkId, lane: LaneId) {
        self.sinks.push(sink);
        self.zone.receivers.lanes.lock().push(lane);
    }

    /// A random sink. A webhook may get its next event before the result of the previous one is
    /// recorded; a script does not. Some sinks drop events when their queue is full, others hold
    /// them.
    fn sink_row(&mut self, number: usize) -> SinkRow {
        let is_webhook = self.random.is_chance(60);
        let patterns = ["custom.*", "custom.a", "custom.b"][self.random.index(3)];
        let overflow = match self.random.is_chance(70) {
            true => Overflow::Drop,
            false => Overflow::Hold,
        };
        SinkRow {
            id: SinkId(Uuid::from_u128(100 + number as u128)),
            owner_key: sinks::owner_key(self.owner),
            owner_id: self.owner,
            name: format!("sink-{number}"),
            description: String::new(),
            patterns: Pattern::parse_list(patterns).expect("valid"),
            kind: match is_webhook {
                true => SinkType::Webhook,
                false => SinkType::Script,
            },
            active: true,
            config: match is_webhook {
                true => SinkConfig::Webhook(WebhookConfig {
                    url: "http://127.0.0.1:1/".to_owned(),
                    ..WebhookConfig::default()
                }),
                false => SinkConfig::Script(ScriptConfig {
                    script_id: None,
                    source: Some("pass".to_owned()),
                }),
            },
            secret: None,
            previous_secret: None,
            previous_until: None,
            sealed_headers: None,
            sealed_client_key: None,
            policy: DeliveryPolicy {
                overflow,
                ..DeliveryPolicy::default()
            },
            paused: None,
            created_at: Timestamp(START),
        }
    }

    /// The store of a server that runs.
    fn store(&self) -> Store {
        let mut running = self.servers.iter().flatten();
        running.next().expect("a server runs").store.clone()
    }

    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.store().read(work).await.expect("reads do not fail")
    }

    async fn step(&mut self) {
        let server = self.random.index(self.servers.len());
        match self.random.below(100) {
            0..35 => {
                let count = 1 + self.random.below(5);
                self.emit(server, count);
            }
            35..36 => self.emit(server, u64::from(QUEUE_CAPACITY) + 20),
            36..45 => {
                self.emit(server, 2);
                sleep(self.random.time_below(Duration::from_millis(20))).await;
                self.kill(server).await;
            }
            45..50 => self.kill(server).await,
            50..54 => self.stop(server).await,
            54..70 => self.start(server),
            70..78 => self.freeze(server),
            78..90 => self.change_mood(),
            _ => sleep(self.random.time_below(Duration::from_secs(60))).await,
        }
        sleep(self.random.time_below(Duration::from_secs(2))).await;
        self.check_lanes().await;
    }

    fn freeze(&mut self, server: usize) {
        let time = self.random.time_below(Duration::from_secs(90));
        if let Some(running) = &self.servers[server] {
            self.journal()
                .note(&format!("{} is frozen for {time:?}", running.run));
            running.run.freeze(time);
        }
    }

    /// Changes how receivers behave. Sometimes also wakes all lanes, as if the receivers were
    /// available again.
    fn change_mood(&mut self) {
        let mood = Mood::ALL[self.random.index(Mood::ALL.len())];
        self.journal().note(&format!("receivers are {mood:?}"));
        *self.zone.receivers.mood.lock() = mood;
        if self.random.is_chance(50) {
            for server in self.servers.iter().flatten() {
                for lane in &*self.zone.receivers.lanes.lock() {
                    server.hub.wake_lane(*lane);
                }
            }
        }
    }

    /// Lets a server emit events, unless it is frozen or does not run.
    pub fn emit(&mut self, server: usize, count: u64) {
        let is_awake = |server: &SimulatedServer| server.run.frozen_for().is_zero();
        if !self.servers[server].as_ref().is_some_and(is_awake) {
            return;
        }
        let events = (0..count).map(|_| self.new_event()).collect();
        self.emitters += 1;
        let emitter = self.emitters;
        self.journal()
            .note(&format!("server {server} emits {count} events"));
        if let Some(running) = &mut self.servers[server] {
            running.emit(events, emitter);
        }
    }

    fn new_event(&mut self) -> Arc<Event> {
        self.events += 1;
        let types = ["custom.a", "custom.b"];
        Arc::new(Event {
            id: EventId(Uuid::from_u128(u128::from(self.events))),
            r#type: types[self.random.index(types.len())].to_owned(),
            ts: Timestamp(START),
            owner_id: self.owner,
            space_id: SpaceId::NIL,
            actor: Actor::system(),
            data: JsonText::from(&json!({})),
            trace: None,
        })
    }

    /// Ends all disturbances, waits until every delivery has ended, and checks the promises of the
    /// delivery engine.
    async fn settle(&mut self) {
        self.journal().note("all disturbances end");
        *self.zone.receivers.mood.lock() = Mood::Healthy;
        *self.zone.failing_commits.lock() = 0;
        for server in 0..self.servers.len() {
            self.start(server);
        }
        for server in self.servers.iter_mut().flatten() {
            server.run.wait_while_frozen().await;
            server.finish_emits().await;
        }
        if self.drain().await {
            self.check_end().await;
            self.check_prompt().await;
        }
    }
}
