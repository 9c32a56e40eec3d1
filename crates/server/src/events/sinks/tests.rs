//! Managing sinks, on a real store and with a real receiver.

mod queue;
mod recovery;
mod script;
mod trial;

use std::{path::PathBuf, time::Duration};

use serde_json::{Value, json};
use svc_clock::Clock;
use svc_core::{
    EventId, Permissions, RoleId, SpaceId, UserId, UserName, event::Event, json_text::JsonText,
    webhook_secret,
};
use svc_outbound::{AddressGuard, Outbound};
use svc_protocol::api::{AuditQuery, DeliveryState, Role, RotateSecret};
use svc_store::{deliveries::DeliveryPage, memberships, records, sinks::SinkRow, users::UserRow};

use super::*;
use crate::{
    events::{
        deliver::{method::MethodDelivery, webhook::Webhook},
        dispatch::emit_in,
    },
    identity::{Directory, Memory, User},
    journal::{Journal, JournalOptions},
    limits::MinuteLimit,
    methods::calls::recorder::CallRecorder,
    metrics::{Metrics, MetricsOptions},
    options::Limits,
    scripts::{ScriptOptions, ScriptRunner, tests::worker_program},
    secrets::SecretKey,
    traces::Traces,
};

const TESTS_PER_MINUTE: usize = 4;

struct Fixture {
    service: SinksService,
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self::of("no such program".into())
    }

    /// A fixture whose script runner works.
    fn with_workers() -> Self {
        Self::of(worker_program())
    }

    fn of(program: PathBuf) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::open(folder.path()).expect("opens");
        let secrets = SecretKey::load_or_create(folder.path(), None).expect("a key");
        let guard = AddressGuard::new(&["127.0.0.1".to_owned()]).expect("valid");
        let metrics = Metrics::new(MetricsOptions::default());
        let scripts = ScriptRunner::new(
            program,
            ScriptOptions::default(),
            store.clone(),
            Arc::new(Directory::empty()),
            Arc::default(),
            metrics.clone(),
            |_| {},
        );
        let options = JournalOptions::default();
        let recorder = CallRecorder {
            stats: Arc::default(),
            metrics: metrics.clone(),
            journal: Arc::new(Journal::new(store.clone(), metrics.clone(), options)),
            traces: Arc::new(Traces::off()),
        };
        let deliverers = Deliverers {
            store: store.clone(),
            secrets: Arc::new(secrets),
            webhook: Webhook::new(Arc::new(Outbound::new(guard))),
            methods: MethodDelivery::new(Arc::default(), Arc::new(recorder)),
            traces: Arc::new(Traces::off()),
            metrics,
            scripts: Arc::new(scripts),
            withheld: Default::default(),
            compute: Limits::default().compute_pool(),
        };
        let service = SinksService {
            writer: Writer::new(
                store.clone(),
                Arc::new(Memory::new(store.clone(), Directory::empty())),
                Clock::system(),
                Quotas::default(),
            ),
            store,
            hub: Hub::default(),
            deliverers: Arc::new(deliverers),
            trials: Arc::new(TrialLimits {
                sinks: MinuteLimit::new(TESTS_PER_MINUTE),
                ..TrialLimits::default()
            }),
            quotas: Quotas::default(),
        };
        Self { service, folder }
    }

    /// Stores the user behind a caller, with a role that holds their permissions.
    async fn store_user(&self, caller: &Caller) {
        let user = caller.user.clone();
        let write = self.service.store.write(move |tx| {
            if records::find::<UserRow>(tx, user.id)?.is_some() {
                return Ok(());
            }
            let row = UserRow {
                quotas: Default::default(),
                id: user.id,
                username: user.name.clone(),
                password_hash: String::new(),
                active: true,
                created_at: user.created_at,
            };
            records::insert(tx, &row)?;
            let role = Role {
                id: RoleId(Uuid::now_v7()),
                name: format!("role of {}", user.name),
                permissions: user.permissions,
                builtin: false,
                created_at: user.created_at,
                require_second_factor: false,
            };
            records::insert(tx, &role)?;
            memberships::set_of_user(tx, user.id, &[role.id])
        });
        write.await.expect("stored");
    }

    async fn create(&self, caller: &Caller, body: Value) -> Result<Sink, RecordError> {
        self.store_user(caller).await;
        let new = serde_json::from_value(body).expect("a new sink");
        self.service.create(caller, new).await
    }

    async fn webhook(&self, caller: &Caller, name: &str) -> Sink {
        let body = json!({
            "name": name, "patterns": ["custom.*"], "type": "webhook",
            "webhook": {"url": "http://127.0.0.1:9/hook?key=hidden"},
        });
        self.create(caller, body).await.expect("created")
    }

    async fn patch(&self, caller: &Caller, id: SinkId, body: Value) -> Result<Sink, RecordError> {
        self.store_user(caller).await;
        let patch = serde_json::from_value(body).expect("a patch");
        self.service.patch(caller, id, patch).await
    }

    async fn emit(&self, owner: &Caller, event_type: &str, times: u32) {
        let event = |n| Event {
            id: EventId(Uuid::now_v7()),
            r#type: event_type.to_owned(),
            ts: svc_clock::now(),
            owner_id: owner.user.id,
            space_id: SpaceId::NIL,
            actor: owner.actor(),
            data: JsonText::from(&json!({"n": n})),
            trace: None,
        };
        let events: Vec<_> = (0..times).map(event).collect();
        let write = self.service.store.write(move |tx| {
            events
                .iter()
                .try_for_each(|event| emit_in(tx, event).map(drop))
        });
        write.await.expect("emitted");
    }

    /// Ends every queued delivery, as the engine would.
    async fn finish(&self, id: SinkId, state: DeliveryState) {
        let write = self.service.store.write(move |tx| {
            let lane = sinks::status(tx, id)?.lane.expect("a lane");
            while let Some(head) = svc_store::deliveries::find_head(tx, lane)? {
                svc_store::deliveries::finish(tx, lane, head.n, state, svc_clock::now())?;
                svc_store::lanes::turn::recount(tx, lane)?;
            }
            Ok(())
        });
        write.await.expect("finished");
    }

    async fn audited(&self) -> Vec<(String, Value)> {
        let list = self
            .service
            .store
            .read(|tx| svc_store::audit::list(tx, &AuditQuery::default(), PageRequest::default()));
        let mut page = list.await.expect("listed").items;
        page.reverse();
        page.into_iter()
            .map(|entry| (entry.action, entry.detail))
            .collect()
    }
}

