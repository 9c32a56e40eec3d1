//! Answers that a client does not read use only its user's share of the memory, and slow readers do
//! not keep it.

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use svc_link::{Frame, FrameKind, VERSION};
use svc_testkit::{Http2, RawLink, TestServer, TestUser, eventually, resident_mib, result};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    task::{AbortHandle, JoinSet},
    time::{MissedTickBehavior, interval, timeout},
};

use crate::SOON;

const MIB: usize = 1024 * 1024;
/// Larger than the buffers of a socket in the kernel.
const LARGE: usize = 6 * MIB;

/// Publishes the method `large` of a user, which returns [`LARGE`] bytes, or as many bytes as its
/// params name.
async fn publish_large(server: &TestServer, user: &TestUser) -> AbortHandle {
    let space = user.space("lab").await;
    let mut link = RawLink::connect(server.address(), &space.agent_token).await;
    link.hello(&[VERSION]).await;
    let method = json!({
        "name": "large", "local_name": "m", "description": "Returns many bytes",
        "scope": "shared", "mcp_tool": true,
    });
    let registration = json!({"server": {"command": "x"}, "methods": [method]});
    link.register(serde_json::from_value(registration).unwrap())
        .await;
    let large = Bytes::from(json!("x".repeat(LARGE)).to_string());
    let small = Bytes::from_static(br#""small""#);
    let answering = tokio::spawn(async move {
        while let Ok(frame) = link.next().await {
            let is_small = frame.payload.windows(5).any(|part| part == b"small");
            let (kind, payload) = match frame.kind {
                FrameKind::Ping => (FrameKind::Pong, Bytes::new()),
                FrameKind::Call if is_small => (FrameKind::Result, small.clone()),
                FrameKind::Call => (FrameKind::Result, large.clone()),
                _ => continue,
            };
            let id = frame.id;
            if link.send(&[Frame { id, kind, payload }]).await.is_err() {
                return;
            }
        }
    });
    answering.abort_handle()
}

/// Sends a call over a new HTTP/1 connection that can receive only a few bytes.
async fn call_without_reading(server: &TestServer, user: &TestUser) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(server.address()).await.unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "large"}).to_string();
    let head = format!(
        "POST /api/methods/call HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{call}",
        user.token,
        call.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// The bytes of unread answers, as the metrics show them.
async fn unread_bytes(server: &TestServer) -> usize {
    let metrics = server
        .http()
        .request("GET", "/metrics", &[], String::new())
        .await;
    let metrics = metrics.expect(200).text();
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("svc_unread_answer_bytes "));
    line.and_then(|count| count.parse().ok())
        .expect("the gauge of unread answers")
}

async fn wait_until_nothing_is_unread(server: &TestServer) {
    eventually("the memory is released", SOON, || async {
        unread_bytes(server).await == 0
    })
    .await;
}

#[tokio::test]
async fn unread_answers_of_one_user_stay_within_their_share() {
    const CONNECTIONS: usize = 20;
    let server = TestServer::builder()
        .config("max_unread_answer_bytes = 67108864")
        .start()
        .await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let _ann = publish_large(&server, &ann).await;
    let _ben = publish_large(&server, &ben).await;
    let before = resident_mib(server.id());
    let mut open = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut stream = call_without_reading(&server, &ann).await;
        open.spawn(async move {
            let mut head = [0; 4_096];
            let read = timeout(3 * SOON, stream.read(&mut head)).await;
            let bytes = read.expect("an answer in time").unwrap();
            (String::from_utf8_lossy(&head[..bytes]).into_owned(), stream)
        });
    }
    let answers = open.join_all();
    let mut answers = std::pin::pin!(answers);
    let mut unread_max = 0;
    let answers = loop {
        tokio::select! {
            answers = &mut answers => break answers,
            unread = unread_bytes(&server) => unread_max = unread_max.max(unread),
        }
    };
    let (refused, large): (Vec<_>, Vec<_>) = answers
        .into_iter()
        .partition(|(head, _)| head.contains("unread_answers"));
    // Two answers fit into a quarter of the budget. Others may follow, because the slowest answer
    // is ended when the share is used up.
    assert!(!refused.is_empty() && large.len() >= 2, "{}", large.len());
    // For a moment, an answer is counted beside the reply that it copies.
    let bound = 16 * MIB + LARGE;
    assert!((LARGE..=bound).contains(&unread_max), "{unread_max}");
    for (refusal, _) in &refused {
        assert!(refusal.contains("-32603"), "{refusal}");
        assert!(refusal.contains("16777216"), "{refusal}");
    }
    let grown = resident_mib(server.id()).saturating_sub(before);
    assert!(grown < 64, "the server grew by {grown} MiB");

    // Other users, and small answers of this user, are not concerned.
    for _ in 0..3 {
        let answer = ben.call("large", json!({})).await;
        assert_eq!(result(&answer).as_str().unwrap().len(), LARGE);
        result(&ann.call("user.ben.large", json!({"size": "small"})).await);
    }
    drop(large);
    wait_until_nothing_is_unread(&server).await;
    let answer = ann.call("large", json!({})).await;
    assert_eq!(result(&answer).as_str().unwrap().len(), LARGE);
}

