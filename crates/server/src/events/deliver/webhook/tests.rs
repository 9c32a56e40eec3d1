//! Attempts at well-behaved and hostile receivers, on real sockets.

use std::net::SocketAddr;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;
use sha2::{Digest, Sha256};
use svc_core::{EventId, SpaceId, event::Actor, json_text::JsonText};
use svc_outbound::{AddressGuard, LOOPBACK, Lookups};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::mpsc,
    task::JoinHandle,
};

use super::*;

const BODY: &str = r#"{"event_id":"1"}"#;

/// How the receiver answers a request.
#[derive(Clone)]
enum Behaviour {
    Whole(String),
    Hang,
    /// Sends a valid head, then one byte at a time without end.
    Drip,
    CloseAtOnce,
    /// Sends a valid head that announces more bytes than follow.
    BreakOff,
    Endless,
}

struct Receiver {
    address: SocketAddr,
    requests: mpsc::UnboundedReceiver<String>,
    server: JoinHandle<()>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Receiver {
    async fn start(behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let (requests_sender, requests) = mpsc::unbounded_channel();
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, behaviour.clone(), requests_sender.clone()));
            }
        });
        Self {
            address,
            requests,
            server,
        }
    }

    fn url(&self) -> String {
        format!("http://{}/hook?a=b", self.address)
    }
}