fn caller(name: &str, permissions: &[Permission]) -> Caller {
    Caller::process(Arc::new(User {
        quota_overrides: Default::default(),
        has_second_factor: false,
        id: UserId(Uuid::now_v7()),
        name: UserName::parse(name).expect("a name"),
        active: true,
        created_at: svc_clock::now(),
        permissions: Permissions::of(permissions),
        role_names: vec![],
        groups: vec![],
        group_names: vec![],
    }))
}

fn user(name: &str) -> Caller {
    caller(name, &[Permission::ManageOwnEventSinks])
}

fn manager(name: &str) -> Caller {
    caller(name, &[Permission::ManageGlobalEventSinks])
}

fn deliveries_page() -> DeliveryPage {
    DeliveryPage::parse(None, Some(1_000)).expect("valid")
}

#[tokio::test]
async fn a_secret_is_shown_once_and_stored_encrypted() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let sink = fixture.webhook(&ann, "deploys").await;
    let secret = sink
        .webhook
        .and_then(|webhook| webhook.secret)
        .expect("shown");
    assert!(secret.starts_with("whsec_"));
    let shown = fixture.service.get(&ann, sink.id).await.expect("found");
    assert_eq!(shown.webhook.expect("a webhook").secret, None);
    let read = fixture
        .service
        .store
        .read(move |tx| records::get::<SinkRow>(tx, sink.id));
    let row = read.await.expect("found");
    let key = webhook_secret::decode(&secret).expect("valid");
    assert_ne!(row.secret.as_deref(), Some(key.as_slice()));
    let signing = fixture
        .service
        .deliverers
        .secrets_of(&row, svc_clock::now());
    assert_eq!(signing.expect("decrypted"), std::slice::from_ref(&key));

    let rotated = fixture
        .service
        .rotate_secret(&ann, sink.id, RotateSecret::default());
    let rotated = rotated.await.expect("rotated");
    let read = fixture
        .service
        .store
        .read(move |tx| records::get::<SinkRow>(tx, sink.id));
    let row = read.await.expect("found");
    let fresh = webhook_secret::decode(&rotated.secret).expect("valid");
    let signing = |at| {
        fixture
            .service
            .deliverers
            .secrets_of(&row, at)
            .expect("decrypted")
    };
    assert_eq!(signing(svc_clock::now()), [fresh.clone(), key]);
    assert_eq!(
        signing(rotated.previous_until.plus(Duration::from_secs(1))),
        [fresh]
    );

    let said = serde_json::to_string(&fixture.audited().await).expect("JSON");
    assert!(
        !said.contains("whsec_") && !said.contains("hidden"),
        "{said}"
    );
    drop(fixture.folder);
}

