//! Host names and request heads that the server accepts, headers of API responses, and text of
//! users in the log.

use serde_json::json;
use svc_testkit::{ADMIN_PASSWORD, TestServer};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::SOON;

/// Sends bytes and reads until the server closes the connection.
async fn exchange(server: &TestServer, bytes: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let read = timeout(SOON, stream.read_to_end(&mut answer)).await;
    let _ = read.expect("the answer ends");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Method, path and body of requests to all kinds of routes.
fn requests() -> [(&'static str, &'static str, String); 6] {
    let login = json!({"username": "admin", "password": ADMIN_PASSWORD});
    [
        ("GET", "/", String::new()),
        ("GET", "/healthz", String::new()),
        ("GET", "/metrics", String::new()),
        ("GET", "/api/auth/state", String::new()),
        ("POST", "/api/auth/login", login.to_string()),
        ("POST", "/api/methods/call", "{}".to_owned()),
    ]
}

#[tokio::test]
async fn a_loopback_listener_refuses_foreign_host_names() {
    let server = TestServer::builder()
        .config("public_url = \"https://svc.example.com\"\nallowed_hosts = [\"proxy.internal\"]")
        .start()
        .await;
    let port = server.address().port();
    let http = server.http();
    for (method, path, body) in requests() {
        let send = async |host: &str| {
            let headers = [("content-type", "application/json"), ("host", host)];
            http.request(method, path, &headers, body.clone()).await
        };
        for foreign in [format!("evil.example:{port}"), "10.0.0.1".to_owned()] {
            let refused = send(&foreign).await.expect(403);
            assert_eq!(refused.code(), "foreign_host", "{path}");
            assert!(refused.text().contains("allowed_hosts"), "{path}");
        }
        for own in [
            format!("127.0.0.1:{port}"),
            format!("localhost:{port}"),
            "app.localhost".to_owned(),
            "[::1]:9".to_owned(),
            "svc.example.com".to_owned(),
            "proxy.internal:8080".to_owned(),
        ] {
            let answer = send(&own).await;
            assert_ne!(answer.status, 403, "{path} {own}: {}", answer.text());
        }
    }
}

#[tokio::test]
async fn metrics_require_a_host_name_of_this_machine_on_any_listener() {
    let server = TestServer::builder()
        .config("allowed_hosts = [\"*\"]")
        .start()
        .await;
    let get = async |host: &str| {
        let http = server.http();
        http.request("GET", "/metrics", &[("host", host)], "").await
    };
    get("localhost").await.expect(200);
    get("evil.example").await.expect(401);
}

#[tokio::test]
async fn a_request_must_name_exactly_one_host() {
    let server = TestServer::start().await;
    let own = server.address();
    let get = |target: &str, hosts: &str| {
        format!("GET {target} HTTP/1.1\r\n{hosts}connection: close\r\n\r\n")
    };
    let one = format!("host: {own}\r\n");
    for (request, status) in [
        (get("/healthz", &one), 200),
        (get("/healthz", &format!("{one}{one}")), 400),
        (
            get("/healthz", &format!("{one}host: evil.example\r\n")),
            400,
        ),
        (get("/healthz", ""), 400),
        (get(&format!("http://{own}/healthz"), &one), 200),
        (get("http://evil.example/healthz", &one), 400),
        ("GET /healthz HTTP/1.0\r\n\r\n".to_owned(), 200),
    ] {
        let answer = exchange(&server, &request).await;
        let start = format!("HTTP/1.{} {status} ", u8::from(!request.contains("1.0\r")));
        assert!(answer.starts_with(&start), "{request}\n{answer}");
    }
}

#[tokio::test]
async fn request_lines_must_end_with_crlf() {
    let server = TestServer::start().await;
    let own = server.address();
    let good = format!("GET /healthz HTTP/1.1\r\nhost: {own}\r\nconnection: close\r\n\r\n");
    let answer = exchange(&server, &good).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let body = "{\n\"username\": \"admin\"\n}";
    let login = format!(
        "POST /api/auth/login HTTP/1.1\r\nhost: {own}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = exchange(&server, &login).await;
    assert!(answer.contains("invalid_body"), "{answer}");
    for bad in [
        good.replace('\r', ""),
        good.replace("close\r\n", "close\nx: y\r\n"),
        good.replace("close\r\n", "close\r\n y\r\n"),
        // The bad request follows a good request on the same connection.
        good.replace("connection: close\r\n", "") + &good.replace('\r', ""),
    ] {
        let answer = exchange(&server, &bad).await;
        let last = answer.rsplit("HTTP/1.1 ").next().unwrap_or_default();
        assert!(last.starts_with("400 "), "{bad:?}\n{answer}");
    }
}

#[tokio::test]
async fn a_body_with_two_lengths_ends_the_connection() {
    let server = TestServer::start().await;
    let own = server.address();
    // The chunks decide the length; the rest is not parsed as another request.
    let request = format!(
        "POST /api/auth/login HTTP/1.1\r\nhost: {own}\r\ncontent-type: application/json\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: {own}\r\n\r\n"
    );
    let answer = exchange(&server, &request).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[tokio::test]
async fn api_responses_forbid_caching_and_content_sniffing() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for answer in [
        ann.get("/api/auth/me").await,
        ann.get("/api/methods").await,
        ann.get("/api/nothing").await,
        ann.get("/api/users").await,
        ann.post("/api/spaces", "not JSON").await,
        ann.call_raw(r#"{"jsonrpc":"2.0","id":1,"method":"none"}"#)
            .await,
        ann.call_raw(r#"{"jsonrpc":"2.0","method":"none"}"#).await,
        ann.with_token("none").call_raw("{}").await,
        ann.post("/mcp", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
            .await,
        ann.get("/api/openapi.json").await,
        server.http().request("GET", "/api/auth/me", &[], "").await,
    ] {
        let text = answer.text();
        let (sniff, cache) = ("x-content-type-options", "cache-control");
        assert_eq!(answer.header(sniff), Some("nosniff"), "{text}");
        assert_eq!(answer.header(cache), Some("no-store"), "{text}");
    }
}

#[tokio::test]
async fn a_proxy_that_is_not_trusted_is_reported_once() {
    const SETTING: &str = "`trusted_proxies` is empty";
    let mut server = TestServer::start().await;
    assert!(!server.log().contains(SETTING));
    for header in ["x-forwarded-for", "forwarded", "x-forwarded-for"] {
        let headers = [(header, "for=192.0.2.1")];
        let http = server.http();
        http.request("GET", "/healthz", &headers, "")
            .await
            .expect(200);
    }
    server.process().wait_for_log(SETTING, SOON).await;
    assert_eq!(server.log().matches(SETTING).count(), 1, "{}", server.log());

    let server = TestServer::builder()
        .config("trusted_proxies = [\"127.0.0.0/8\"]")
        .start()
        .await;
    let headers = [("x-forwarded-for", "192.0.2.1")];
    let http = server.http();
    http.request("GET", "/healthz", &headers, "")
        .await
        .expect(200);
    assert!(!server.log().contains(SETTING));
}

#[tokio::test]
async fn text_from_users_cannot_forge_log_lines() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let group = "ghosts\n2026-01-01T00:00:00Z ERROR forged\u{1b}[31m\u{202e}";
    let method = svc_testkit::method("echo", "echo")
        .shared()
        .groups(&[group]);
    let registration = svc_testkit::fixture().with(method).to_string();
    // The registration is refused, and the log names the missing group.
    let registration = registration.replace('\u{1b}', "\\u001b");
    let refused = agent.register(&registration).await;
    assert_ne!(refused.code, 0, "{}", refused.stderr);
    let line = server.process().wait_for_log("ghosts", SOON).await;
    assert!(line.contains("ghosts\\n2026"), "{line:?}");
    let log = server.log();
    assert!(
        !log.lines()
            .any(|line| line.starts_with("2026-01-01T00:00:00Z ERROR forged")),
        "{log}"
    );
    assert!(!log.contains(['\u{1b}', '\u{202e}']), "{log}");
    // The command line escapes the text too.
    assert!(
        !refused.stderr.contains(['\u{1b}', '\u{202e}']),
        "{}",
        refused.stderr
    );
}
