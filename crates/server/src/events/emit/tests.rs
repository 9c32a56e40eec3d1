//! Emitting, on a real store.

use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};
use svc_core::{
    Permissions, SinkId, Timestamp, UserId, UserName,
    delivery_policy::DeliveryPolicy,
    event::{Actor, ActorKind},
    json_text::JsonText,
    pattern::Pattern,
    quota::Quota,
    subscription::Subscription,
};
use svc_protocol::api::{EventRecord, SinkType, WebhookConfig};
use svc_store::{
    PageRequest, events,
    sinks::{self, SinkConfig, SinkRow},
    testing,
};
use uuid::Uuid;

use super::{command::KEY_LIFE, *};
use crate::{
    events::{dispatch::emit_in, subscriptions},
    identity::User,
};

mod concurrent;
mod texts;
mod together;

struct Fixture {
    _folder: tempfile::TempDir,
    store: Store,
    hub: Hub,
    emitter: Emitter,
    caller: Caller,
    now: Arc<AtomicI64>,
}

impl Fixture {
    fn new(per_second: Option<u32>) -> Self {
        Self::with(per_second, StorageLimits::default())
    }

    fn with(per_second: Option<u32>, storage: StorageLimits) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("opens");
        let hub = Hub::default();
        let now = Arc::new(AtomicI64::new(1_700_000_000_000));
        let clock_millis = now.clone();
        let clock = Clock::from_fn(move || Timestamp(clock_millis.load(Ordering::SeqCst)));
        Self {
            emitter: Emitter::new(
                store.clone(),
                Arc::new(Directory::empty()),
                hub.clone(),
                clock,
                per_second,
                storage,
                Arc::new(Traces::off()),
            ),
            _folder: folder,
            store,
            hub,
            caller: caller(),
            now,
        }
    }

    async fn emit(
        &self,
        event_type: &str,
        payload: Value,
        key: Option<&str>,
    ) -> Result<EmittedEvent, EmitServiceError> {
        let emit = Emit {
            r#type: event_type.to_owned(),
            payload: JsonText::from(&payload).into_raw(),
        };
        self.emitter.emit(&self.caller, emit, key).await
    }

    async fn stored(&self) -> Vec<EventRecord> {
        let listing = self
            .store
            .read(|tx| events::list(tx, &events::Filter::default(), PageRequest::default()));
        listing.await.expect("read").items
    }
}

fn caller() -> Caller {
    Caller::process(Arc::new(User {
        quota_overrides: Default::default(),
        has_second_factor: false,
        id: UserId(Uuid::now_v7()),
        name: UserName::parse("ada").expect("valid"),
        active: true,
        created_at: Timestamp(0),
        permissions: Permissions::default(),
        role_names: Vec::new(),
        groups: Vec::new(),
        group_names: Vec::new(),
    }))
}

#[tokio::test]
async fn an_event_from_the_server_has_no_space_and_belongs_to_its_caller() {
    let fixture = Fixture::new(None);
    let mut stream = fixture.hub.subscribe(None);
    let emitted = fixture
        .emit("space.created", json!({"a": 1}), None)
        .await
        .expect("emitted");
    assert_eq!(emitted.event_type, "custom.space.created");
    let event = fixture.stored().await.remove(0);
    assert_eq!(event.event_id, emitted.event_id);
    assert_eq!(event.space_id, SpaceId::NIL);
    assert_eq!(event.owner_id, fixture.caller.user.id);
    assert_eq!(event.actor.kind, ActorKind::User);
    assert_eq!(stream.next().await.expect("streamed").id, event.event_id);
}

#[tokio::test]
async fn an_event_from_an_agent_has_its_space() {
    let mut fixture = Fixture::new(None);
    let space_id = SpaceId(Uuid::now_v7());
    fixture.caller.credential = Credential::Agent {
        space_id,
        stopped: false,
    };
    fixture.emit("x", json!({}), None).await.expect("emitted");
    let event = fixture.stored().await.remove(0);
    assert_eq!(event.space_id, space_id);
    assert_eq!(event.actor.kind, ActorKind::Agent);
}

