//! Emitting, on a real store.

use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};
use svc_core::{Permissions, Timestamp, UserId, UserName, event::ActorKind};

use super::*;
use crate::{
    identity::User,
    store::{PageRequest, events},
};

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
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("opens");
        let hub = Hub::new();
        let now = Arc::new(AtomicI64::new(1_700_000_000_000));
        let told = now.clone();
        let clock = Clock::from_fn(move || Timestamp(told.load(Ordering::SeqCst)));
        Self {
            emitter: Emitter::new(store.clone(), hub.clone(), clock, per_second),
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
    ) -> Result<Emitted, EmitServiceError> {
        let emit = Emit {
            r#type: event_type.to_owned(),
            payload,
        };
        self.emitter.emit(&self.caller, emit, key).await
    }

    async fn stored(&self) -> Vec<events::StoredEvent> {
        let listing = self
            .store
            .read(|tx| events::list(tx, &events::Filter::default(), PageRequest::default()));
        listing.await.expect("read").items
    }
}

fn caller() -> Caller {
    Caller::process(Arc::new(User {
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
    let mut stream = fixture.hub.subscribe();
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
    assert_eq!(stream.try_recv().expect("told").id, event.event_id);
}

#[tokio::test]
async fn an_event_from_an_agent_has_its_space() {
    let mut fixture = Fixture::new(None);
    let space_id = SpaceId(Uuid::now_v7());
    fixture.caller.credential = Credential::Agent { space_id };
    fixture.emit("x", json!({}), None).await.expect("emitted");
    let event = fixture.stored().await.remove(0);
    assert_eq!(event.space_id, space_id);
    assert_eq!(event.actor.kind, ActorKind::Agent);
}

#[tokio::test]
async fn a_key_used_again_answers_the_same_event() {
    let fixture = Fixture::new(None);
    let first = fixture.emit("x", json!({"a": 1}), Some("k")).await;
    let again = fixture.emit("x", json!({"a": 1}), Some("k")).await;
    assert_eq!(first, again);
    let other = fixture.emit("x", json!({"a": 2}), Some("k")).await;
    assert_eq!(other, Err(EmitServiceError::IdempotencyConflict));
    assert_eq!(fixture.stored().await.len(), 1);
    // The key is free again after a day.
    let day = i64::try_from(KEY_LIFE.as_millis()).expect("short");
    fixture.now.fetch_add(day, Ordering::SeqCst);
    let later = fixture.emit("x", json!({"a": 2}), Some("k")).await;
    assert_ne!(later.expect("emitted"), first.expect("emitted"));
    assert_eq!(fixture.stored().await.len(), 2);
}

#[tokio::test]
async fn the_same_key_at_the_same_time_makes_one_event() {
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
async fn bad_keys_types_and_payloads_are_refused() {
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
async fn a_user_over_their_limit_is_told_when_to_come_back() {
    let fixture = Fixture::new(Some(2));
    for _ in 0..2 {
        fixture.emit("x", json!({}), None).await.expect("emitted");
    }
    let refused = fixture.emit("x", json!({}), None).await;
    assert!(matches!(refused, Err(EmitServiceError::OverLimit(_))));
}
