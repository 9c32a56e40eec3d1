//! Connections that a lane uses again, and connections that it must not use again.

use http::{
    HeaderMap, HeaderValue, Method,
    header::{CONNECTION, HOST, RETRY_AFTER},
};
use svc_client::TlsSettings;
use svc_core::{LaneId, UserId};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinHandle,
    time::timeout,
};
use uuid::Uuid;

use super::*;

const BODY: &str = r#"{"event_id":"1"}"#;

/// Serves several requests on a connection. Records the number of the connection for each request.
struct KeepAliveReceiver {
    address: SocketAddr,
    requests: mpsc::UnboundedReceiver<usize>,
    server: JoinHandle<()>,
}

impl Drop for KeepAliveReceiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Decides what a receiver does with a request. The arguments are the number of the connection and
/// the number of the request on this connection. Both begin with 1.
type Script = fn(usize, usize) -> Reaction;

#[derive(Clone, Copy)]
enum Reaction {
    /// Sends these bytes and waits for the next request.
    Answer(&'static str),
    /// Sends these bytes, then closes the connection.
    Last(&'static str),
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

impl KeepAliveReceiver {
    async fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let (sender, requests) = mpsc::unbounded_channel();
        let server = tokio::spawn(async move {
            let mut count = 0;
            while let Ok((stream, _)) = listener.accept().await {
                count += 1;
                tokio::spawn(serve_many(stream, count, script, sender.clone()));
            }
        });
        Self {
            address,
            requests,
            server,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// For each request since the last call of this function, the number of its connection.
    fn connections(&mut self) -> Vec<usize> {
        std::iter::from_fn(|| self.requests.try_recv().ok()).collect()
    }
}

async fn serve_many(
    mut stream: TcpStream,
    connection: usize,
    script: Script,
    sender: mpsc::UnboundedSender<usize>,
) {
    let mut buffer = [0; 4_096];
    for request in 1.. {
        let mut read = Vec::new();
        while !read.ends_with(BODY.as_bytes()) {
            match stream.read(&mut buffer).await {
                Ok(bytes) if bytes > 0 => read.extend_from_slice(&buffer[..bytes]),
                _ => return,
            }
        }
        let _ = sender.send(connection);
        let (Reaction::Answer(bytes) | Reaction::Last(bytes)) = script(connection, request);
        if stream.write_all(bytes.as_bytes()).await.is_err() {
            return;
        }
        if matches!(script(connection, request), Reaction::Last(_)) {
            return;
        }
    }
}

fn lane(number: u128) -> Option<LaneOwner> {
    Some(LaneOwner {
        lane: LaneId(Uuid::from_u128(number)),
        owner: Some(UserId::NIL),
    })
}

/// May reach this machine. Its connections may be idle for long, because the machine may be busy.
fn outbound() -> Outbound {
    let allow: Vec<_> = LOOPBACK.iter().map(ToString::to_string).collect();
    let mut outbound = Outbound::new(AddressGuard::new(&allow).expect("valid"));
    outbound.connections = Connections::new(IdleLimits {
        time: Duration::from_secs(60),
        ..IdleLimits::default()
    });
    outbound
}

async fn send_on(
    outbound: &Outbound,
    url: &str,
    lane: Option<LaneOwner>,
) -> (Answer, Result<(), OutboundError>) {
    let location = Location::parse(url).expect("valid");
    let host = HeaderValue::from_str(&location.authority).expect("a host");
    let mut headers = HeaderMap::from_iter([(HOST, host)]);
    if lane.is_none() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    let request = Request {
        user: UserId::NIL,
        method: Method::POST,
        url,
        location,
        headers,
        body: BODY.into(),
        tls: TlsSettings::default(),
        lane,
        answer_bytes_max: 16 * 1024,
    };
    let mut progress = Progress::default();
    let sent = timeout(
        Duration::from_secs(60),
        outbound.send(&request, &mut progress),
    );
    let sent = sent.await.expect("it ends in time");
    (progress.answer, sent)
}

/// Sends a request on a lane and checks that its answer is complete.
async fn deliver(outbound: &Outbound, url: &str, number: u128) {
    let (answer, sent) = send_on(outbound, url, lane(number)).await;
    assert!(sent.is_ok(), "{sent:?}");
    assert!(answer.status.is_some_and(|status| status.is_success()));
}

#[tokio::test]
async fn a_lane_uses_its_connection_again_and_shares_it_with_no_other_lane() {
    let mut receiver = KeepAliveReceiver::start(|_, _| Reaction::Answer(OK)).await;
    let outbound = outbound();
    for number in [1, 1, 2, 1, 2] {
        deliver(&outbound, &receiver.url("/"), number).await;
    }
    assert_eq!(receiver.connections(), [1, 1, 2, 1, 2]);
    assert_eq!(outbound.connections.count(), 2);
    // A request without a lane neither uses nor keeps the connection of a lane.
    let (_, sent) = send_on(&outbound, &receiver.url("/"), None).await;
    assert!(sent.is_ok(), "{sent:?}");
    assert_eq!(receiver.connections(), [3]);
    assert_eq!(outbound.connections.count(), 2);
}

#[tokio::test]
async fn a_kept_connection_is_not_used_for_another_url_or_if_the_guard_forbids_it() {
    let mut receiver = KeepAliveReceiver::start(|_, _| Reaction::Answer(OK)).await;
    let mut outbound = outbound();
    for path in ["/a", "/b", "/b"] {
        deliver(&outbound, &receiver.url(path), 1).await;
    }
    assert_eq!(receiver.connections(), [1, 2, 2]);
    outbound.guard = AddressGuard::default();
    let (_, sent) = send_on(&outbound, &receiver.url("/b"), lane(1)).await;
    assert!(sent.is_err());
    assert!(receiver.connections().is_empty());
}

#[tokio::test]
async fn a_connection_closed_by_the_receiver_costs_no_attempt() {
    // Each connection takes two requests; the second is read and never answered.
    let script: Script = |_, request| match request {
        1 => Reaction::Answer(OK),
        _ => Reaction::Last(""),
    };
    let mut receiver = KeepAliveReceiver::start(script).await;
    let outbound = outbound();
    for _ in 0..3 {
        deliver(&outbound, &receiver.url("/"), 1).await;
    }
    // The second and the third delivery were sent twice: on the kept connection and on a new one.
    assert_eq!(receiver.connections(), [1, 1, 2, 2, 3]);

    // The receiver closes the connection while it is idle: nothing is sent on it.
    let mut receiver = KeepAliveReceiver::start(|_, _| Reaction::Last(OK)).await;
    for _ in 0..3 {
        deliver(&outbound, &receiver.url("/"), 1).await;
    }
    assert_eq!(receiver.connections(), [1, 2, 3]);
}

#[tokio::test]
async fn only_a_kept_connection_that_answered_nothing_is_replaced() {
    // A request that fails on a new connection is not sent again.
    let mut receiver = KeepAliveReceiver::start(|_, _| Reaction::Last("")).await;
    let outbound = outbound();
    let (_, sent) = send_on(&outbound, &receiver.url("/"), lane(1)).await;
    let error = sent.expect_err("no answer").to_string();
    assert!(error.contains("closed the connection before"), "{error}");
    assert_eq!(receiver.connections(), [1]);

    // The request fails on the kept connection and then on a new one. It is not sent a third time.
    let script: Script = |connection, request| match (connection, request) {
        (1, 1) => Reaction::Answer(OK),
        _ => Reaction::Last(""),
    };
    let mut receiver = KeepAliveReceiver::start(script).await;
    deliver(&outbound, &receiver.url("/"), 1).await;
    let (_, sent) = send_on(&outbound, &receiver.url("/"), lane(1)).await;
    assert!(sent.is_err());
    assert_eq!(receiver.connections(), [1, 1, 2]);

    // A part of an answer shows that the receiver got the request, so it is not sent again.
    for part in [
        "HTTP/1.1 2",
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok",
    ] {
        let script: Script = match part.len() {
            10 => |_, request| match request {
                1 => Reaction::Answer(OK),
                _ => Reaction::Last("HTTP/1.1 2"),
            },
            _ => |_, request| match request {
                1 => Reaction::Answer(OK),
                _ => Reaction::Last("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"),
            },
        };
        let mut receiver = KeepAliveReceiver::start(script).await;
        deliver(&outbound, &receiver.url("/"), 1).await;
        let (_, sent) = send_on(&outbound, &receiver.url("/"), lane(1)).await;
        assert!(sent.is_err());
        assert_eq!(receiver.connections(), [1, 1], "{part}");
    }
}

#[tokio::test]
async fn connections_that_end_or_have_extra_bytes_are_not_kept() {
    let scripts: [Script; 4] = [
        |_, _| {
            Reaction::Answer("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
        },
        |_, _| Reaction::Answer("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"),
        |_, _| {
            Reaction::Answer(
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            )
        },
        |_, _| Reaction::Answer("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nx"),
    ];
    for (index, script) in scripts.into_iter().enumerate() {
        let mut receiver = KeepAliveReceiver::start(script).await;
        let outbound = outbound();
        for _ in 0..2 {
            deliver(&outbound, &receiver.url("/"), 1).await;
        }
        assert_eq!(receiver.connections(), [1, 2], "{index}");
        assert_eq!(outbound.connections.count(), 0, "{index}");
    }
}

#[tokio::test]
async fn failed_statuses_and_chunked_answers_keep_the_connection() {
    let scripts: [Script; 3] = [
        |_, _| Reaction::Answer("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nretry-after: 7\r\n\r\n"),
        |_, _| {
            Reaction::Answer(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            )
        },
        |_, _| Reaction::Answer("HTTP/1.1 204 No Content\r\n\r\n"),
    ];
    for (index, script) in scripts.into_iter().enumerate() {
        let mut receiver = KeepAliveReceiver::start(script).await;
        let outbound = outbound();
        for _ in 0..2 {
            let (answer, sent) = send_on(&outbound, &receiver.url("/"), lane(1)).await;
            assert!(sent.is_ok(), "{sent:?}");
            assert_eq!(answer.headers.contains_key(RETRY_AFTER), index == 0);
        }
        assert_eq!(receiver.connections(), [1, 1], "{index}");
    }
}
