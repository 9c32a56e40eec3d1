use std::time::Duration;

use serde_json::json;
use svc_clock::Clock;
use svc_core::{Quotas, SpaceId, event::Actor, json_text::JsonText};
use svc_protocol::api::{NewToken, NewUser};
use tokio::time::timeout;
use uuid::Uuid;

use super::*;
use crate::{
    events::dispatch::emit_in,
    identity::{Identity, PasswordPolicy, Policy},
    records::RecordError,
};

const DEADLINE: Duration = Duration::from_secs(60);

struct Fixture {
    history: History,
    identity: Identity,
    _folder: tempfile::TempDir,
}

impl Fixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("opens");
        let policy = Policy {
            password: PasswordPolicy {
                memory_kib: 64,
                passes: 1,
                ..PasswordPolicy::default()
            },
            ..Policy::default()
        };
        let identity = Identity::load(store.clone(), policy, Quotas::default(), Clock::system())
            .await
            .expect("loads");
        let made = identity.ensure_admin("correct horse".into()).await;
        assert_eq!(made, Ok(true));
        let history = History {
            store,
            directory: identity.directory().clone(),
            hub: Hub::default(),
            streams: Streams::new(Quotas::default()),
            shutdown: CancellationToken::new(),
        };
        Self {
            history,
            identity,
            _folder: folder,
        }
    }

    /// A user with a new token. Creates the user, except `admin`, which exists.
    async fn caller(&self, name: &str) -> Caller {
        let directory = &self.history.directory;
        let admin = directory.find_user_by_name("admin").expect("there");
        if name != "admin" {
            let new: NewUser =
                serde_json::from_value(json!({"username": name, "password": "correct horse"}))
                    .expect("a user");
            let admin = Caller::process(admin);
            let made = self.identity.create_user(&admin, new).await;
            made.expect("created");
        }
        let user = directory.find_user_by_name(name).expect("there");
        let new = NewToken {
            name: "test".to_owned(),
            ..NewToken::default()
        };
        let owner = Caller::process(user);
        let token = self.identity.create_token(&owner, new).await;
        let token = token.expect("created").token.expect("shown");
        directory
            .authenticate(&token, svc_clock::now())
            .expect("let in")
    }

    async fn emit(&self, owner: &Caller, event_type: &str) -> Arc<Event> {
        let event = Event {
            id: EventId(Uuid::now_v7()),
            r#type: event_type.to_owned(),
            ts: svc_clock::now(),
            owner_id: owner.user.id,
            space_id: SpaceId::NIL,
            actor: Actor::system(),
            data: JsonText::from(&json!({})),
            trace: None,
        };
        let stored = event.clone();
        let write = self.history.store.write(move |tx| emit_in(tx, &stored));
        write.await.expect("emitted");
        let event = Arc::new(event);
        self.history.hub.committed(std::slice::from_ref(&event));
        event
    }
}

async fn next(stream: &mut Stream) -> Option<StreamItem> {
    timeout(DEADLINE, stream.next()).await.expect("in time")
}

#[tokio::test]
async fn users_see_their_own_events_and_auditors_see_all_events() {
    let fixture = Fixture::new().await;
    let (admin, ann) = (fixture.caller("admin").await, fixture.caller("ann").await);
    let of_admin = fixture.emit(&admin, "custom.a").await;
    let of_ann = fixture.emit(&ann, "custom.b").await;
    let list = async |caller: &Caller, pattern: Option<&str>| {
        let query = EventQuery {
            r#type: pattern.map(str::to_owned),
            ..EventQuery::default()
        };
        let page = fixture.history.list(caller, query, PageRequest::default());
        let events = page.await.expect("listed").items;
        events
            .iter()
            .map(|event| event.event_id)
            .collect::<Vec<_>>()
    };
    assert_eq!(list(&ann, None).await, [of_ann.id]);
    assert_eq!(list(&admin, None).await, [of_ann.id, of_admin.id]);
    assert_eq!(list(&admin, Some("custom.a")).await, [of_admin.id]);
    let hidden = fixture.history.get(&ann, of_admin.id).await;
    assert!(matches!(hidden, Err(RecordError::NotFound(_))));
    assert!(fixture.history.get(&admin, of_ann.id).await.is_ok());
}

#[tokio::test]
async fn a_stream_starts_with_the_next_event() {
    let fixture = Fixture::new().await;
    let (admin, ann) = (fixture.caller("admin").await, fixture.caller("ann").await);
    fixture.emit(&ann, "custom.before").await;
    let patterns = Pattern::parse_list("custom.x, space.*").expect("valid");
    let mut own = fixture
        .history
        .stream(ann.clone(), patterns)
        .expect("allowed");
    let mut all = fixture
        .history
        .stream(admin.clone(), vec![])
        .expect("allowed");
    let of_admin = fixture.emit(&admin, "custom.x").await;
    let unwanted = fixture.emit(&ann, "custom.y").await;
    let wanted = fixture.emit(&ann, "space.created").await;
    assert_eq!(next(&mut own).await, Some(streamed(&wanted)));
    for event in [of_admin, unwanted, wanted] {
        assert_eq!(next(&mut all).await, Some(streamed(&event)));
    }
}

#[tokio::test]
async fn a_slow_reader_gets_the_number_of_missed_events() {
    let fixture = Fixture::new().await;
    let admin = fixture.caller("admin").await;
    let mut stream = fixture
        .history
        .stream(admin.clone(), vec![])
        .expect("allowed");
    let event = fixture.emit(&admin, "custom.x").await;
    for _ in 0..2_000 {
        fixture.history.hub.committed(std::slice::from_ref(&event));
    }
    let first = next(&mut stream).await;
    assert!(matches!(first, Some(StreamItem::Lagged(missed)) if missed > 0));
    assert_eq!(next(&mut stream).await, Some(streamed(&event)));
}

#[tokio::test]
async fn many_events_of_one_user_do_not_make_other_streams_miss_events() {
    let fixture = Fixture::new().await;
    let (admin, ann) = (fixture.caller("admin").await, fixture.caller("ann").await);
    let mut of_ann = fixture
        .history
        .stream(ann.clone(), vec![])
        .expect("allowed");
    let first = fixture.emit(&ann, "custom.x").await;
    let flood = fixture.emit(&admin, "custom.flood").await;
    for _ in 0..2_000 {
        fixture.history.hub.committed(std::slice::from_ref(&flood));
    }
    let last = fixture.emit(&ann, "custom.y").await;
    assert_eq!(next(&mut of_ann).await, Some(streamed(&first)));
    assert_eq!(next(&mut of_ann).await, Some(streamed(&last)));
}

#[tokio::test]
async fn a_stream_ends_with_its_credential_and_with_the_server() {
    let fixture = Fixture::new().await;
    let (admin, ann) = (fixture.caller("admin").await, fixture.caller("ann").await);
    let mut of_ann = fixture
        .history
        .stream(ann.clone(), vec![])
        .expect("allowed");
    let mut of_admin = fixture.history.stream(admin, vec![]).expect("allowed");
    let crate::identity::Credential::Token { id, .. } = ann.credential else {
        panic!("a token was made");
    };
    let revoked = fixture.identity.delete_token(&ann, id).await;
    revoked.expect("revoked");
    assert_eq!(next(&mut of_ann).await, None);
    fixture.history.shutdown.cancel();
    assert_eq!(next(&mut of_admin).await, None);
}

fn streamed(event: &Event) -> StreamItem {
    StreamItem::Event(Arc::new(StreamedEvent::from(event)))
}
