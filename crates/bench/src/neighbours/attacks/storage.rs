//! Attacks on work and storage that grow with the records of a user.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use svc_testkit::{Reply, TestReceiver};
use tokio::{sync::oneshot, time::interval};

use super::requests::{post, send};
use crate::neighbours::attacker::Brief;

/// Events of the history that a replay of undelivered events searches.
const UNDELIVERED_EVENTS: usize = 50_000;
const EMITS_AT_ONCE: usize = 100;
/// Members of each of two equal objects, and comparisons of them.
const COMPARED_MEMBERS: usize = 9_000;
const COMPARISONS: usize = 3_000;
/// Sinks whose receiver answers with many bytes, and the size of an answer.
const RECEIVER_SINKS: usize = 50;
const RECEIVER_BYTES: usize = 16 * 1024;
const PATTERNS: usize = 100;
const PATTERN_BYTES: usize = 110;

/// Fills the history with events that no sink received. Returns the path of the replay.
pub async fn fill_undelivered(brief: &Brief) -> anyhow::Result<String> {
    let id = make_sink(brief, "held", json!({"overflow": "hold"}), false).await?;
    let event = json!({"type": "undelivered", "payload": {}}).to_string();
    stream::iter(0..UNDELIVERED_EVENTS)
        .map(|_| send(brief, "/api/events/emit", &event, 202))
        .buffer_unordered(EMITS_AT_ONCE)
        .try_for_each(|_| async { Ok(()) })
        .await?;
    Ok(format!("/api/event-sinks/{id}/replay"))
}

/// Makes a sink whose patterns the attack changes. Returns its path.
pub async fn make_changing_sink(brief: &Brief) -> anyhow::Result<String> {
    let id = make_sink(brief, "changing", json!({}), true).await?;
    Ok(format!("/api/event-sinks/{id}"))
}

async fn make_sink(
    brief: &Brief,
    name: &str,
    delivery: Value,
    active: bool,
) -> anyhow::Result<String> {
    let sink = json!({
        "name": name, "patterns": "*", "type": "webhook", "active": active, "delivery": delivery,
        "webhook": {"url": brief.hanging_url},
    });
    let made = send(brief, "/api/event-sinks", &sink.to_string(), 201).await?;
    let id = made.json()["id"].as_str().map(str::to_owned);
    id.context("the sink has no id")
}

pub fn replay() -> String {
    json!({"only": "undelivered", "dry_run": true, "since": "2026-01-01T00:00:00Z"}).to_string()
}

/// A preview whose template compares two large, equal objects again and again.
pub fn comparisons() -> String {
    let members = (0..COMPARED_MEMBERS).map(|n| (format!("k{n:05}"), json!(n)));
    let large: serde_json::Map<_, _> = members.collect();
    let template = r#"{"x":1}{% for x in event.data.l %}{% if event.data.a == event.data.b %}{% endif %}{% endfor %}"#;
    let data = json!({"a": large, "b": large, "l": vec![0; COMPARISONS]});
    json!({"type": "webhook", "body_template": template, "data": data}).to_string()
}

/// Previews with expressions that nest deeply. The server must refuse each of them.
pub fn deep_expressions() -> Vec<Bytes> {
    let of = |expression: String| {
        let template = format!("${{{{ {expression} }}}}");
        let body = json!({"type": "webhook", "body_template": template, "data": {}});
        Bytes::from(body.to_string())
    };
    vec![
        of("-".repeat(16_000) + "1"),
        of("not ".repeat(4_000) + "1"),
        of("event".to_owned() + &".a".repeat(8_000)),
        of("event.id".to_owned() + &"|trim".repeat(3_200)),
        of("1".to_owned() + &" or 1".repeat(3_200)),
    ]
}

/// Changes of a sink, each with other patterns than the one before.
pub fn pattern_changes() -> Vec<Bytes> {
    let change = |letter: char| {
        let patterns = (0..PATTERNS).map(|n| format!("{letter}{n}.{}", "q".repeat(PATTERN_BYTES)));
        let patterns: Vec<_> = patterns.collect();
        Bytes::from(json!({"patterns": patterns}).to_string())
    };
    ('a'..='z').map(change).collect()
}

/// Emits events to sinks of a receiver whose answers are as large as the server stores them.
pub async fn receiver_answers(brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    let receiver = TestReceiver::start().await;
    receiver.set("/large", Reply::Body(200, "x".repeat(RECEIVER_BYTES)));
    for n in 0..RECEIVER_SINKS {
        let sink = json!({
            "name": format!("large{n}"), "patterns": "custom.large", "type": "webhook",
            "webhook": {"url": receiver.url("/large")},
        });
        send(brief, "/api/event-sinks", &sink.to_string(), 201).await?;
    }
    let event = json!({"type": "large", "payload": {}}).to_string();
    let mut ticks = interval(Duration::from_millis(250));
    let _ = ready.send(());
    loop {
        ticks.tick().await;
        let (brief, event) = (brief.clone(), event.clone());
        tokio::spawn(async move { post(&brief, "/api/events/emit", event).await });
    }
}