#[tokio::test]
async fn a_repeated_idempotency_key_returns_the_same_event() {
    let fixture = Fixture::new(None);
    let first = fixture.emit("x", json!({"a": 1}), Some("k")).await;
    let again = fixture.emit("x", json!({"a": 1}), Some("k")).await;
    assert_eq!(first, again);
    let other = fixture.emit("x", json!({"a": 2}), Some("k")).await;
    assert_eq!(other, Err(EmitServiceError::IdempotencyConflict));
    assert_eq!(fixture.stored().await.len(), 1);
    // After a day the key can be used again.
    let day = i64::try_from(KEY_LIFE.as_millis()).expect("short");
    fixture.now.fetch_add(day, Ordering::SeqCst);
    let later = fixture.emit("x", json!({"a": 2}), Some("k")).await;
    assert_ne!(later.expect("emitted"), first.expect("emitted"));
    assert_eq!(fixture.stored().await.len(), 2);
}

#[tokio::test]
async fn concurrent_emits_with_the_same_key_create_one_event() {
    let fixture = Fixture::new(None);
    let emits: Vec<_> = (0..20)
        .map(|_| fixture.emit("x", json!({}), Some("k")))
        .collect();
    let answers = futures_util::future::join_all(emits).await;
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    assert_eq!(fixture.stored().await.len(), 1);
}

#[tokio::test]
async fn invalid_keys_types_and_payloads_are_refused() {
    let fixture = Fixture::new(None);
    for key in ["", "a b", "ä", &"x".repeat(256)] {
        let refused = fixture.emit("x", json!({}), Some(key)).await;
        assert_eq!(refused, Err(EmitServiceError::InvalidKey), "{key}");
    }
    for (event_type, payload) in [("a b", json!({})), ("x", json!([]))] {
        let refused = fixture.emit(event_type, payload, None).await;
        assert!(matches!(refused, Err(EmitServiceError::Invalid(_))));
    }
    assert!(fixture.stored().await.is_empty());
}

#[tokio::test]
async fn an_emit_over_the_rate_limit_is_refused() {
    let fixture = Fixture::new(Some(2));
    // All at once, because a busy machine may store two events in more than a second.
    let emits = (0..20).map(|_| fixture.emit("x", json!({}), None));
    let results = futures_util::future::join_all(emits).await;
    assert!(results[..2].iter().all(Result::is_ok), "{results:?}");
    let is_refused = |result: &Result<EmittedEvent, EmitServiceError>| {
        matches!(result, Err(EmitServiceError::OverLimit(_)))
    };
    assert!(results.iter().any(is_refused), "{results:?}");
}

fn storage(event_bytes: u64) -> StorageLimits {
    StorageLimits {
        quotas: Quotas {
            event_bytes,
            ..Quotas::default()
        },
        server_bytes: 1 << 20,
    }
}

/// Adds a webhook sink. Its events stay queued, because no delivery engine runs.
async fn add_sink(fixture: &Fixture, owner_key: String) -> SinkId {
    let row = webhook_row(fixture.caller.user.id, owner_key, "s");
    let id = row.id;
    let inserting = fixture.store.write(move |tx| sinks::insert(tx, &row));
    inserting.await.expect("committed");
    id
}

fn webhook_row(owner_id: UserId, owner_key: String, name: &str) -> SinkRow {
    SinkRow {
        id: SinkId(Uuid::now_v7()),
        owner_key,
        owner_id,
        name: name.to_owned(),
        description: String::new(),
        patterns: Pattern::parse_list("*").expect("valid"),
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
        created_at: Timestamp(0),
    }
}

#[tokio::test]
async fn the_oldest_events_are_removed_when_the_quota_event_bytes_is_exceeded() {
    let fixture = Fixture::with(None, storage(10_000));
    let mut last = None;
    for n in 0..100 {
        last = Some(
            fixture
                .emit("x", json!({ "n": n }), None)
                .await
                .expect("emitted"),
        );
    }
    let stored = fixture.stored().await;
    assert!((10..20).contains(&stored.len()), "{}", stored.len());
    assert_eq!(stored[0].event_id, last.expect("one").event_id);
}

