//! `POST /event` over real sockets, with a fake server that sends prepared answers.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    link_status::LinkStatus,
    local_api::{
        LoopbackAccess, PackageRoute, serve_loopback,
        tests::{packages, servers},
    },
    policy::EmitRetry,
};

/// The server's reaction to one request.
#[derive(Clone)]
enum Reaction {
    Answer(String),
    HangUp,
}

/// A server that handles one request after the other and counts connections.
struct FakeServer {
    url: String,
    serving: JoinHandle<(Vec<String>, usize)>,
}

impl FakeServer {
    async fn start(script: Vec<Reaction>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let serving = tokio::spawn(async move {
            let mut heard = Vec::new();
            let mut connections = 0;
            let mut stream = None;
            for reaction in script {
                let mut open = match stream.take() {
                    Some(open) => open,
                    None => {
                        connections += 1;
                        listener.accept().await.expect("accepts").0
                    }
                };
                heard.push(read_request(&mut open).await);
                if let Reaction::Answer(answer) = reaction {
                    open.write_all(answer.as_bytes()).await.expect("writes");
                    stream = Some(open);
                }
            }
            (heard, connections)
        });
        Self { url, serving }
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
                .unwrap_or(0);
            if body.len() >= length {
                return text.into_owned();
            }
        }
        assert_ne!(stream.read_buf(&mut bytes).await.expect("reads"), 0);
    }
}

/// The agent's loopback listener.
struct Agent {
    address: String,
    stop: CancellationToken,
    link: watch::Sender<LinkStatus>,
}

impl Agent {
    async fn start(server: &str) -> Self {
        Self::start_with(server, EmitRetry::default()).await
    }

    async fn start_with(server: &str, retry: EmitRetry) -> Self {
        let linked = LinkStatus {
            link: Some(1),
            ..LinkStatus::default()
        };
        let (link, status) = watch::channel(linked);
        let servers = servers(server);
        let policy = svc_client::Policy::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let address = listener.local_addr().expect("an address").to_string();
        let stop = CancellationToken::new();
        let folder = tempfile::tempdir().expect("a folder");
        let packages = Arc::new(PackageRoute {
            packages: packages(folder.path(), &servers, status.clone()),
            within: Duration::ZERO,
        });
        let events = Arc::new(Events::new(servers, "svc_agt_x", policy, status, retry));
        tokio::spawn(serve_loopback(
            listener,
            LoopbackAccess::SameUser,
            events,
            packages,
            stop.clone(),
            Duration::ZERO,
        ));
        Self {
            address,
            stop,
            link,
        }
    }

