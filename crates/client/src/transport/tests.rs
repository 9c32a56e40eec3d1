//! The transport against correct and faulty servers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use svc_protocol::api;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, UnixListener},
};

use super::*;
use crate::{AgentClient, Client, Credential, LoginStep};

mod ambiguous;

/// A server that sends prepared answers, one per request.
struct FakeServer {
    url: String,
    connections: Arc<AtomicUsize>,
    requests: Arc<std::sync::Mutex<Vec<String>>>,
    server: JoinHandle<()>,
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl FakeServer {
    /// Sends `answers` in order on every connection, and closes the connection after the last
    /// answer.
    async fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (count, received) = (Arc::clone(&connections), Arc::clone(&requests));
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer_all(stream, answers.clone(), Arc::clone(&received)));
            }
        });
        Self {
            url,
            connections,
            requests,
            server,
        }
    }

    fn client(&self) -> Client {
        self.client_with(Policy::default())
    }

    fn client_with(&self, policy: Policy) -> Client {
        let target = Target::parse(&self.url, None).expect("an address");
        Client::with_policy(target, policy)
    }

    fn received(&self) -> Vec<String> {
        self.requests.lock().expect("not poisoned").clone()
    }
}

async fn answer_all(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answers: Vec<String>,
    received: Arc<std::sync::Mutex<Vec<String>>>,
) {
    for answer in answers {
        let Some(request) = read_request(&mut stream).await else {
            return;
        };
        received.lock().expect("not poisoned").push(request);
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
    let _ = stream.shutdown().await;
}

async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("content-length: ")?
                        .parse()
                        .ok()
                })
                .unwrap_or(0);
            if body.len() >= length {
                return Some(text.into_owned());
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

const GROUPS: &str = r#"{"groups":[],"next_cursor":null}"#;

#[tokio::test]
async fn a_connection_is_used_again_and_a_closed_one_is_replaced() {
    let ok = answer("200 OK", "", GROUPS);
    let fake = FakeServer::start(vec![ok.clone(), ok]).await;
    let client = fake.client().with_token("svc_pat_1");
    for _ in 0..4 {
        let groups: api::Groups = client
            .list(&api::PageQuery::default(), &())
            .await
            .expect("answered");
        assert!(groups.groups.is_empty());
    }
    assert_eq!(fake.connections.load(Ordering::SeqCst), 2);
    let request = &fake.received()[0];
    assert!(
        request.starts_with("GET /api/groups HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("authorization: Bearer svc_pat_1\r\n"),
        "{request}"
    );
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_rejected() {
    let fake = FakeServer::start(vec![answer("200 OK", "", &"x".repeat(5_000))]).await;
    let client = fake.client_with(Policy {
        answer_bytes_max: 1_000,
        ..Policy::default()
    });
    let error = client.me().await.expect_err("too large");
    assert!(
        matches!(&error, Error::Unexpected { why, .. } if why.contains("1000 bytes")),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_that_never_answers_causes_a_timeout() {
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_owned();
    // The server waits for a second request, which never comes, and so keeps the connection open.
    let fake = FakeServer::start(vec![half, String::new()]).await;
    let client = fake.client_with(Policy {
        answer_timeout: Duration::from_millis(100),
        ..Policy::default()
    });
    let error = client.me().await.expect_err("hangs");
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
}

#[tokio::test]
async fn a_closed_port_and_a_broken_answer_are_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let client = Client::new(Target::parse(&url, None).expect("an address"));
    let error = client.me().await.expect_err("a closed port");
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");

    let fake = FakeServer::start(vec![
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".into(),
    ])
    .await;
    let error = fake.client().me().await.expect_err("cut off");
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");

    let missing = std::env::temp_dir().join("svc-client-no-such.sock");
    let error = AgentClient::new(missing)
        .status()
        .await
        .expect_err("no socket");
    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn problems_keep_their_status_and_code_and_other_answers_are_unexpected() {
    let problem = r#"{"type":"about:blank","title":"Forbidden","status":403,"detail":"no","code":"scope_denied"}"#;
    let fake = FakeServer::start(vec![
        answer(
            "403 Forbidden",
            "content-type: application/problem+json\r\n",
            problem,
        ),
        answer("502 Bad Gateway", "", "<html>"),
        answer("200 OK", "", "{}"),
    ])
    .await;
    let client = fake.client();
    let error = client.me().await.expect_err("a problem");
    assert_eq!(error.status(), Some(StatusCode::FORBIDDEN));
    assert_eq!(error.problem_code(), Some("scope_denied"));
    for _ in 0..2 {
        let error = client.me().await.expect_err("not ours");
        assert!(matches!(error, Error::Unexpected { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_login_takes_its_session_from_the_cookie() {
    let cookie = "set-cookie: other=1\r\nset-cookie: svc_session=svc_ses_1; HttpOnly; Path=/\r\n";
    let fake = FakeServer::start(vec![
        answer("200 OK", cookie, "{}"),
        answer("204 No Content", "", ""),
    ])
    .await;
    let login = api::Login {
        username: "ann".into(),
        password: "secret".into(),
    };
    let step = fake.client().login(&login).await;
    let Ok(LoginStep::SignedIn(session)) = step else {
        panic!("not logged in");
    };
    assert_eq!(
        session.credential(),
        &Credential::Session("svc_session=svc_ses_1".into())
    );
    session.logout().await.expect("logged out");
    assert!(fake.received()[1].contains("cookie: svc_session=svc_ses_1\r\n"));
}

#[tokio::test]
async fn every_page_of_a_list_is_read() {
    let page = |id: u8, next: &str| {
        let body = format!(
            r#"{{"groups":[{{"id":"00000000-0000-0000-0000-00000000000{id}","name":"g{id}","created_at":"2026-01-01T00:00:00.000Z"}}],"next_cursor":{next}}}"#
        );
        answer("200 OK", "", &body)
    };
    let fake = FakeServer::start(vec![page(1, "\"a b\""), page(2, "null"), page(1, "null")]).await;
    let client = fake.client();
    let groups = client.list_all::<api::Groups>(&()).await.expect("listed");
    assert_eq!(groups.len(), 2);
    assert!(fake.received()[1].starts_with("GET /api/groups?cursor=a%20b "));
    let error = client
        .find::<api::Group>("g9")
        .await
        .expect_err("no such group");
    assert_eq!(error.status(), Some(StatusCode::NOT_FOUND));
    assert!(error.to_string().contains("`g9`"), "{error}");
}

#[tokio::test]
async fn several_spaces_of_other_users_with_one_name_are_ambiguous() {
    let id = |n: u8| format!("00000000-0000-0000-0000-00000000000{n}");
    let space = |n: u8| {
        serde_json::json!({
            "id": id(n), "name": "lab", "owner_id": id(n), "owner": format!("user-{n}"),
            "state": "created", "health": "unknown", "runtime": "external", "template_id": null,
            "startup_script_id": null, "space_urls": {}, "node_id": null,
            "health_check": {"type": "none"}, "registration": {"state": "none"},
            "created_at": "2026-01-01T00:00:00.000Z",
        })
    };
    let spaces = serde_json::json!({"spaces": [space(1), space(2)], "next_cursor": null});
    let spaces = answer("200 OK", "", &spaces.to_string());
    let me = |n: u8| {
        let me = serde_json::json!({
            "id": id(n), "username": "me", "roles": [], "groups": [], "permissions": [],
            "credential": "token", "scopes": [], "space_id": null,
        });
        answer("200 OK", "", &me.to_string())
    };
    let answers = vec![spaces.clone(), me(9), spaces.clone(), me(2), spaces];
    let fake = FakeServer::start(answers).await;
    let client = fake.client();
    let error = client.find_space("lab").await.expect_err("ambiguous");
    assert_eq!(error.status(), Some(StatusCode::CONFLICT));
    let text = error.to_string();
    assert!(
        text.contains("several spaces") && text.contains("id"),
        "{text}"
    );
    let own = client.find_space("lab").await.expect("the caller's own");
    assert_eq!(own.owner.as_str(), "user-2");
    let named = client.find_space("user-1/lab").await.expect("named");
    assert_eq!(named.owner.as_str(), "user-1");
}

#[tokio::test]
async fn raw_calls_pass_bytes_both_ways() {
    let result = r#"{"jsonrpc":"2.0","result":{"b":1.50,"a":9007199254740993},"id":"x"}"#;
    let fake = FakeServer::start(vec![answer("200 OK", "", result)]).await;
    let body = br#"{"jsonrpc":"2.0",  "method":"m","params":[1.0],"id":"x"}"#;
    let (status, bytes) = fake
        .client()
        .call_raw(body.to_vec())
        .await
        .expect("answered");
    assert_eq!((status, &bytes[..]), (StatusCode::OK, result.as_bytes()));
    let request = &fake.received()[0];
    assert!(
        request.ends_with(std::str::from_utf8(body).expect("UTF-8")),
        "{request}"
    );
    assert!(
        request.contains("content-type: application/json\r\n"),
        "{request}"
    );
}

#[tokio::test]
async fn an_agent_is_reached_over_its_socket() {
    let path = std::env::temp_dir().join(format!("svc-client-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).expect("bound");
    let received = Arc::new(std::sync::Mutex::new(Vec::new()));
    let requests = Arc::clone(&received);
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.expect("a connection");
        let body = r#"{"removed":["a.b"],"remaining":[]}"#;
        answer_all(stream, vec![answer("200 OK", "", body)], requests).await;
    });
    let agent = AgentClient::new(&path);
    let answer = agent.unregister(Some("a/b")).await.expect("answered");
    server.await.expect("served");
    std::fs::remove_file(&path).expect("removable");
    assert_eq!(answer.removed, ["a.b"]);
    let request = received.lock().expect("not poisoned")[0].clone();
    assert!(
        request.starts_with("DELETE /registration?local_name=a%2Fb HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains("host: localhost\r\n"), "{request}");
}
