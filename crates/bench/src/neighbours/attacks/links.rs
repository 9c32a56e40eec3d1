//! Attacks by a malicious agent.

use std::{collections::VecDeque, time::Duration};

use anyhow::{Context, ensure};
use bytes::Bytes;
use serde_json::{Value, json};
use svc_core::{Timestamp, registration::Registration, space::Health};
use svc_link::{Control, Frame, FrameKind};
use svc_testkit::{RawLink, SimulatedAgents};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
    sync::oneshot,
    time::interval,
};

use super::requests::post;
use crate::neighbours::attacker::Brief;

const STUCK_METHODS: usize = 300;
const LARGE_BYTES: usize = 4 * 1024 * 1024;
const REGISTERED_METHODS: usize = 1_000;
const SHARED_METHODS: usize = 100;
/// Connections with an unread answer, and the size of an answer.
const UNREAD: usize = 200;
const UNREAD_BYTES: usize = 8 * 1024 * 1024;

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
                if frame.kind == FrameKind::Ping {
                    let pong = Frame::empty(frame.id, FrameKind::Pong);
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

/// Registers changed shared methods as fast as the server answers. Each change concerns the tools of
/// all users.
pub async fn shared_registrations(brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    let mut raw = linked(brief, None).await?;
    let mut ready = Some(ready);
    for round in 0_usize.. {
        let methods = (0..SHARED_METHODS).map(|n| {
            json!({
                "name": format!("shared.m{n}"), "local_name": "m", "scope": "shared",
                "description": format!("Changed {round} times"), "mcp_tool": true,
            })
        });
        raw.register(serde_json::from_value(registration(methods.collect()))?)
            .await;
        if let Some(ready) = ready.take() {
            let _ = ready.send(());
        }
    }
    Ok(())
}

/// Opens connections that call a method with a large result, and reads none of the answers. A new
/// connection replaces the oldest one.
pub async fn unread_answers(brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    let method = json!({"name": "large", "local_name": "m", "description": "Returns many bytes"});
    let mut raw = linked(brief, Some(registration(vec![method]))).await?;
    let result = Bytes::from(json!("x".repeat(UNREAD_BYTES)).to_string());
    let mut open = VecDeque::new();
    let mut ticks = interval(Duration::from_millis(100));
    let _ = ready.send(());
    loop {
        tokio::select! {
            frame = raw.next() => {
                let frame = frame.map_err(anyhow::Error::msg)?;
                let answer = match frame.kind {
                    FrameKind::Ping => Frame::empty(frame.id, FrameKind::Pong),
                    FrameKind::Call => Frame {
                        id: frame.id,
                        kind: FrameKind::Result,
                        payload: result.clone(),
                    },
                    _ => continue,
                };
                raw.send(&[answer]).await.map_err(anyhow::Error::msg)?;
            }
            _ = ticks.tick() => {
                if open.len() >= UNREAD {
                    open.pop_front();
                }
                open.extend(call_and_wait(brief).await);
            }
        }
    }
}

/// Sends a call on a new connection with a small receive buffer.
async fn call_and_wait(brief: &Brief) -> anyhow::Result<TcpStream> {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "large"}).to_string();
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4_096)?;
    let mut stream = socket.connect(brief.address).await?;
    let head = format!(
        "POST /api/methods/call HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{call}",
        brief.address,
        brief.token,
        call.len()
    );
    stream.write_all(head.as_bytes()).await?;
    Ok(stream)
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