#[tokio::test]
async fn lists_and_tool_results_are_counted_too() {
    let server = TestServer::builder()
        .config("max_unread_answer_bytes = 67108864")
        .start()
        .await;
    let ann = server.user("ann").await;
    let _ann = publish_large(&server, &ann).await;
    let calls = (0..10).map(|id| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "large"}})
    });
    let calls: Vec<_> = calls.collect();
    let request = ann
        .request("POST", "/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json")
        .header("mcp-protocol-version", "2025-03-26")
        .body(Bytes::from(json!(calls).to_string()).into())
        .unwrap();
    let answer = ann.http().send(request).await.expect(200);
    let answers = answer.json();
    let answers = answers.as_array().unwrap();
    let is_large = |answer: &&serde_json::Value| answer["result"]["isError"] == false;
    let large = answers.iter().filter(is_large).count();
    assert!((1..=2).contains(&large), "{large} large results");
    let dropped = answers.iter().find(|answer| !is_large(answer)).unwrap();
    let text = dropped["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("unread answers"), "{text}");
    wait_until_nothing_is_unread(&server).await;
}

#[tokio::test]
async fn a_connection_that_reads_single_bytes_is_closed() {
    let server = TestServer::builder()
        .env("SVC_ANSWER_STALL_SECONDS", "1")
        .start()
        .await;
    let ann = server.user("ann").await;
    let _ann = publish_large(&server, &ann).await;
    let mut stream = call_without_reading(&server, &ann).await;
    // The answer has begun. It is larger than what the kernel takes, so it is unread until the end
    // of the connection.
    let mut piece = [0; 512];
    let first = timeout(3 * SOON, stream.read(&mut piece)).await;
    assert!(first.expect("an answer in time").unwrap() > 0);
    let mut ticks = interval(Duration::from_millis(100));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let reading = async {
        loop {
            ticks.tick().await;
            if matches!(stream.read(&mut piece).await, Ok(0) | Err(_)) {
                return;
            }
        }
    };
    // After the server has closed the connection, the kernel still sends what it had accepted.
    tokio::select! {
        () = reading => {}
        () = wait_until_nothing_is_unread(&server) => {}
    }
}

#[tokio::test]
async fn an_http2_stream_without_a_window_is_reset_and_the_others_continue() {
    let server = TestServer::builder()
        .env("SVC_ANSWER_STALL_SECONDS", "1")
        .start()
        .await;
    let ann = server.user("ann").await;
    let _ann = publish_large(&server, &ann).await;
    let http2 = Http2::connect(server.address()).await;
    let bearer = format!("Bearer {}", ann.token);
    let headers = [("authorization", bearer.as_str())];
    let call = async |size: &str| {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "large", "params": {"size": size}});
        let call = Bytes::from(call.to_string());
        http2.post_unread("/api/methods/call", &headers, call).await
    };
    // The client reads nothing, so it does not extend the window of this stream.
    let unread = call("large").await;
    wait_until_nothing_is_unread(&server).await;
    unread.read().await.expect_err("the stream was reset");
    // The connection has other streams.
    let small = call("small").await.read().await.unwrap();
    assert!(small.windows(7).any(|part| part == b"\"small\""));
}
