//! Both listeners over real sockets.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use svc_client::Target;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpStream, UnixListener, UnixStream},
    sync::{Notify, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::{
    bind::bind_loopback,
    socket::{default_socket_path, may_connect},
    *,
};
use crate::{
    link::{LinkStatus, Outbox},
    log::SpaceLog,
    method_server::Surroundings,
    policy::Policy,
    registration::{AgentAddresses, Registrar, Routes},
};

/// Sends a request as it stands and reads the answer to its end.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.expect("writes");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("reads");
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> u16 {
    let code = answer.split(' ').nth(1).unwrap_or_default();
    code.parse().unwrap_or_default()
}

fn post(headers: &str, body: &str) -> String {
    format!(
        "POST /event HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

fn events(server: Target, link: watch::Receiver<LinkStatus>) -> Arc<Events> {
    let policy = svc_client::Policy::default();
    Arc::new(Events::new(server, "svc_agt_x", policy, link))
}

#[tokio::test]
async fn the_loopback_listener_refuses_what_a_web_page_could_send() {
    let (listener, address) = bind_loopback(Some("127.0.0.1:0".parse().expect("valid")))
        .await
        .expect("binds");
    let stop = CancellationToken::new();
    let (_status, link) = watch::channel(LinkStatus::default());
    let events = events(
        Target::parse("http://127.0.0.1:1", None).expect("valid"),
        link,
    );
    let serving = tokio::spawn(serve_loopback(
        listener,
        events,
        stop.clone(),
        Duration::ZERO,
    ));
    let json = "content-type: application/json\r\n";
    let host = format!("host: {address}\r\n");
    let event = r#"{"type":"a.b","payload":{}}"#;
    let big = format!(
        r#"{{"type":"a","payload":{{"x":"{}"}}}}"#,
        "x".repeat(300_000)
    );
    let cases = [
        (post(&format!("{host}{json}"), event), 503, "not_linked"),
        (
            post(&format!("host: localhost\r\n{json}"), r#"{"type":"a"}"#),
            503,
            "not_linked",
        ),
        (
            post(&format!("host: evil.example\r\n{json}"), event),
            403,
            "foreign_host",
        ),
        (
            post(
                &format!("host: evil.example:{}\r\n{json}", address.port()),
                event,
            ),
            403,
            "foreign_host",
        ),
        (
            post(&format!("{host}{host}{json}"), event),
            403,
            "foreign_host",
        ),
        (post(json, event), 403, "foreign_host"),
        (
            post(&format!("{host}{json}origin: http://{address}\r\n"), event),
            403,
            "foreign_origin",
        ),
        (
            post(&format!("{host}{json}origin: null\r\n"), event),
            403,
            "foreign_origin",
        ),
        (
            post(
                &format!("{host}content-type: application/x-www-form-urlencoded\r\n"),
                event,
            ),
            415,
            "unsupported_media_type",
        ),
        (
            post(&format!("{host}content-type: text/plain\r\n"), event),
            415,
            "unsupported_media_type",
        ),
        (post(&host, event), 415, "unsupported_media_type"),
        (
            post(&format!("{host}{json}"), &big),
            413,
            "payload_too_large",
        ),
        (post(&format!("{host}{json}"), "{"), 400, "invalid_event"),
        (post(&format!("{host}{json}"), "[]"), 400, "invalid_event"),
        (
            post(&format!("{host}{json}"), r#"{"type":"a","payload":[]}"#),
            400,
            "invalid_event",
        ),
        (
            post(&format!("{host}{json}"), r#"{"type":"a..b"}"#),
            400,
            "invalid_event",
        ),
        (
            post(&format!("{host}{json}"), r#"{"type":"a","more":1}"#),
            400,
            "invalid_event",
        ),
        (
            format!("GET /packages/x.zip HTTP/1.1\r\nconnection: close\r\n{host}\r\n"),
            404,
            "package_not_found",
        ),
        (
            format!("GET /event HTTP/1.1\r\nconnection: close\r\n{host}\r\n"),
            405,
            "method_not_allowed",
        ),
        (
            format!("GET /status HTTP/1.1\r\nconnection: close\r\n{host}\r\n"),
            404,
            "not_found",
        ),
        (
            "GET /nothing HTTP/1.1\r\nconnection: close\r\nhost: evil.example\r\n\r\n".to_owned(),
            403,
            "foreign_host",
        ),
    ];
    for (request, expected, code) in cases {
        let stream = TcpStream::connect(address).await.expect("connects");
        let answer = exchange(stream, &request).await;
        let shown: String = request.chars().take(200).collect();
        assert_eq!(status(&answer), expected, "{shown}\n{answer}");
        assert!(answer.contains(code), "{shown}\n{answer}");
        assert!(answer.contains("application/problem+json"), "{answer}");
    }
    stop.cancel();
    serving.await.expect("ends");
}

#[tokio::test]
async fn a_taken_default_port_gives_way_and_a_chosen_one_does_not() {
    let (_first, _) = bind_loopback(None).await.expect("binds");
    let (_second, address) = bind_loopback(None).await.expect("binds another");
    assert!(address.ip().is_loopback());
    assert!(bind_loopback(Some(address)).await.is_err());
}

#[tokio::test]
async fn a_listener_that_is_not_loopback_is_refused() {
    let everywhere = Some("0.0.0.0:0".parse().expect("valid"));
    assert!(bind_loopback(everywhere).await.is_err());
}

/// A socket whose agent is not linked.
struct Unlinked {
    path: PathBuf,
    shutdown: CancellationToken,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    _file: SocketFile,
    _status: watch::Sender<LinkStatus>,
}

async fn unlinked(folder: &Path, server_url: &str) -> Unlinked {
    let path = default_socket_path(folder).expect("a path");
    let (listener, file) = SocketFile::bind(&path).await.expect("binds");
    let policy = Arc::new(Policy::default());
    let outbox = Arc::new(Outbox::new(1_000));
    let (status, link) = watch::channel(LinkStatus::default());
    let addresses = AgentAddresses {
        url: "http://127.0.0.1:1".into(),
        socket: path.clone(),
    };
    let around = Surroundings {
        outbox: Arc::clone(&outbox),
        log: Arc::new(SpaceLog::new(100)),
        ids: Arc::default(),
        policy: Arc::clone(&policy),
    };
    let registrar = Registrar::new(
        around,
        Arc::new(Routes::new(outbox)),
        link.clone(),
        Arc::new(Notify::new()),
        addresses.clone(),
    );
    let server = Target::parse(server_url, None).expect("valid");
    let shutdown = CancellationToken::new();
    let api = Arc::new(SpaceApi {
        registrar: Arc::new(registrar),
        events: events(server.clone(), link.clone()),
        link,
        addresses,
        proxy: Proxy::new(server, "svc_agt_x", Duration::from_secs(5)).expect("a token"),
        shutdown: shutdown.clone(),
    });
    let stop = CancellationToken::new();
    let serving = tokio::spawn(serve_socket(listener, api, stop.clone(), Duration::ZERO));
    Unlinked {
        path,
        shutdown,
        stop,
        serving,
        _file: file,
        _status: status,
    }
}

impl Unlinked {
    async fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let stream = UnixStream::connect(&self.path).await.expect("connects");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        exchange(stream, &request).await
    }
}

#[tokio::test]
async fn the_socket_is_private_answers_and_says_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let agent = unlinked(folder.path(), "http://127.0.0.1:1").await;
    let mode = std::fs::metadata(&agent.path)
        .expect("there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(
        agent
            .ask("GET", "/status", "")
            .await
            .contains(r#""linked":false"#)
    );
    let file = r#"{"path":"/x/m.toml","text":""}"#;
    let cases = [
        ("POST", "/registration", file, 503, "not_linked"),
        ("POST", "/registration", "{}", 400, "invalid_request"),
        ("POST", "/registration", "{", 400, "invalid_request"),
        (
            "DELETE",
            "/registration?local_name=x",
            "",
            503,
            "not_linked",
        ),
        ("GET", "/api/spaces", "", 503, "server_unreachable"),
        ("POST", "/event", r#"{"type":"a"}"#, 503, "not_linked"),
        ("POST", "/event", r#"{"type":"a b"}"#, 400, "invalid_event"),
        ("GET", "/other", "", 404, "not_found"),
    ];
    for (method, path, body, expected, code) in cases {
        let answer = agent.ask(method, path, body).await;
        assert_eq!(status(&answer), expected, "{method} {path}\n{answer}");
        assert!(answer.contains(code), "{method} {path}\n{answer}");
    }
    assert_eq!(status(&agent.ask("POST", "/stop", "").await), 202);
    assert!(agent.shutdown.is_cancelled());
    let path = agent.path.clone();
    agent.stop.cancel();
    agent.serving.await.expect("ends");
    drop(agent._file);
    assert!(!path.exists());
}

#[tokio::test]
async fn the_proxy_adds_the_credential_and_keeps_the_bytes() {
    let (listener, address) = bind_loopback(Some("127.0.0.1:0".parse().expect("valid")))
        .await
        .expect("binds");
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("accepts");
        let mut request = vec![0; 4_000];
        let mut read = 0;
        while !request[..read].ends_with(b"{ }") {
            read += stream.read(&mut request[read..]).await.expect("reads");
        }
        let answer = "HTTP/1.1 418 Teapot\r\ncontent-type: application/x\r\ncontent-length: 9\r\nkeep-alive: 5\r\n\r\n{ \"b\":1 }";
        stream.write_all(answer.as_bytes()).await.expect("writes");
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    let folder = tempfile::tempdir().expect("a folder");
    let agent = unlinked(folder.path(), &format!("http://{address}/base")).await;
    let answer = agent.ask("POST", "/api/methods/call?x=1", "{ }").await;
    assert_eq!(status(&answer), 418);
    assert!(answer.ends_with("\r\n\r\n{ \"b\":1 }"), "{answer}");
    assert!(
        answer.contains("content-type: application/x\r\n"),
        "{answer}"
    );
    assert!(!answer.contains("keep-alive: 5"), "{answer}");
    let request = serving.await.expect("served");
    assert!(
        request.starts_with("POST /base/api/methods/call?x=1 HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("authorization: Bearer svc_agt_x\r\n"),
        "{request}"
    );
    assert!(
        request.contains(&format!("host: {address}\r\n")),
        "{request}"
    );
    agent.stop.cancel();
}

#[tokio::test]
async fn the_proxy_passes_a_stream_of_events_as_it_comes() {
    let (listener, address) = bind_loopback(Some("127.0.0.1:0".parse().expect("valid")))
        .await
        .expect("binds");
    let (sent, first_read) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("accepts");
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            stream.read_buf(&mut request).await.expect("reads");
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        let first = format!("{head}data: one\n\n");
        stream.write_all(first.as_bytes()).await.expect("writes");
        first_read.await.expect("the first was read");
        stream.write_all(b"data: two\n\n").await.expect("writes");
    });
    let folder = tempfile::tempdir().expect("a folder");
    let agent = unlinked(folder.path(), &format!("http://{address}")).await;
    let client = svc_client::AgentClient::new(&agent.path).into_api();
    let mut events = client.event_stream(None).await.expect("opens");
    let mut next = async || loop {
        match events.next().await.expect("goes on") {
            svc_client::Received::Message(message) => break Some(message.data),
            svc_client::Received::KeepAlive => {}
            svc_client::Received::End => break None,
        }
    };
    assert_eq!(next().await.as_deref(), Some("one"));
    sent.send(()).expect("awaited");
    assert_eq!(next().await.as_deref(), Some("two"));
    assert_eq!(next().await, None);
    serving.await.expect("served");
    agent.stop.cancel();
}

#[tokio::test]
async fn a_stale_socket_is_replaced_and_a_live_one_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.sock");
    drop(UnixListener::bind(&path).expect("binds"));
    assert!(path.exists(), "left behind");
    let (_listener, file) = SocketFile::bind(&path).await.expect("replaces it");
    let error = SocketFile::bind(&path).await.expect_err("it is in use");
    assert!(matches!(error, SocketError::InUse(_)), "{error}");
    assert!(path.exists());
    drop(file);
    std::fs::write(&path, "text").expect("written");
    let error = SocketFile::bind(&path).await.expect_err("a file");
    assert!(matches!(error, SocketError::NotASocket(_)), "{error}");
    let long = folder.path().join("x".repeat(120));
    let error = SocketFile::bind(&long).await.expect_err("too long");
    assert!(matches!(error, SocketError::TooLong(_)), "{error}");
}

#[test]
fn a_deep_folder_gets_a_short_socket_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("d".repeat(100));
    let path = default_socket_path(&deep).expect("a path");
    assert!(path.as_os_str().len() <= 100, "{}", path.display());
    assert!(!path.starts_with(&deep));
    assert_eq!(path, default_socket_path(&deep).expect("a path"));
}

#[test]
fn other_users_may_not_connect() {
    let own = rustix::process::geteuid().as_raw();
    assert!(may_connect(own));
    assert!(may_connect(0));
    assert!(!may_connect(own + 1));
}
