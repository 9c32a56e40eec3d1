//! Programs of users in sinks: templates, filters and keys. No program ends the server, and a stored
//! program that cannot be read stops its own sink only.

use serde_json::{Value, json};
use svc_testkit::{TestReceiver, TestServer, eventually};

use crate::SOON;

/// Every shape that nests, as long as the field permits.
fn deep_expressions(bytes: usize) -> Vec<String> {
    let repeat = |before: &str, part: &str, after: &str| {
        let count = (bytes - before.len() - after.len()) / part.len();
        format!("{before}{}{after}", part.repeat(count))
    };
    let around = |open: &str, inner: &str, close: &str| {
        let count = (bytes - inner.len()) / (open.len() + close.len());
        format!("{}{inner}{}", open.repeat(count), close.repeat(count))
    };
    vec![
        repeat("", "-", "1 == 1"),
        repeat("", "not ", "true"),
        repeat("event", ".a", " == 1"),
        repeat("event", "[0]", " == 1"),
        repeat("event", "()", " == 1"),
        repeat("event.id", "|trim", " == 1"),
        repeat("event.id", " is string", ""),
        repeat("1", " or 1", ""),
        repeat("1", " and 1", ""),
        repeat("1", " == 1", ""),
        repeat("1", " in [1]", ""),
        repeat("1", " ~ 1", ""),
        repeat("1 == 1", " if 1 else 1", ""),
        around("[", "", "]"),
        around("(", "1", ")"),
        around("{1:", "1", "}"),
    ]
}

#[tokio::test]
async fn s6_4_a_deep_program_is_refused_and_the_server_runs_on() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let (ann, receiver) = (server.user("ann").await, TestReceiver::start().await);
    let url = receiver.url("/hook");
    let create = async |delivery: Value| {
        let sink = json!({
            "name": "deep", "patterns": "*", "type": "webhook", "webhook": {"url": url},
            "delivery": delivery,
        });
        ann.post("/api/event-sinks", sink).await.expect(400).text()
    };
    let preview = async |template: String| {
        let body = json!({"type": "webhook", "body_template": template, "data": {}});
        ann.post("/api/event-sinks/preview", body)
            .await
            .expect(400)
            .text()
    };
    for source in deep_expressions(4_096) {
        let refused = create(json!({"filter": source})).await;
        assert!(refused.contains("invalid_expression"), "{refused}");
        let keyed = create(json!({"ordering": "key", "key": source})).await;
        assert!(keyed.contains("invalid_expression"), "{keyed}");
    }
    let mut templates: Vec<_> = deep_expressions(16_000)
        .into_iter()
        .map(|source| format!("${{{{ {source} }}}}"))
        .collect();
    templates.push(format!(
        "{{% if 0 %}}1{}{{% endif %}}",
        "{% elif 0 %}1".repeat(1_150)
    ));
    templates.push(format!(
        "{}1{}",
        "{% if 1 %}".repeat(750),
        "{% endif %}".repeat(750)
    ));
    for template in templates {
        let refused = preview(template).await;
        assert!(refused.contains("invalid_template"), "{refused}");
    }
    let sink = ann.webhook("well", "*", &url).await;
    let deep = json!({"delivery": {"filter": "-".repeat(4_000) + "1 == 1"}});
    ann.patch(&sink.path(), deep).await.expect(400);
    ann.emit("n", json!({})).await;
    receiver.wait_for("/hook", 1, SOON).await;
}

/// Another version may have accepted deeper programs than this version reads.
#[tokio::test]
async fn s6_5_a_stored_program_that_cannot_be_read_stops_its_sink_until_it_is_corrected() {
    let mut server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let (ann, receiver) = (server.user("ann").await, TestReceiver::start().await);
    let sink = async |name: &str, template: Value, delivery: Value| {
        let webhook = json!({"url": receiver.url(&format!("/{name}")), "body_template": template});
        let sink = json!({
            "name": name, "patterns": "custom.n", "type": "webhook", "webhook": webhook,
            "delivery": delivery,
        });
        ann.sink(sink).await
    };
    // The events that are emitted during the pause are delivered after it.
    let held = json!({"overflow": "hold"});
    let template = sink("template", json!("[77777]"), held).await;
    let keyed = json!({"ordering": "key", "key": "77777", "overflow": "hold"});
    let key = sink("key", json!(null), keyed).await;
    let filter = sink("filter", json!(null), json!({"filter": "77777 == 1"})).await;
    sink("well", json!(null), json!({})).await;
    // SQLite has no function that repeats a text.
    let deep = "replace(hex(zeroblob(500)), '0', '-')";
    server
        .edit_database(&format!(
            "UPDATE event_sinks SET config = replace(config, '77777', '${{{{ ' || {deep} || '1 }}}}');
             UPDATE event_sinks SET policy = replace(policy, '77777', {deep} || '1');
             UPDATE lanes SET filter = replace(filter, '77777', {deep} || '1');"
        ))
        .await;
    server.start_again().await;
    for n in 0..2 {
        ann.emit("n", json!({ "n": n })).await;
    }
    receiver.wait_for("/well", 2, SOON).await;
    for (paused, field) in [(&template, "template"), (&key, "delivery.key")] {
        eventually("the sink is paused", SOON, || async {
            paused.record().await["paused"]["until_corrected"] == true
        })
        .await;
        let record = paused.record().await;
        let reason = record["paused"]["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(field), "{reason}");
        assert!(reason.contains("more than 250 operators"), "{reason}");
        assert_eq!(record["active"], false);
        assert!(record["queue_depth"].as_u64() > Some(0), "{record}");
    }
    eventually("the filter has failed", SOON, || async {
        filter.record().await["filter_errors"] == 2
    })
    .await;
    let error = filter.record().await["filter_error"].to_string();
    assert!(error.contains("more than 250 operators"), "{error}");
    // The server starts again, and the sinks stay as they are.
    server.restart().await;
    assert!(template.record().await["queue_depth"].as_u64() > Some(0));
    assert_eq!(receiver.count("/template") + receiver.count("/key"), 0);
    // A change of another field keeps the pause. The correction ends it.
    template.patch(json!({"description": "x"})).await;
    assert_eq!(template.record().await["active"], false);
    template
        .patch(json!({"webhook": {"body_template": "[1]"}}))
        .await;
    key.patch(json!({"delivery": {"key": "event.data.n"}}))
        .await;
    filter
        .patch(json!({"delivery": {"filter": "event.data.n == 7"}}))
        .await;
    receiver.wait_for("/template", 2, SOON).await;
    receiver.wait_for("/key", 2, SOON).await;
    ann.emit("n", json!({"n": 7})).await;
    receiver.wait_for("/filter", 1, SOON).await;
    receiver.wait_for("/well", 3, SOON).await;
    let record = template.record().await;
    assert_eq!(
        (&record["active"], &record["paused"]),
        (&json!(true), &Value::Null)
    );
}
