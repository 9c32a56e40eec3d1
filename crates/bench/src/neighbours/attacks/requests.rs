//! Attacks that repeat one HTTP request at a fixed rate.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, ensure};
use bytes::Bytes;
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use serde_json::json;
use svc_core::credential::{CredentialKind, SECRET_BYTES};
use svc_testkit::Answer;
use tokio::{
    net::TcpSocket,
    sync::{Semaphore, oneshot},
    time::{MissedTickBehavior, interval},
};

use super::{Attack, storage};
use crate::neighbours::{attacker::Brief, victim::METHOD};

/// Maximum number of requests in flight. Without a limit, a server that does not answer would
/// exhaust the attacker's memory.
const AT_ONCE: usize = 2_000;
const STUCK_WEBHOOKS: usize = 90;
const STUCK_EVENTS_PER_SECOND: u32 = 5;
/// Number of events in the history, and the size of each event.
const HISTORY_EVENTS: usize = 400;
const HISTORY_BYTES: usize = 250 * 1024;
const EMIT_BYTES: usize = 64 * 1024;
const BAD_SIGNATURES_PER_SECOND: u32 = 500;

/// The address from which wrong passwords are sent. Wrong passwords from the victim's address would
/// delay the victim's logins by design.
const ATTACKER_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// The request of an attack, and its rate.
struct AttackRequest {
    per_second: u32,
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    /// The bodies of the requests, in turn.
    bodies: Vec<Bytes>,
    /// The token of every second request, if it differs.
    second_token: Option<String>,
    /// The address from which the request is sent, if it must differ from the victim's.
    from: Option<IpAddr>,
}

/// Sends a request on a connection from a given address.
async fn send_from(
    from: IpAddr,
    to: SocketAddr,
    mut request: http::Request<Full<Bytes>>,
) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let socket = TcpSocket::new_v4().map_err(|error| text(&error))?;
    socket
        .bind((from, 0).into())
        .map_err(|error| text(&error))?;
    let stream = socket.connect(to).await.map_err(|error| text(&error))?;
    let host = to.to_string().parse().map_err(|_| "no host".to_owned())?;
    request.headers_mut().insert(http::header::HOST, host);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| text(&error))?;
    tokio::select! {
        answer = sender.send_request(request) => drop(answer),
        _ = connection => {}
    }
    Ok(())
}

pub async fn run(attack: Attack, brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    let shot = Arc::new(attack_request(attack, brief));
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut ticks = interval(Duration::from_secs(1) / shot.per_second);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let _ = ready.send(());
    for n in 0_usize.. {
        ticks.tick().await;
        let Ok(permit) = Arc::clone(&permits).try_acquire_owned() else {
            continue;
        };
        let (shot, http, address) = (Arc::clone(&shot), brief.http(), brief.address);
        tokio::spawn(async move {
            let mut request = http::Request::builder().method(shot.method).uri(&shot.path);
            let second = shot.second_token.as_ref().filter(|_| n % 2 == 1);
            for (name, value) in &shot.headers {
                request = match second {
                    Some(token) if *name == "authorization" => {
                        request.header(*name, format!("Bearer {token}"))
                    }
                    _ => request.header(*name, value),
                };
            }
            let body = shot.bodies[n % shot.bodies.len()].clone();
            if let Ok(request) = request.body(body.into()) {
                let _ = match shot.from {
                    Some(from) => send_from(from, address, request).await.map(drop),
                    None => http.try_send(request).await.map(drop),
                };
            }
            drop(permit);
        });
    }
    Ok(())
}

fn attack_request(attack: Attack, brief: &Brief) -> AttackRequest {
    let json = || ("content-type", "application/json".to_owned());
    let own = || ("authorization", format!("Bearer {}", brief.token));
    let call = "/api/methods/call".to_owned();
    let preview = "/api/event-sinks/preview".to_owned();
    let own_path = || brief.path.clone().unwrap_or_default();
    let target = format!("user.{}.{METHOD}", brief.victim);
    let post = |per_second, path: String, body: String| AttackRequest {
        per_second,
        method: "POST",
        path,
        headers: vec![json(), own()],
        bodies: vec![body.into()],
        second_token: None,
        from: None,
    };
    let get = |per_second, path: String, bearer: (&'static str, String)| AttackRequest {
        per_second,
        method: "GET",
        path,
        headers: vec![bearer],
        bodies: vec![Bytes::new()],
        second_token: None,
        from: None,
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
            // The template runs until it reaches the limit of steps.
            let numbers: Vec<_> = (0..200).map(|n| n.to_string()).collect();
            let list = numbers.join(",");
            let template = format!(
                "[{{% for a in [{list}] %}}{{% for b in [{list}] %}}{{% if a == b %}}{{% endif %}}{{% endfor %}}{{% endfor %}}1]"
            );
            let body = json!({"type": "webhook", "body_template": template});
            post(20, preview, body.to_string())
        }
        Attack::DeepExpressions => AttackRequest {
            bodies: storage::deep_expressions(),
            ..post(5, preview, String::new())
        },
        Attack::Comparisons => AttackRequest {
            second_token: Some(brief.second_token.clone()),
            ..post(4, preview, storage::comparisons())
        },
        Attack::UndeliveredReplays => post(20, own_path(), storage::replay()),
        Attack::JournalFlood => {
            let item = json!({"jsonrpc": "2.0", "id": 1, "method": target});
            post(5, call, json!(vec![item; 1_000]).to_string())
        }
        Attack::AuditFill => AttackRequest {
            method: "PATCH",
            bodies: storage::pattern_changes(),
            ..post(200, own_path(), String::new())
        },
        Attack::History => get(20, "/api/events?limit=500".to_owned(), own()),
        Attack::WrongPasswords => {
            let body = json!({"username": brief.victim, "password": "not the password"});
            AttackRequest {
                headers: vec![json()],
                from: Some(ATTACKER_ADDRESS),
                ..post(20, "/api/auth/login".to_owned(), body.to_string())
            }
        }
        Attack::MadeUpTokens => {
            let made_up = ("authorization", format!("Bearer {}", made_up_token()));
            get(500, "/api/methods".to_owned(), made_up)
        }
        Attack::BadSignatures => {
            let signature = format!("sha256={}", "0".repeat(64));
            let body = json!({"text": "x".repeat(EMIT_BYTES)});
            AttackRequest {
                headers: vec![json(), ("x-hub-signature-256", signature)],
                ..post(BAD_SIGNATURES_PER_SECOND, own_path(), body.to_string())
            }
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

/// A token with a valid checksum, which anyone can compute.
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

/// Creates a source, and returns the path of its URL.
pub async fn make_source(brief: &Brief) -> anyhow::Result<String> {
    let source = json!({"name": "flooded", "verify": {"type": "github"}});
    let created = send(brief, "/api/sources", &source.to_string(), 201).await?;
    let url = created.json()["url"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let at = url
        .find("/in/")
        .context("the URL of a source has no path")?;
    Ok(url[at..].to_owned())
}

/// Sends a request of the attacker; its answer does not matter.
pub async fn post(brief: &Brief, path: &str, body: String) {
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {}", brief.token))
        .body(Bytes::from(body).into());
    if let Ok(request) = request {
        let _ = brief.http().try_send(request).await;
    }
}

pub async fn send(brief: &Brief, path: &str, body: &str, expected: u16) -> anyhow::Result<Answer> {
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
    Ok(answer)
}
