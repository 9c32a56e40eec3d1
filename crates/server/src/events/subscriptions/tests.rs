use svc_core::{
    CanonicalName, EventId, Timestamp,
    event::{Actor, Event},
    json_text::JsonText,
    pattern::Pattern,
};
use svc_protocol::api::AuditQuery;
use svc_store::{PageRequest, Store};
use uuid::Uuid;

use super::*;
use crate::events::dispatch::emit_in;

fn subscribe(methods: &[&str]) -> Vec<Subscription> {
    let subscribe = |method: &&str| Subscription {
        method: CanonicalName::parse(method).expect("valid"),
        patterns: Pattern::parse_list("custom.*").expect("valid"),
        formatters: Vec::new(),
        holds: false,
    };
    methods.iter().map(subscribe).collect()
}

#[tokio::test]
async fn a_removed_subscription_is_audited_if_deliveries_were_waiting() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(folder.path()).expect("the store opens");
    let owner = UserId(Uuid::now_v7());
    let (one, two) = (SpaceId(Uuid::now_v7()), SpaceId(Uuid::now_v7()));
    let event = Event {
        id: EventId(Uuid::now_v7()),
        r#type: "custom.x".to_owned(),
        ts: Timestamp(1),
        owner_id: owner,
        space_id: SpaceId::NIL,
        actor: Actor::system(),
        data: JsonText::from(&serde_json::json!({})),
        trace: None,
    };
    let audited = store.write(move |tx| {
        declare(tx, owner, one, &subscribe(&["a", "b"]))?;
        declare(tx, owner, two, &subscribe(&["a"]))?;
        emit_in(tx, &event)?;
        // The queue of `c` is empty, so its removal is not audited.
        declare(tx, owner, two, &subscribe(&["a", "c"]))?;
        declare(tx, owner, one, &[])?;
        withdraw_space(tx, two, Withdrawal::All)?;
        let filter = AuditQuery {
            action: Some("method_subscription.removed".to_owned()),
            ..AuditQuery::default()
        };
        audit::list(tx, &filter, PageRequest::default())
    });
    let mut audited = audited.await.expect("committed").items;
    audited.sort_by(|a, b| a.target_id.cmp(&b.target_id));
    let seen: Vec<_> = audited
        .iter()
        .map(|entry| (entry.target_id.as_str(), &entry.detail))
        .collect();
    let detail = |space| serde_json::json!({"owner_id": owner, "space_id": space, "queued": 1});
    assert_eq!(seen, [("a", &detail(two)), ("b", &detail(one))]);
    store.close().await;
}