#[tokio::test]
async fn an_emit_over_the_quota_is_refused_when_no_event_can_be_removed() {
    let fixture = Fixture::with(None, storage(10_000));
    add_sink(&fixture, sinks::owner_key(fixture.caller.user.id)).await;
    let refused = loop {
        match fixture.emit("x", json!({}), None).await {
            Ok(_) => assert!(fixture.stored().await.len() < 30, "never refused"),
            Err(error) => break error,
        }
    };
    let EmitServiceError::Quota(exceeded) = refused else {
        panic!("{refused}");
    };
    assert_eq!(
        (exceeded.quota, exceeded.limit),
        (Quota::EventBytes, 10_000)
    );
    let before = fixture.stored().await.len();
    // System events are never refused.
    let event = Event {
        id: EventId(Uuid::now_v7()),
        r#type: "space.started".to_owned(),
        ts: Timestamp(0),
        owner_id: fixture.caller.user.id,
        space_id: SpaceId::NIL,
        actor: Actor::system(),
        data: JsonText::from(&json!({})),
        trace: None,
    };
    let emitting = fixture.store.write(move |tx| emit_in(tx, &event));
    emitting.await.expect("committed");
    assert_eq!(fixture.stored().await.len(), before + 1);
    // Delivered events can be removed.
    let delivering = fixture.store.write(|tx| {
        testing::execute_script(
            tx,
            "UPDATE deliveries SET state = 'delivered'; UPDATE lanes SET depth = 0",
        )
    });
    delivering.await.expect("committed");
    let deadline = Instant::now() + Duration::from_secs(60);
    while fixture.emit("x", json!({}), None).await.is_err() {
        assert!(Instant::now() < deadline, "still refused");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn events_that_wait_for_a_global_sink_use_no_quota_of_the_emitter() {
    let fixture = Fixture::with(None, storage(10_000));
    add_sink(&fixture, sinks::GLOBAL.to_owned()).await;
    // The queue of the sink holds 100 events, so it drops none of these 90.
    for _ in 0..90 {
        fixture.emit("x", json!({}), None).await.expect("emitted");
    }
    assert_eq!(fixture.stored().await.len(), 90);
}

/// Subscribes this many methods of the fixture's user.
async fn subscribe(fixture: &Fixture, methods: usize, patterns: fn(usize) -> String) {
    let owner = fixture.caller.user.id;
    let subscriptions: Vec<_> = (0..methods)
        .map(|n| Subscription {
            method: svc_core::CanonicalName::parse(&format!("m{n}")).expect("valid"),
            patterns: Pattern::parse_list(&patterns(n)).expect("valid"),
            formatters: Vec::new(),
            holds: false,
        })
        .collect();
    let space = SpaceId(Uuid::now_v7());
    let declaring = fixture
        .store
        .write(move |tx| subscriptions::declare(tx, owner, space, &subscriptions));
    declaring.await.expect("committed");
}

fn all_events(_: usize) -> String {
    "*".to_owned()
}

#[tokio::test]
async fn an_event_for_many_lanes_uses_more_of_the_rate_limit() {
    // The first event uses the emits of about 50 seconds, so also a slow second emit is refused.
    let fixture = Fixture::with(Some(1), StorageLimits::default());
    subscribe(&fixture, 300, all_events).await;
    fixture.emit("x", json!({}), None).await.expect("emitted");
    let refused = fixture.emit("x", json!({}), None).await;
    let Err(EmitServiceError::OverLimit(over)) = refused else {
        panic!("{refused:?}");
    };
    assert!(over.retry_after > Duration::from_secs(1), "{over:?}");
}

#[tokio::test]
async fn of_events_for_many_lanes_that_arrive_together_only_the_first_is_written() {
    // The first event uses the emits of more than 20 seconds. All events had a token before.
    let fixture = Fixture::with(Some(10), StorageLimits::default());
    subscribe(&fixture, 1_000, all_events).await;
    let types: Vec<_> = (0..10).map(|n| format!("x{n}")).collect();
    let emits = types
        .iter()
        .map(|event_type| fixture.emit(event_type, json!({}), None));
    let results = futures_util::future::join_all(emits).await;
    let refused = results
        .iter()
        .filter(|result| matches!(result, Err(EmitServiceError::OverLimit(_))));
    assert_eq!(refused.count(), 9, "{results:?}");
    assert_eq!(fixture.stored().await.len(), 1);
}

#[tokio::test]
async fn lanes_that_do_not_match_cost_nothing() {
    let fixture = Fixture::with(Some(10), StorageLimits::default());
    subscribe(&fixture, 1_000, |n| format!("custom.other{n}.*")).await;
    for _ in 0..10 {
        fixture.emit("x", json!({}), None).await.expect("emitted");
    }
}
