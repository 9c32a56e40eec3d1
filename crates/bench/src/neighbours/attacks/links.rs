//! Attacks by a malicious agent.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use svc_core::{Timestamp, registration::Registration, space::Health};
use svc_link::Control;
use svc_testkit::{RawLink, SimulatedAgents};
use tokio::{sync::oneshot, time::interval};

use crate::neighbours::attacker::Brief;

const STUCK_METHODS: usize = 300;
const LARGE_BYTES: usize = 4 * 1024 * 1024;
const REGISTERED_METHODS: usize = 1_000;

/// Opens a link, and registers methods if `registration` is given.
async fn linked(brief: &Brief, registration: Option<Value>) -> anyhow::Result<RawLink> {
    let token = brief
        .agent_tokens
        .first()
        .context("the attacker has no space")?;
    let mut raw = RawLink::connect(brief.address, token).await;
    let welcome = raw.hello(&[svc_link::VERSION]).await;
    ensure!(matches!(welcome, Control::Welcome(_)), "{welcome:?}");
    if let Some(registration) = registration {
        let registered = raw.register(serde_json::from_value(registration)?).await;
        ensure!(
            matches!(registered, Control::Registered(_)),
            "{registered:?}"
        );
    }
    Ok(raw)
}

fn registration(methods: Vec<Value>) -> Value {
    json!({"server": {"command": "none", "timeout": 3_600}, "methods": methods})
}

/// Publishes subscribed methods whose calls are accepted and never answered.
pub async fn stuck_methods(brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    let methods = (0..STUCK_METHODS).map(|n| {
        json!({
            "name": format!("stuck.m{n}"), "description": "Never answers",
            "events": ["custom.stuck"],
        })
    });
    let mut raw = linked(brief, Some(registration(methods.collect()))).await?;
    let mut ticks = interval(Duration::from_secs(1));
    let _ = ready.send(());
    loop {
        tokio::select! {
            frame = raw.next() => {
                let frame = frame.map_err(anyhow::Error::msg)?;
                // Without answers to pings the server would end the link.
                if frame.kind == svc_link::FrameKind::Ping {
                    let pong = svc_link::Frame::empty(frame.id, svc_link::FrameKind::Pong);
                    raw.send(&[pong]).await.map_err(anyhow::Error::msg)?;
                }
            }
            _ = ticks.tick() => {
                let body = json!({"type": "stuck", "payload": {}}).to_string();
                let brief = brief.clone();
                tokio::spawn(async move { post(&brief, "/api/events/emit", body).await });
            }
        }
    }
}

pub async fn large_bodies(brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    let tokens = brief.agent_tokens.clone();
    let _agents = SimulatedAgents::link(brief.address, tokens, 1, 1).await;
    let params = json!({"text": "x".repeat(LARGE_BYTES)});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "s0.m0", "params": params}).to_string();
    let mut ticks = interval(Duration::from_millis(250));
    let _ = ready.send(());
    loop {
        ticks.tick().await;
        let (brief, call) = (brief.clone(), call.clone());
        tokio::spawn(async move { post(&brief, "/api/methods/call", call).await });
    }
}

/// Registers 1,000 methods again and again, with alternating names.
pub async fn registrations(brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    let mut raw = linked(brief, None).await?;
    let properties: serde_json::Map<_, _> = (0..20)
        .map(|n| {
            (
                format!("p{n}"),
                json!({"type": "string", "pattern": "^[a-z]+$"}),
            )
        })
        .collect();
    let schema = json!({"type": "object", "properties": properties});
    let mut ticks = interval(Duration::from_millis(500));
    let mut ready = Some(ready);
    for round in 0_usize.. {
        ticks.tick().await;
        let methods = (0..REGISTERED_METHODS).map(|n| {
            json!({
                "name": format!("r{}.m{n}", round % 2), "local_name": "m",
                "description": "Registered again and again", "params_schema": schema,
            })
        });
        let next: Registration = serde_json::from_value(registration(methods.collect()))?;
        // A refusal does not matter: the server has done the work.
        raw.register(next).await;
        if let Some(ready) = ready.take() {
            let _ = ready.send(());
        }
    }
    Ok(())
}

pub async fn health_flaps(brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    let mut raw = linked(brief, None).await?;
    let mut ticks = interval(Duration::from_millis(2));
    let _ = ready.send(());
    for n in 0_i64.. {
        ticks.tick().await;
        let current = match n % 2 {
            0 => Health::Healthy,
            _ => Health::Unhealthy,
        };
        let report = Control::Health {
            current,
            consecutive_failures: 1,
            checked_at: Timestamp(n),
        };
        raw.tell(0, &report).await.map_err(anyhow::Error::msg)?;
    }
    Ok(())
}

async fn post(brief: &Brief, path: &str, body: String) {
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {}", brief.token))
        .body(bytes::Bytes::from(body).into());
    if let Ok(request) = request {
        let _ = brief.http().try_send(request).await;
    }
}
