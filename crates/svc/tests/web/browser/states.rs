//! States of sinks and spaces, errors of forms, and outages, as the pages show them.

use serde_json::{Value, json};
use svc_testkit::{Reply, TestReceiver, eventually, fixture, method};

use super::{
    SOON,
    flow::{Flow, credentials, run},
    install::Browser,
    site::{Site, server},
};

#[tokio::test]
async fn what_the_service_stopped_is_shown_as_failing_on_every_page() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().allow_local_spaces().start().await;
    let ann = server.user_with("ann", &["admin"], &[]).await;
    let receiver = TestReceiver::start().await;
    for path in ["/partner", "/billing"] {
        receiver.set(path, Reply::Body(500, "closed".to_owned()));
    }
    let sink = |name: &str, pattern: &str, delivery: Value| {
        json!({
            "name": name, "type": "webhook", "patterns": pattern, "delivery": delivery,
            "webhook": {"url": receiver.url(&format!("/{name}"))},
        })
    };
    let policy = json!({"attempts": 1, "on_exhausted": "pause", "overflow": "hold"});
    let partner = ann.sink(sink("partner", "custom.order", policy)).await;
    let billing = ann
        .sink(sink("billing", "custom.invoice", json!({"attempts": 1})))
        .await;
    let by_hand = ann.sink(sink("by-hand", "custom.other", json!({}))).await;
    by_hand.patch(json!({"active": false})).await;
    ann.emit("order", json!({})).await;
    eventually("the service pauses the sink", SOON, || async {
        partner.record().await.get("paused").is_some()
    })
    .await;
    ann.emit("order", json!({})).await;
    for n in 0..80 {
        ann.emit("invoice", json!({ "n": n })).await;
    }
    billing.wait_for("dead", 80, 6 * SOON).await;
    let space = ann.space("lab").await;
    let bad = fixture().with(method("a b", "echo")).to_string();
    space.write("bad.toml", &bad);
    let _agent = space.agent_with(&["--methods-file", "bad.toml"]).await;
    space.wait_for_registration("refused", SOON).await;
    let local = ann
        .space_with(json!({"name": "inside", "runtime": "local"}))
        .await;
    local.wait_for_state("deployed", SOON).await;
    let folder = local.record().await["folder"].clone();
    let facts = json!({
        "ann": credentials(&ann),
        "partner": {"id": partner.id, "name": "partner"},
        "billing": {"id": billing.id, "name": "billing"},
        "byHand": {"id": by_hand.id, "name": "by-hand"},
        "space": {"id": space.id, "name": space.name},
        "local": {"id": local.id, "name": local.name, "folder": folder},
    });
    let mut flow = Flow::start(&browser, "states", &server, &facts);
    flow.until("repair the receiver").await;
    receiver.set("/partner", Reply::Status(200));
    flow.go_on().await;
    flow.until("hang the receiver").await;
    receiver.set("/billing", Reply::Hang);
    flow.go_on().await;
    flow.until("release the receiver").await;
    receiver.set("/billing", Reply::Status(200));
    flow.go_on().await;
    flow.end().await;
}

#[tokio::test]
async fn an_error_is_shown_at_its_field_in_every_form() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let site = Site::shop(server()).await;
    run(&browser, "forms", &site.server, &site.facts).await;
}

#[tokio::test]
async fn an_outage_is_shown_once_and_in_words() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let site = Site::shop(server()).await;
    run(&browser, "outage", &site.server, &site.facts).await;
}

#[tokio::test]
async fn the_preview_of_a_sink_uses_its_format_its_filter_and_its_key() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let lake = ann
        .sink(json!({
            "name": "lake", "type": "webhook", "patterns": "custom.order.*",
            "webhook": {"url": "https://example.org/lake", "format": "cloudevents-structured"},
            "delivery": {
                "filter": "event.data.amount > 100", "ordering": "key", "key": "event.data.order",
            },
        }))
        .await;
    let facts = json!({"ann": credentials(&ann), "lake": {"id": lake.id, "name": "lake"}});
    run(&browser, "sink-preview", &server, &facts).await;
}
