//! Sinks, events and the audit log: actions of the pages take effect, and new events are shown.

use serde_json::{Value, json};
use svc_testkit::{Reply, TestReceiver, eventually};

use super::{
    SOON,
    flow::{Flow, credentials, run},
    install::Browser,
    site::server,
};

#[tokio::test]
async fn a_sink_created_in_the_page_delivers_events_that_the_page_emits() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let receiver = TestReceiver::start().await;
    let facts = json!({"ann": credentials(&ann), "receiver": receiver.url("/hook")});
    let mut flow = Flow::start(&browser, "sink", &server, &facts);

    let event = flow.until("look at the receiver").await;
    let received = receiver.wait_for("/hook", 1, SOON).await;
    assert_eq!(received[0].header("webhook-id"), event.as_str().unwrap());
    assert!(String::from_utf8_lossy(&received[0].body).contains("A-17"));
    flow.go_on().await;
    flow.end().await;
    assert_eq!(receiver.count("/hook"), 1);
}

#[tokio::test]
async fn a_failing_sink_is_shown_and_its_events_are_resent_after_its_repair() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let receiver = TestReceiver::start().await;
    receiver.set("/hook", Reply::Body(500, "out of paper".to_owned()));
    let sink = ann
        .webhook("printer", "custom.*", &receiver.url("/hook"))
        .await;
    ann.emit("order.shipped", json!({"order": "A-17"})).await;
    sink.wait_for("dead", 1, SOON).await;
    let before = receiver.count("/hook");
    let facts = json!({"ann": credentials(&ann), "sink": {"id": sink.id, "name": "printer"}});
    let mut flow = Flow::start(&browser, "failing-sink", &server, &facts);

    flow.until("repair the receiver").await;
    receiver.set("/hook", Reply::Status(200));
    ann.emit("order.shipped", json!({"order": "A-18"})).await;
    sink.wait_for("delivered", 1, SOON).await;
    flow.go_on().await;

    // The queue has room for 100 of these events.
    flow.until("overfill the queue").await;
    // Otherwise the resent delivery may still take a place.
    sink.wait_for("delivered", 2, SOON).await;
    receiver.set("/hook", Reply::Hang);
    for n in 0..103 {
        ann.emit("order.shipped", json!({ "order": n })).await;
    }
    assert_eq!(sink.record().await["dropped"], 3);
    receiver.set("/hook", Reply::Status(200));
    eventually("the queue is empty", SOON, || async {
        sink.record().await["queue_depth"] == 0
    })
    .await;
    flow.go_on().await;
    flow.end().await;
    receiver.wait_for("/hook", before + 105, SOON).await;
}

#[tokio::test]
async fn an_event_appears_in_the_open_page() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let facts = json!({"ann": credentials(&ann)});
    let mut flow = Flow::start(&browser, "live-events", &server, &facts);

    flow.until("emit").await;
    ann.emit("order.shipped", json!({"order": "A-17"})).await;
    ann.emit("invoice.sent", json!({"invoice": "R-4"})).await;
    flow.go_on().await;
    flow.until("emit while it pauses").await;
    ann.emit("order.returned", json!({"order": "A-17"})).await;
    flow.go_on().await;
    flow.end().await;
}

#[tokio::test]
async fn a_sink_is_tested_replayed_changed_and_deleted() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let receiver = TestReceiver::start().await;
    let sink = ann
        .webhook("desk", "custom.order.*", &receiver.url("/hook"))
        .await;
    ann.emit("invoice.sent", json!({"invoice": "R-4"})).await;
    ann.emit("order.shipped", json!({"order": "A-17"})).await;
    receiver.wait_for("/hook", 1, SOON).await;
    let facts = json!({"ann": credentials(&ann), "sink": {"id": sink.id, "name": "desk"}});
    let mut flow = Flow::start(&browser, "sink-actions", &server, &facts);

    flow.until("nothing was sent").await;
    assert_eq!(receiver.count("/hook"), 1);
    flow.go_on().await;
    // Two more requests: the event of the sink test, and the replayed event.
    flow.until("emit to the disabled sink").await;
    receiver.wait_for("/hook", 3, SOON).await;
    assert_eq!(sink.record().await["description"], "The desk in the hall");
    ann.emit("order.shipped", json!({"order": "A-18"})).await;
    assert_eq!(sink.record().await["queue_depth"], 0);
    flow.go_on().await;
    flow.end().await;
    ann.get(&sink.path()).await.expect(404);
}

