//! Tests with a server whose connections break.

use serde_json::json;
use svc_client::Target;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use uuid::Uuid;

use super::*;
use crate::commands::events::EventSource;

const SHORT: TailPolicy = TailPolicy {
    silence_max: Duration::from_millis(200),
    retry_first: Duration::from_millis(1),
    retry_max: Duration::from_millis(5),
};

fn message(event_type: &str) -> String {
    let record = json!({
        "event_id": Uuid::nil(), "event_type": event_type,
        "event_ts": "1970-01-01T00:00:00.000Z", "owner_id": Uuid::nil(),
        "space_id": Uuid::nil(), "data": {},
        "actor": {"id": null, "username": "system", "kind": "system"},
    });
    format!("id: 1\nevent: {event_type}\ndata: {record}\n\n")
}

fn stream(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{text}")
}

/// Answers one connection after the other. A connection marked `true` stays open and silent.
async fn serve(answers: Vec<(String, bool)>) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        let mut open = Vec::new();
        for (answer, stays) in answers {
            let (mut connection, _) = listener.accept().await.expect("accepts");
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                connection.read_buf(&mut request).await.expect("reads");
            }
            connection
                .write_all(answer.as_bytes())
                .await
                .expect("writes");
            if stays {
                open.push(connection);
            }
        }
    });
    Client::new(Target::parse(&url, None).expect("an address"))
}

#[tokio::test]
async fn a_lost_stream_is_opened_again_and_only_a_refusal_ends_it() {
    let refusal = r#"{"type":"about:blank","title":"Unauthorized","status":401,"detail":"no","code":"unauthorized"}"#;
    let refusal = format!(
        "HTTP/1.1 401 Unauthorized\r\ncontent-length: {}\r\n\r\n{refusal}",
        refusal.len()
    );
    let lagged = "event: lagged\ndata: {\"missed\":3}\n\n";
    let client = serve(vec![
        (
            stream(&format!(": hi\n\n{}{lagged}", message("a.one"))),
            false,
        ),
        (
            "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n".into(),
            false,
        ),
        (stream(&message("a.two")), true),
        (stream(&message("a.three")), false),
        (refusal, false),
    ])
    .await;
    let mut tail = Tail::open(&client, EventSource(Some("a.*")), SHORT)
        .await
        .expect("opens");
    for expected in ["a.one", "a.two", "a.three"] {
        assert_eq!(tail.next().await.expect("an event").event_type, expected);
    }
    let failure = tail.next().await.expect_err("refused");
    assert_eq!(failure.exit, Exit::Credentials);
}

#[tokio::test]
async fn a_stream_that_cannot_be_opened_at_all_is_a_failure() {
    let client = Client::new(Target::parse("http://127.0.0.1:1", None).expect("an address"));
    let failure = Tail::open(&client, EventSource(None), SHORT).await.err();
    assert_eq!(failure.expect("no server there").exit, Exit::Unreachable);
}
