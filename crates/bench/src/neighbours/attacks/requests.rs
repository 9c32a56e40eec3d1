//! Attacks by requests that are answered, or refused, one by one.

use std::{sync::Arc, time::Duration};

use anyhow::ensure;
use bytes::Bytes;
use serde_json::json;
use svc_core::credential::{CredentialKind, SECRET_BYTES};
use tokio::{
    sync::{Semaphore, oneshot},
    time::{MissedTickBehavior, interval},
};

use super::Attack;
use crate::neighbours::{attacker::Brief, victim::METHOD};

/// Requests under way at once: a server that never answers does not use up the attacker.
const AT_ONCE: usize = 2_000;
const STUCK_WEBHOOKS: usize = 90;
const STUCK_EVENTS_PER_SECOND: u32 = 5;
/// Events in the history, and bytes of each.
const HISTORY_EVENTS: usize = 400;
const HISTORY_BYTES: usize = 250 * 1024;
const EMIT_BYTES: usize = 64 * 1024;

/// A request of the attack, and how often.
struct Shot {
    per_second: u32,
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
}

pub async fn run(attack: Attack, brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    let shot = Arc::new(shot(attack, brief));
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut ticks = interval(Duration::from_secs(1) / shot.per_second);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let _ = ready.send(());
    loop {
        ticks.tick().await;
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            continue;
        };
        let (shot, http) = (Arc::clone(&shot), brief.http());
        tokio::spawn(async move {
            let headers: Vec<_> = shot
                .headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            let mut request = http::Request::builder().method(shot.method).uri(&shot.path);
            for (name, value) in headers {
                request = request.header(name, value);
            }
            if let Ok(request) = request.body(shot.body.clone().into()) {
                let _ = http.try_send(request).await;
            }
            drop(place);
        });
    }
}

fn shot(attack: Attack, brief: &Brief) -> Shot {
    let json = || ("content-type", "application/json".to_owned());
    let own = || ("authorization", format!("Bearer {}", brief.token));
    let call = "/api/methods/call".to_owned();
    let target = format!("user.{}.{METHOD}", brief.victim);
    let post = |per_second, path: String, body: String| Shot {
        per_second,
        method: "POST",
        path,
        headers: vec![json(), own()],
        body: body.into(),
    };
    let get = |per_second, path: String, bearer: (&'static str, String)| Shot {
        per_second,
        method: "GET",
        path,
        headers: vec![bearer],
        body: Bytes::new(),
    };
    match attack {
        Attack::Batches => {
            let item = json!({"jsonrpc": "2.0", "id": 1, "method": target, "params": {"x": 1}});
            post(2, call, json!(vec![item; 1_000]).to_string())
        }
        Attack::DeepParams => {
            let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{target}","params":{{"x":{deep}}}}}"#
            );
            post(100, call, body)
        }
        Attack::Search => {
            let words = vec!["word"; 12_000].join("+");
            get(10, format!("/api/methods?q={words}"), own())
        }
        Attack::Templates => {
            let template = r#"{"x":[{% for a in range(400) %}{% for b in range(400) %}${{ a * b }},{% endfor %}{% endfor %}0]}"#;
            let body = json!({
                "type": "webhook", "webhook": {"body_template": template},
                "event_type": "custom.x", "payload": {},
            });
            post(20, "/api/event-sinks/preview".to_owned(), body.to_string())
        }
        Attack::History => get(20, "/api/events?limit=500".to_owned(), own()),
        Attack::WrongPasswords => {
            let body = json!({"username": brief.victim, "password": "not the password"});
            Shot {
                headers: vec![json()],
                ..post(20, "/api/auth/login".to_owned(), body.to_string())
            }
        }
        Attack::MadeUpTokens => {
            let made_up = ("authorization", format!("Bearer {}", made_up_token()));
            get(500, "/api/methods".to_owned(), made_up)
        }
        Attack::StuckWebhooks => post(
            STUCK_EVENTS_PER_SECOND,
            "/api/events/emit".to_owned(),
            json!({"type": "stuck", "payload": {}}).to_string(),
        ),
        _ => post(
            200,
            "/api/events/emit".to_owned(),
            json!({"type": "flood", "payload": {"text": "x".repeat(EMIT_BYTES)}}).to_string(),
        ),
    }
}

/// One with a valid checksum, as anybody can make it.
fn made_up_token() -> String {
    CredentialKind::ApiToken.format(&[7; SECRET_BYTES])
}

pub async fn make_stuck_webhooks(brief: &Brief) -> anyhow::Result<()> {
    for n in 0..STUCK_WEBHOOKS {
        let sink = json!({
            "name": format!("stuck{n}"), "patterns": "custom.stuck", "type": "webhook",
            "webhook": {"url": brief.hanging_url},
        });
        send(brief, "/api/event-sinks", &sink.to_string(), 201).await?;
    }
    Ok(())
}

pub async fn fill_history(brief: &Brief) -> anyhow::Result<()> {
    let event = json!({"type": "old", "payload": {"text": "x".repeat(HISTORY_BYTES)}});
    for _ in 0..HISTORY_EVENTS {
        send(brief, "/api/events/emit", &event.to_string(), 202).await?;
    }
    Ok(())
}

async fn send(brief: &Brief, path: &str, body: &str, expected: u16) -> anyhow::Result<()> {
    let bearer = format!("Bearer {}", brief.token);
    let headers = [
        ("content-type", "application/json"),
        ("authorization", bearer.as_str()),
    ];
    let answer = brief
        .http()
        .request("POST", path, &headers, body.to_owned())
        .await;
    ensure!(
        answer.status == expected,
        "{path} answered {}: {}",
        answer.status,
        String::from_utf8_lossy(&answer.body)
    );
    Ok(())
}