#[tokio::test]
async fn a_user_cannot_manage_sinks_of_another_user() {
    let (fixture, ann, ben, root) = (Fixture::new(), user("ann"), user("ben"), manager("root"));
    let sink = fixture.webhook(&ann, "mine").await;
    for other in [&ben, &root] {
        let found = fixture.service.get(other, sink.id).await;
        assert!(matches!(&found, Err(error) if error.code() == "not_found"));
        let deleted = fixture.service.delete(other, sink.id).await;
        assert!(matches!(&deleted, Err(error) if error.code() == "not_found"));
        let patched = fixture
            .patch(other, sink.id, json!({"active": false}))
            .await;
        assert!(matches!(&patched, Err(error) if error.code() == "not_found"));
        let page = fixture.service.list(other, PageRequest::default()).await;
        assert!(page.expect("listed").items.is_empty());
    }
    fixture
        .service
        .delete(&ann, sink.id)
        .await
        .expect("deleted");
}

#[tokio::test]
async fn global_sinks_need_their_own_permission() {
    let (fixture, ann, root, other) =
        (Fixture::new(), user("ann"), manager("root"), manager("eve"));
    let body = json!({
        "name": "all", "patterns": "*", "type": "webhook", "owner": "global",
        "webhook": {"url": "https://example.org"},
    });
    let denied = fixture.create(&ann, body.clone()).await;
    assert!(matches!(&denied, Err(error) if error.code() == "permission_denied"));
    let sink = fixture.create(&root, body).await.expect("created");
    let found = fixture.service.get(&ann, sink.id).await;
    assert!(matches!(&found, Err(error) if error.code() == "not_found"));
    fixture
        .patch(&other, sink.id, json!({"description": "x"}))
        .await
        .expect("patched");
    fixture.emit(&ann, "custom.x", 1).await;
    let depth = fixture
        .service
        .get(&root, sink.id)
        .await
        .expect("found")
        .queue_depth;
    assert_eq!(depth, 1);
}

#[tokio::test]
async fn names_are_unique_per_owner() {
    let (fixture, ann, ben) = (Fixture::new(), user("ann"), user("ben"));
    fixture.webhook(&ann, "deploys").await;
    fixture.webhook(&ben, "deploys").await;
    let other = fixture.webhook(&ann, "other").await;
    let renamed = fixture
        .patch(&ann, other.id, json!({"name": "deploys"}))
        .await;
    assert!(matches!(&renamed, Err(error) if error.code() == "name_taken"));
}

#[tokio::test]
async fn every_change_is_audited_once() {
    let (fixture, ann) = (Fixture::new(), user("ann"));
    let sink = fixture.webhook(&ann, "deploys").await;
    let id = sink.id;
    fixture.emit(&ann, "custom.x", 3).await;
    fixture.patch(&ann, id, json!({})).await.expect("nothing");
    fixture
        .patch(&ann, id, json!({"active": false}))
        .await
        .expect("off");
    fixture
        .patch(&ann, id, json!({"active": true, "name": "d"}))
        .await
        .expect("on");
    fixture.service.delete(&ann, id).await.expect("deleted");
    let audited = fixture.audited().await;
    let actions: Vec<_> = audited.iter().map(|(action, _)| action.as_str()).collect();
    assert_eq!(
        actions,
        [
            "event_sink.created",
            "event_sink.disabled",
            "event_sink.updated",
            "event_sink.enabled",
            "event_sink.deleted",
        ]
    );
    assert_eq!(audited[4].1["queued"], 3);
}
