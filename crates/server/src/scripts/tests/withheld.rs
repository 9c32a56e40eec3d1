//! Deliveries to a script that cannot run use up no attempt, and the audit log has the reason.

use std::time::Duration;

use svc_core::{
    LaneId, Permission, SinkId, SpaceId, delivery_policy::DeliveryPolicy, event::Event,
    json_text::JsonText, pattern::Pattern,
};
use svc_protocol::api::{AuditQuery, Delivery, ScriptConfig, SinkType};
use svc_store::{
    PageRequest, audit,
    deliveries::{self, DeliveryPage},
    sinks::{self, GLOBAL, SinkConfig, SinkRow},
};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::*;
use crate::events::dispatch::emit_in;

const SOON: Duration = Duration::from_secs(20);

impl Fixture {
    /// A script sink with an event in its queue.
    async fn queued(&self, owner: &Caller, owner_key: String) -> (SinkId, LaneId) {
        let row = SinkRow {
            id: SinkId(Uuid::now_v7()),
            owner_key,
            owner_id: owner.user.id,
            name: "runs".to_owned(),
            description: String::new(),
            patterns: Pattern::parse_list("*").expect("valid"),
            kind: SinkType::Script,
            active: true,
            config: SinkConfig::Script(ScriptConfig {
                script_id: None,
                source: Some("pass".to_owned()),
            }),
            secret: None,
            previous_secret: None,
            previous_until: None,
            sealed_headers: None,
            sealed_client_key: None,
            policy: DeliveryPolicy::default(),
            paused: None,
            created_at: svc_clock::now(),
        };
        let event = Event {
            id: svc_core::EventId(Uuid::now_v7()),
            r#type: "custom.x".to_owned(),
            ts: svc_clock::now(),
            owner_id: owner.user.id,
            space_id: SpaceId::NIL,
            actor: owner.actor(),
            data: JsonText::from(&json!({})),
            trace: None,
        };
        let id = row.id;
        let write = self.app.store.write(move |tx| {
            sinks::insert(tx, &row)?;
            emit_in(tx, &event)?;
            Ok(sinks::status(tx, id)?.lane)
        });
        let lane = write.await.expect("committed").expect("a lane");
        self.app.hub.wake();
        (id, lane)
    }

    /// Waits for the recorded reason why a sink delivers nothing.
    async fn reason(&self, sink: SinkId) -> String {
        let deadline = Instant::now() + SOON;
        loop {
            let filter = AuditQuery {
                action: Some("event_sink.withheld".to_owned()),
                ..AuditQuery::default()
            };
            let read = self
                .app
                .store
                .read(move |tx| audit::list(tx, &filter, PageRequest::default()));
            let entries = read.await.expect("listed").items;
            let mut of_sink = entries
                .iter()
                .filter(|entry| entry.target_id == sink.to_string());
            if let Some(entry) = of_sink.next() {
                assert_eq!(of_sink.count(), 0, "the reason is recorded once");
                return entry.detail["reason"].as_str().expect("text").to_owned();
            }
            assert!(Instant::now() < deadline, "no reason is recorded");
            sleep(Duration::from_millis(10)).await;
        }
    }

    async fn deliveries(&self, lane: LaneId) -> Vec<Delivery> {
        let page = DeliveryPage::parse(None, None).expect("valid");
        let read = self
            .app
            .store
            .read(move |tx| deliveries::list(tx, lane, None, page));
        read.await.expect("listed").items
    }

    async fn check_waits(&self, lane: LaneId) {
        let waiting = self.deliveries(lane).await;
        assert_eq!(waiting.len(), 1);
        assert_eq!(waiting[0].attempts, [], "no attempt is spent");
    }
}

#[tokio::test]
async fn a_delivery_spends_no_attempt_if_the_sandbox_failed_its_self_test() {
    let fixture = Fixture::new().await;
    let ann = fixture.user("ann").await;
    let own = ann.user.id.to_string();
    let (sink, lane) = fixture.queued(&ann, own).await;
    let reason = fixture.reason(sink).await;
    assert!(reason.contains("scripts do not run"), "{reason}");
    fixture.check_waits(lane).await;
    fixture.close().await;
}

/// A global sink sees the events of all users, so its script runs only while the owner holds the
/// permission to manage global sinks.
#[tokio::test]
async fn the_script_of_a_global_sink_runs_only_if_its_owner_may_manage_global_sinks() {
    let fixture = Fixture::new().await;
    let ann = fixture.user("ann").await;
    assert!(!ann.may(Permission::ManageGlobalEventSinks));
    let (sink, lane) = fixture.queued(&ann, GLOBAL.to_owned()).await;
    let reason = fixture.reason(sink).await;
    assert!(reason.contains("`manage_global_event_sinks`"), "{reason}");
    fixture.check_waits(lane).await;
    fixture.close().await;
}
