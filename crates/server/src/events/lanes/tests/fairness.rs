//! Many lanes of one owner do not delay deliveries of another owner.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_core::{
    CanonicalName, LaneId, SpaceId, UserId, event::Event, pattern::Pattern,
    subscription::Subscription,
};
use svc_protocol::api::{ScriptConfig, SinkType};
use svc_store::sinks::{self, GLOBAL, SinkConfig, SinkRow};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    AttemptDetail, AttemptResult, Deliver, Engine, FilterResult, Fixture, Job, LanePolicy, Running,
    filter_events, until,
};
use crate::events::{lanes::Destination, subscriptions};

/// Delivers at once, except for one owner: that owner's deliveries wait until `let_go` is set.
struct HangingReceiver {
    owner: UserId,
    /// Owners and lanes of attempts, in the order in which they began.
    began: Mutex<Vec<(UserId, LaneId)>>,
    let_go: watch::Sender<bool>,
}

impl HangingReceiver {
    fn new(owner: UserId) -> Arc<Self> {
        Arc::new(Self {
            owner,
            began: Mutex::default(),
            let_go: watch::Sender::new(false),
        })
    }

    /// How many attempts began for an owner.
    fn began(&self, owner: UserId) -> usize {
        let began = self.began.lock();
        began.iter().filter(|(whose, _)| *whose == owner).count()
    }
}

impl Deliver for HangingReceiver {
    async fn keys(&self, _: &SinkRow, events: Vec<Event>) -> Result<Vec<String>, String> {
        Ok(vec![String::new(); events.len()])
    }

    async fn filter(
        &self,
        _: UserId,
        filter: String,
        events: Vec<Event>,
    ) -> Result<Vec<FilterResult>, String> {
        Ok(filter_events(&filter, &events))
    }

    async fn deliver(&self, job: Job) -> AttemptResult {
        let owner = match &job.destination {
            Destination::Sink(sink) => sink.owner_id,
            Destination::Method { owner_id, .. } => *owner_id,
        };
        self.began.lock().push((owner, job.lane));
        if owner == self.owner {
            let mut let_go = self.let_go.subscribe();
            let _ = let_go.wait_for(|go| *go).await;
        }
        AttemptResult::Delivered(AttemptDetail::default())
    }
}

fn start(fixture: &Fixture, deliver: &Arc<HangingReceiver>) -> Running {
    let shutdown = CancellationToken::new();
    let policy = LanePolicy {
        drain: Duration::ZERO,
        ..fixture.policy()
    };
    let engine = Engine::new(
        fixture.store.clone(),
        fixture.server,
        deliver.clone(),
        policy,
        shutdown.clone(),
        fixture.hub.clone(),
    );
    Running {
        task: tokio::spawn(engine.run()),
        shutdown,
    }
}

/// A user with a space linked to this server, whose registration subscribes this many methods.
async fn subscriber(fixture: &Fixture, methods: usize) -> UserId {
    let (owner, space) = (UserId(Uuid::now_v7()), SpaceId(Uuid::now_v7()));
    let subscriptions: Vec<_> = (0..methods)
        .map(|n| Subscription {
            method: CanonicalName::parse(&format!("m{n}")).expect("valid"),
            patterns: Pattern::parse_list("*").expect("valid"),
            formatters: Vec::new(),
            holds: false,
        })
        .collect();
    let server = fixture.server;
    fixture
        .write(move |tx| {
            let owner_and_space = format!(
                "INSERT INTO users (id, username, password_hash, active, created_at)
                     VALUES ('{owner}', '{owner}', '', 1, 0);
                 INSERT INTO spaces (id, name, owner_id, state, health, runtime, health_check,
                     node_id, space_urls, created_at)
                     VALUES ('{space}', 'lab', '{owner}', 'deployed', 'unknown', 'external', '{{}}',
                         '{server}', '{{}}', 0)"
            );
            svc_store::testing::execute_script(tx, &owner_and_space)?;
            subscriptions::declare(tx, owner, space, &subscriptions)
        })
        .await;
    owner
}

async fn sink_of(fixture: &Fixture, owner: UserId, kind: SinkType) -> (SinkRow, LaneId) {
    let name = format!("{kind:?}").to_lowercase();
    let mut row = fixture.sink_row(&sinks::owner_key(owner), &name, "*");
    row.owner_id = owner;
    row.kind = kind;
    if kind == SinkType::Script {
        row.config = SinkConfig::Script(ScriptConfig {
            script_id: None,
            source: Some("pass".to_owned()),
        });
    }
    fixture.add(row).await
}

async fn emit_of(fixture: &Fixture, owner: UserId) {
    fixture.emit_of(owner, "custom.x").await;
}

#[tokio::test]
async fn three_hundred_methods_that_never_answer_delay_no_other_owner() {
    let fixture = Fixture::new();
    let mallory = subscriber(&fixture, 300).await;
    let ann = subscriber(&fixture, 1).await;
    sink_of(&fixture, ann, SinkType::Webhook).await;
    sink_of(&fixture, ann, SinkType::Script).await;
    let deliver = HangingReceiver::new(mallory);
    let running = start(&fixture, &deliver);
    emit_of(&fixture, mallory).await;
    until("mallory uses all slots that she may use", || {
        deliver.began(mallory) == 256
    })
    .await;
    for round in 1..=3 {
        emit_of(&fixture, ann).await;
        until("each of ann's receivers has its attempt", || {
            deliver.began(ann) == 3 * round
        })
        .await;
    }
    assert_eq!(deliver.began(mallory), 256, "a quarter of the slots");
    // Waiting lanes continue when slots are released.
    deliver.let_go.send_replace(true);
    until("mallory's other methods have their attempts", || {
        deliver.began(mallory) == 300
    })
    .await;
    running.stop().await;
}

#[tokio::test]
async fn ten_thousand_due_lanes_of_an_owner_without_slots_cost_no_write() {
    let fixture = Fixture::new();
    let mallory = subscriber(&fixture, 10_000).await;
    let deliver = HangingReceiver::new(mallory);
    let running = start(&fixture, &deliver);
    emit_of(&fixture, mallory).await;
    until("mallory uses her slots", || deliver.began(mallory) == 256).await;
    fixture.expect_no_writes().await;
    assert_eq!(deliver.began(mallory), 256);
    running.stop().await;
}

/// All global sinks together are one owner.
#[tokio::test]
async fn global_sinks_use_no_slots_of_their_creator() {
    let fixture = Fixture::new();
    let (admin, ann) = (UserId(Uuid::now_v7()), UserId(Uuid::now_v7()));
    let rows: Vec<_> = (0..300)
        .map(|n| {
            let mut row = fixture.sink_row(GLOBAL, &format!("g{n}"), "*");
            row.owner_id = admin;
            row
        })
        .collect();
    fixture
        .write(move |tx| rows.iter().try_for_each(|row| sinks::insert(tx, row)))
        .await;
    let deliver = HangingReceiver::new(admin);
    let running = start(&fixture, &deliver);
    emit_of(&fixture, ann).await;
    until("the server's slots are in use", || {
        deliver.began(admin) == 128
    })
    .await;
    let (_, own) = sink_of(&fixture, admin, SinkType::Webhook).await;
    sink_of(&fixture, ann, SinkType::Webhook).await;
    emit_of(&fixture, admin).await;
    emit_of(&fixture, ann).await;
    until("the users' own sinks have their attempts", || {
        let began = deliver.began.lock();
        began.contains(&(admin, own)) && began.iter().any(|(owner, _)| *owner == ann)
    })
    .await;
    running.stop().await;
}