async fn serve(
    mut stream: TcpStream,
    behaviour: Behaviour,
    requests_sender: mpsc::UnboundedSender<String>,
) {
    let mut request = Vec::new();
    let mut buffer = [0; 4_096];
    while !request.ends_with(BODY.as_bytes()) {
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => request.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
    let _ = requests_sender.send(String::from_utf8(request).expect("text"));
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 104857600\r\n\r\n";
    let written = match behaviour {
        Behaviour::Whole(answer) => stream.write_all(answer.as_bytes()).await,
        Behaviour::CloseAtOnce => Ok(()),
        Behaviour::BreakOff => stream.write_all(format!("{head}some").as_bytes()).await,
        Behaviour::Hang => std::future::pending().await,
        Behaviour::Drip => {
            let _ = stream.write_all(head.as_bytes()).await;
            loop {
                if stream.write_all(b"x").await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Behaviour::Endless => {
            let _ = stream.write_all(head.as_bytes()).await;
            for _ in 0..1_600 {
                if stream.write_all(&[b'y'; 64 * 1024]).await.is_err() {
                    let _ = requests_sender.send("closed by the sender".to_owned());
                    return;
                }
            }
            Ok(())
        }
    };
    drop(written);
}

/// Its attempts may take long, because the machine may be busy.
fn webhook() -> Webhook {
    webhook_with(Duration::from_secs(60))
}

fn webhook_with(timeout: Duration) -> Webhook {
    Webhook {
        outbound: Arc::new(outbound()),
        time_max: timeout,
    }
}

/// May reach this machine.
fn outbound() -> Outbound {
    let allow: Vec<_> = LOOPBACK.iter().map(ToString::to_string).collect();
    Outbound::new(AddressGuard::new(&allow).expect("valid"))
}

/// Resolves every name to this address.
fn lookups(address: SocketAddr) -> Lookups {
    Lookups::with(8, Arc::new(move |_, _| Ok(vec![address])))
}

fn event() -> Event {
    Event {
        id: EventId::NIL,
        r#type: "custom.x".to_owned(),
        ts: Timestamp(1_794_700_800_123),
        owner_id: UserId::NIL,
        space_id: SpaceId::NIL,
        actor: Actor::system(),
        data: JsonText::from(&json!({})),
        trace: None,
    }
}

async fn send(webhook: &Webhook, url: &str) -> (AttemptDetail, bool) {
    let headers = BTreeMap::from([("X-Team".to_owned(), "blue".to_owned())]);
    let secrets = [vec![1; 32], vec![2; 24]];
    let event = event();
    let request = WebhookRequest {
        user: UserId::NIL,
        url,
        headers: &headers,
        format: WebhookFormat::Default,
        tls: TlsSettings::default(),
        body: BODY.to_owned(),
        event: &event,
        secrets: &secrets,
        now: Timestamp(1_794_700_999_999),
        lane: None,
        keep_exchange: true,
    };
    let detail = webhook.send(request).await;
    let delivered = detail.error.is_none();
    (detail, delivered)
}

fn whole(status: &str, body: &str) -> Behaviour {
    Behaviour::Whole(format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

/// HMAC-SHA-256 as RFC 2104 defines it, independent of the library that the product uses.
fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let inner = Sha256::new()
        .chain_update(block.map(|byte: u8| byte ^ 0x36))
        .chain_update(message)
        .finalize();
    Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x5c))
        .chain_update(inner)
        .finalize()
        .to_vec()
}

#[tokio::test]
async fn a_request_is_signed_in_both_ways_and_carries_the_event() {
    let mut receiver = Receiver::start(whole("204 No Content", "")).await;
    let (detail, delivered) = send(&webhook(), &receiver.url()).await;
    assert!(delivered, "{detail:?}");
    assert_eq!((detail.status, detail.error), (Some(204), None));
    let request = receiver.requests.recv().await.expect("a request");
    let (head, body) = request.split_once("\r\n\r\n").expect("a head");
    assert_eq!(body, BODY);
    let mut lines = head.lines();
    assert_eq!(lines.next(), Some("POST /hook?a=b HTTP/1.1"));
    let headers: BTreeMap<_, _> = lines
        .map(|line| line.split_once(": ").expect("a header"))
        .collect();
    let hex: String = hmac(&[1; 32], BODY.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let id = EventId::NIL.to_string();
    let signed = format!("{id}.1794700999.{BODY}");
    let standard = [vec![1; 32], vec![2; 24]]
        .map(|key| format!("v1,{}", STANDARD.encode(hmac(&key, signed.as_bytes()))))
        .join(" ");
    let expected = BTreeMap::from([
        ("host", receiver.address.to_string()),
        ("connection", "close".to_owned()),
        ("content-length", BODY.len().to_string()),
        ("content-type", "application/json".to_owned()),
        ("user-agent", format!("svc/{}", env!("CARGO_PKG_VERSION"))),
        ("x-team", "blue".to_owned()),
        ("x-service-event-id", id.clone()),
        ("x-service-event-type", "custom.x".to_owned()),
        ("x-service-event-ts", "2026-11-15T00:00:00.123Z".to_owned()),
        ("x-service-signature", format!("sha256={hex}")),
        ("webhook-id", id),
        ("webhook-timestamp", "1794700999".to_owned()),
        ("webhook-signature", standard),
    ]);
    let headers: BTreeMap<_, _> = headers
        .into_iter()
        .map(|(name, value)| (name, value.to_owned()))
        .collect();
    assert_eq!(headers, expected);
}

#[tokio::test]
async fn only_a_2xx_status_counts_as_delivered() {
    for (status, delivered) in [
        ("200 OK", true),
        ("202 Accepted", true),
        ("301 Moved Permanently", false),
        ("304 Not Modified", false),
        ("400 Bad Request", false),
        ("503 Service Unavailable", false),
    ] {
        let receiver = Receiver::start(whole(status, "")).await;
        let (detail, ok) = send(&webhook(), &receiver.url()).await;
        assert_eq!(ok, delivered, "{status}: {detail:?}");
        assert_eq!(detail.error.is_none(), delivered, "{status}: {detail:?}");
        assert_eq!(
            detail.status.map(|code| code.to_string()).as_deref(),
            status.split(' ').next()
        );
    }
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_never_followed() {
    let mut elsewhere = Receiver::start(whole("200 OK", "")).await;
    let answer = format!(
        "HTTP/1.1 301 Moved\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
        elsewhere.url()
    );
    let receiver = Receiver::start(Behaviour::Whole(answer)).await;
    let (detail, delivered) = send(&webhook(), &receiver.url()).await;
    assert!(!delivered);
    assert_eq!(detail.status, Some(301));
    assert!(detail.error.expect("a reason").contains("redirect"));
    assert!(elsewhere.requests.try_recv().is_err());
}

#[tokio::test]
async fn a_receiver_that_hangs_drips_or_closes_fails_the_attempt_in_time() {
    // The head of the dripping answer must arrive within the time limit, also on a busy machine.
    let (short, long) = (Duration::from_millis(700), Duration::from_secs(15));
    let patient = Duration::from_secs(60);
    for (behaviour, timeout, status, part) in [
        (Behaviour::Hang, short, None, "within 0.7 s"),
        (Behaviour::Drip, long, Some(200), "within 15.0 s"),
        (Behaviour::CloseAtOnce, patient, None, "no answer"),
        (Behaviour::BreakOff, patient, Some(200), "broke off"),
        (
            Behaviour::Whole("nonsense\r\n\r\n".into()),
            patient,
            None,
            "no answer",
        ),
    ] {
        let receiver = Receiver::start(behaviour).await;
        let began = Instant::now();
        let (detail, delivered) = send(&webhook_with(timeout), &receiver.url()).await;
        assert!(!delivered, "{detail:?}");
        assert_eq!(detail.status, status, "{detail:?}");
        let error = detail.error.expect("a reason");
        assert!(error.contains(part), "{error}");
        assert!(began.elapsed() < Duration::from_secs(50));
    }
}

#[tokio::test]
async fn an_ambiguous_answer_is_a_failure_with_the_reason() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n";
    for (answer, why) in [
        (
            "HTTP/1.1 200 OK\ncontent-length: 0\n\n".to_owned(),
            "LF alone",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: a\r\n b\r\n\r\n".to_owned(),
            "continues on the next line",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length : 0\r\n\r\n".to_owned(),
            "white space before its colon",
        ),
        (
            format!("{chunked}content-length: 5\r\n\r\n0\r\n\r\n"),
            "both `Content-Length` and `Transfer-Encoding`",
        ),
        (
            format!("{chunked}\r\n1 \r\na\r\n0\r\n\r\n"),
            "the chunk size `1 ` has white space",
        ),
    ] {
        let mut receiver = Receiver::start(Behaviour::Whole(answer)).await;
        let (detail, delivered) = send(&webhook(), &receiver.url()).await;
        assert!(!delivered, "{detail:?}");
        let error = detail.error.expect("a reason");
        assert!(error.contains("not valid HTTP/1.1"), "{error}");
        assert!(error.contains(why), "{error}");
        receiver.requests.recv().await.expect("the request");
        assert!(receiver.requests.try_recv().is_err(), "sent once");
    }
}

#[tokio::test]
async fn an_endless_answer_is_a_failure_and_its_first_16_kib_are_kept() {
    let mut receiver = Receiver::start(Behaviour::Endless).await;
    let (detail, delivered) = send(&webhook(), &receiver.url()).await;
    assert!(!delivered, "{detail:?}");
    assert_eq!(
        detail.error.as_deref(),
        Some("the answer has more than 1048576 bytes")
    );
    assert_eq!(detail.output.expect("an excerpt").len(), 16 * 1024);
    receiver.requests.recv().await.expect("the request");
    let closed = receiver.requests.recv().await;
    assert_eq!(closed.as_deref(), Some("closed by the sender"));
}

#[tokio::test]
async fn an_excerpt_replaces_nul_characters() {
    let receiver = Receiver::start(whole("500 Oh", "caf\u{e9}\0")).await;
    let (detail, delivered) = send(&webhook(), &receiver.url()).await;
    assert!(!delivered);
    assert_eq!(detail.output.as_deref(), Some("caf\u{e9}\u{fffd}"));
    assert_eq!(detail.error.as_deref(), Some("the receiver answered 500"));
}

#[tokio::test]
async fn the_wait_that_a_receiver_asks_for_is_part_of_the_attempt() {
    for (header, wait) in [
        ("retry-after: 7\r\n", Some(Duration::from_secs(7))),
        ("", None),
    ] {
        let answer = format!("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n{header}\r\n");
        let receiver = Receiver::start(Behaviour::Whole(answer)).await;
        let (detail, _) = send(&webhook(), &receiver.url()).await;
        assert_eq!(detail.retry_after, wait, "{detail:?}");
    }
}

#[tokio::test]
async fn a_blocked_address_is_a_failed_attempt_with_the_reason() {
    let mut receiver = Receiver::start(whole("200 OK", "")).await;
    let strict = || Outbound::new(AddressGuard::default());
    let webhook = Webhook::new(Arc::new(strict()));
    let port = receiver.address.port();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"] {
        let (detail, delivered) = send(&webhook, &format!("http://{host}:{port}/")).await;
        assert!(!delivered, "{host}");
        let error = detail.error.expect("a reason");
        assert!(
            error.contains("not globally routable") || error.contains("does not resolve"),
            "{host}: {error}"
        );
    }
    // A public name that resolves to an internal address.
    let rebound = strict().with_lookups(lookups(receiver.address));
    let rebound = Webhook::new(Arc::new(rebound));
    let (detail, delivered) = send(&rebound, "http://hooks.example.org/").await;
    assert!(!delivered);
    let error = detail.error.expect("a reason");
    assert!(
        error.contains("`hooks.example.org` is not an allowed"),
        "{error}"
    );
    assert!(!error.contains("127.0.0.1"), "{error}");
    assert!(receiver.requests.try_recv().is_err(), "nothing was sent");
}

#[tokio::test]
async fn a_refused_connection_is_a_failed_attempt() {
    // The socket does not listen, and keeps the port from other processes.
    let socket = TcpSocket::new_v4().expect("a socket");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(any).expect("bound");
    let address = socket.local_addr().expect("an address");
    let (detail, delivered) = send(&webhook(), &format!("http://{address}/")).await;
    assert!(!delivered);
    let error = detail.error.expect("a reason");
    assert!(error.contains("cannot connect"), "{error}");

    // The address behind a name is not shown, even if it is allowed.
    let inner = Webhook {
        outbound: Arc::new(outbound().with_lookups(lookups(address))),
        ..webhook()
    };
    let (detail, delivered) = send(&inner, "http://hooks.example.org:8080/").await;
    assert!(!delivered);
    let error = detail.error.expect("a reason");
    let expected = "cannot connect to `hooks.example.org`, port 8080: ";
    assert!(error.starts_with(expected), "{error}");
    assert!(!error.contains("127.0.0.1"), "{error}");
}