    /// Sends an event. Returns the status, the head and the body of the answer.
    async fn post(&self, headers: &str, body: &str) -> (u16, String, Value) {
        let mut stream = TcpStream::connect(&self.address).await.expect("connects");
        let request = format!(
            "POST /event HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("writes");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("reads");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a whole answer");
        let status = head.split(' ').nth(1).expect("a status");
        (
            status.parse().expect("a number"),
            head.to_owned(),
            serde_json::from_str(body).expect("JSON"),
        )
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

const EVENT: &str = r#"{"type":"a","payload":{"n":1.50}}"#;

fn key(request: &str) -> &str {
    let line = request
        .lines()
        .find_map(|line| line.strip_prefix("idempotency-key: "));
    line.expect("a key")
}

#[tokio::test]
async fn events_share_a_connection_and_each_has_its_own_key() {
    let accepted = Reaction::Answer(accepted());
    let server = FakeServer::start(vec![accepted; 3]).await;
    let agent = Agent::start(&server.url).await;
    for headers in ["", "", "idempotency-key: mine\r\n"] {
        let (status, _, body) = agent.post(headers, EVENT).await;
        assert_eq!(status, 202, "{body}");
        assert_eq!(body, json!({"event_id": "1", "event_type": "custom.a"}));
    }
    let (heard, connections) = server.serving.await.expect("served");
    assert_eq!(connections, 1);
    assert_ne!(key(&heard[0]), key(&heard[1]));
    assert_eq!(key(&heard[2]), "mine");
    for request in heard {
        assert!(request.starts_with("POST /api/events/emit "), "{request}");
        assert!(request.contains("authorization: Bearer svc_agt_x\r\n"));
        assert!(request.ends_with(EVENT), "{request}");
    }
}

fn accepted() -> String {
    let body = r#"{"event_id":"1","event_type":"custom.a"}"#;
    let length = body.len();
    format!(
        "HTTP/1.1 202 Accepted\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn after_a_lost_connection_the_event_is_retried_once_with_the_same_key() {
    let accepted = Reaction::Answer(accepted());
    let server = FakeServer::start(vec![Reaction::HangUp, accepted]).await;
    let agent = Agent::start(&server.url).await;
    assert_eq!(agent.post("", EVENT).await.0, 202);
    let (heard, _) = server.serving.await.expect("served");
    assert_eq!(key(&heard[0]), key(&heard[1]));

    let server = FakeServer::start(vec![Reaction::HangUp, Reaction::HangUp]).await;
    let agent = Agent::start(&server.url).await;
    let (status, _, problem) = agent.post("", EVENT).await;
    assert_eq!(status, 503);
    assert_eq!(problem["code"], "server_unreachable");
}

#[tokio::test]
async fn with_several_servers_an_event_goes_to_the_next_server_also_while_the_agent_has_no_link() {
    let accepted = Reaction::Answer(accepted());
    let server = FakeServer::start(vec![accepted; 2]).await;
    let agent = Agent::start(&format!("http://127.0.0.1:1,{}", server.url)).await;
    assert_eq!(agent.post("", EVENT).await.0, 202);
    agent.link.send_replace(LinkStatus::default());
    assert_eq!(agent.post("", EVENT).await.0, 202);
    let (heard, _) = server.serving.await.expect("served");
    assert_eq!(heard.len(), 2);
    let agent = Agent::start("http://127.0.0.1:1,http://127.0.0.1:2").await;
    let (status, _, problem) = agent.post("", EVENT).await;
    assert_eq!(status, 503);
    assert_eq!(problem["code"], "server_unreachable");
}

#[tokio::test]
async fn problems_from_the_server_reach_the_client() {
    let limited = "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\ncontent-length: 23\r\n\r\n{\"code\":\"rate_limited\"}";
    let server = FakeServer::start(vec![Reaction::Answer(limited.to_owned())]).await;
    let agent = Agent::start(&server.url).await;
    let (status, head, problem) = agent.post("", EVENT).await;
    assert_eq!(status, 429);
    assert!(head.contains("retry-after: 1"), "{head}");
    assert!(head.contains("application/problem+json"), "{head}");
    assert_eq!(problem["code"], "rate_limited");
}

#[tokio::test]
async fn with_a_single_server_and_no_link_events_are_refused_and_invalid_events_still_get_400() {
    let agent = Agent::start("http://127.0.0.1:1").await;
    agent.link.send_replace(LinkStatus::default());
    let (status, _, problem) = agent.post("", EVENT).await;
    assert_eq!(status, 503);
    assert_eq!(problem["code"], "not_linked");
    let (status, _, problem) = agent.post("", r#"{"type":"a","payload":[]}"#).await;
    assert_eq!(status, 400);
    assert_eq!(problem["code"], "invalid_event");
}

/// The answer of a server that cannot reach its database.
fn away() -> Reaction {
    let body = r#"{"type":"about:blank","title":"t","status":503,"detail":"d","code":"database_unavailable"}"#;
    let length = body.len();
    Reaction::Answer(format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 1\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
}

fn retry(within: u64) -> EmitRetry {
    EmitRetry {
        within: Duration::from_millis(within),
        pause: Duration::from_millis(10),
        waiting_max: 1,
    }
}

#[tokio::test]
async fn while_the_database_is_away_the_event_is_retried_with_the_same_key() {
    let script = vec![
        away(),
        away(),
        Reaction::HangUp,
        Reaction::Answer(accepted()),
    ];
    let server = FakeServer::start(script).await;
    let agent = Agent::start_with(&server.url, retry(60_000)).await;
    assert_eq!(agent.post("", EVENT).await.0, 202);
    let (heard, _) = server.serving.await.expect("served");
    assert_eq!(heard.len(), 4);
    assert!(heard.iter().all(|request| key(request) == key(&heard[0])));
}

#[tokio::test]
async fn after_the_limit_the_agent_gives_up_and_names_the_key() {
    // More answers than the agent can request before its time limit.
    let server = FakeServer::start(vec![away(); 1_000]).await;
    let agent = Agent::start_with(&server.url, retry(100)).await;
    let (status, head, problem) = agent.post("idempotency-key: mine\r\n", EVENT).await;
    assert_eq!(status, 503);
    assert!(head.contains("retry-after: 1"), "{head}");
    assert_eq!(problem["code"], "database_unavailable");
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("`Idempotency-Key: mine`"), "{detail}");
    server.serving.abort();
}

#[tokio::test]
async fn an_event_is_not_retried_with_prefer_wait_0_or_if_too_many_events_wait() {
    let server = FakeServer::start(vec![away(), Reaction::Answer(accepted())]).await;
    let agent = Agent::start_with(&server.url, retry(60_000)).await;
    let (status, _, problem) = agent.post("prefer: x, wait=0\r\n", EVENT).await;
    assert_eq!((status, &problem["detail"]), (503, &json!("d")));
    assert_eq!(agent.post("", EVENT).await.0, 202);
    let server = FakeServer::start(vec![away(), Reaction::Answer(accepted())]).await;
    let full = EmitRetry {
        waiting_max: 0,
        ..retry(60_000)
    };
    let agent = Agent::start_with(&server.url, full).await;
    assert_eq!(agent.post("", EVENT).await.0, 503);
    assert_eq!(agent.post("", EVENT).await.0, 202);
}
