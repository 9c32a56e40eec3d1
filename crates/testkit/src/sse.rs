//! Server-sent events, read as they arrive.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, task::JoinHandle, time::timeout};

use crate::http::Http;

/// An open stream of events.
pub struct SseStream {
    body: Incoming,
    /// As bytes: a part of the body may end inside a character.
    unread: Vec<u8>,
    connection: JoinHandle<()>,
}

/// One message; comments are skipped.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SseMessage {
    pub id: String,
    pub event: String,
    pub data: String,
}

impl Drop for SseStream {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl SseStream {
    /// Opens a stream; the response must be a 200 of the right type.
    pub async fn open(http: &Http, request: Request<Full<Bytes>>) -> Self {
        let Http::Tcp(address) = http else {
            panic!("streams are read over TCP")
        };
        let stream = TcpStream::connect(address)
            .await
            .expect("the server accepts");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .expect("HTTP/1.1 begins");
        let connection = tokio::spawn(async move { drop(connection.await) });
        let (mut head, body) = request.into_parts();
        let host = address.to_string().parse().expect("a header value");
        head.headers.insert("host", host);
        let answer = sender
            .send_request(Request::from_parts(head, body))
            .await
            .expect("the stream is answered");
        assert_eq!(answer.status(), 200);
        let kind = answer.headers().get("content-type");
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        assert!(kind.starts_with("text/event-stream"), "{kind}");
        Self {
            body: answer.into_body(),
            unread: Vec::new(),
            connection,
        }
    }

    /// The next message; `None` at the end of the stream. Panics if neither arrives in time.
    pub async fn next(&mut self, limit: Duration) -> Option<SseMessage> {
        timeout(limit, self.read())
            .await
            .unwrap_or_else(|_| panic!("no message within {limit:?}"))
    }

    async fn read(&mut self) -> Option<SseMessage> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.unread.drain(..end + 2).collect();
                let message = message(&String::from_utf8_lossy(&block));
                if message != SseMessage::default() {
                    return Some(message);
                }
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(bytes) = frame.into_data() {
                self.unread.extend_from_slice(&bytes);
            }
        }
    }
}

fn message(block: &str) -> SseMessage {
    let mut message = SseMessage::default();
    for line in block.lines() {
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match key {
            "id" => message.id = value.to_owned(),
            "event" => message.event = value.to_owned(),
            "data" => message.data.push_str(value),
            _ => {}
        }
    }
    message
}