#[tokio::test]
async fn deliveries_are_inspected_and_sent_again_together() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let receiver = TestReceiver::start().await;
    receiver.set("/hook", Reply::Body(500, "out of paper".to_owned()));
    receiver.set("/slow", Reply::Status(503));
    let hook = |name: &str, pattern: &str, path: &str, delivery: Value| {
        json!({
            "name": name, "type": "webhook", "patterns": pattern, "delivery": delivery,
            "webhook": {"url": receiver.url(path), "headers": {"X-Reason": "a secret"}},
        })
    };
    // Attempts are a second apart, so their time stamps differ and a comparison shows changes.
    let kept = json!({"keep_exchanges": true, "retry": {"waits": [1, 1]}});
    let printer = ann
        .sink(hook("printer", "custom.order", "/hook", kept))
        .await;
    let later = json!({"keep_exchanges": true, "retry": {"waits": [3600]}});
    let slow = ann
        .sink(hook("slow", "custom.parcel", "/slow", later))
        .await;
    for order in ["A-1", "A-2", "A-3"] {
        ann.emit("order", json!({"order": order})).await;
    }
    printer.wait_for("dead", 3, SOON).await;
    for order in ["A-1", "A-2", "A-3", "A-4"] {
        ann.emit("parcel", json!({"order": order})).await;
    }
    receiver.wait_for("/slow", 1, SOON).await;
    let facts = json!({
        "ann": credentials(&ann), "printer": {"id": printer.id, "name": "printer"},
        "slow": {"id": slow.id, "name": "slow"},
    });
    let mut flow = Flow::start(&browser, "deliveries", &server, &facts);
    flow.until("repair the receiver").await;
    receiver.set("/hook", Reply::Status(200));
    flow.go_on().await;
    flow.end().await;
    printer.wait_for("delivered", 3, SOON).await;
    assert_eq!(slow.record().await["queue_depth"], 4);
}

#[tokio::test]
async fn past_events_are_found_by_time_actor_and_payload_however_many_there_are() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let first = ann
        .emit("order.shipped", json!({"order": "the first"}))
        .await;
    for n in 1..450 {
        ann.emit("order.shipped", json!({"order": n})).await;
    }
    ann.space("lab").await;
    // One request searches at most 8 MiB of payloads, so the search for `a needle` needs two.
    let ben = server.user("ben").await;
    ben.emit("parcel.packed", json!({"order": "a needle"}))
        .await;
    for _ in 0..36 {
        let label = "x".repeat(250_000);
        ben.emit("parcel.packed", json!({ "label": label })).await;
    }
    let facts = json!({"ann": credentials(&ann), "ben": credentials(&ben), "first": first});
    run(&browser, "event-explorer", &server, &facts).await;
}

#[tokio::test]
async fn the_audit_log_names_targets_also_after_they_are_deleted() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user_with("ann", &["admin"], &[]).await;
    let receiver = TestReceiver::start().await;
    let url = receiver.url("/hook");
    ann.webhook("kept", "custom.*", &url).await;
    let gone = ann.webhook("gone", "custom.*", &url).await;
    gone.patch(json!({"active": false})).await;
    ann.delete(&gone.path()).await.expect(204);
    let facts = json!({"ann": credentials(&ann), "gone": gone.id});
    run(&browser, "audit", &server, &facts).await;
}
