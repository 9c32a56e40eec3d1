//! Connections that send nothing or an incomplete request do not affect other users.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use svc_testkit::{
    Http2, SseStream, TestServer, eventually, fixture, method, peak_resident_mib,
    raise_open_files_limit, result,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};

use crate::SOON;

/// Bytes that do not complete a request: none, one byte, a part of the preface of HTTP/2, the whole
/// preface, a part of a head.
const INCOMPLETE: [&[u8]; 5] = [
    b"",
    b"G",
    b"PRI * HT",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nhost: loc",
];

#[tokio::test]
async fn a_thousand_silent_connections_under_a_small_file_limit_block_no_user() {
    const SILENT: usize = 1_000;
    raise_open_files_limit();
    let limited = "ulimit -S -n 1024 && ulimit -H -n 1024 && exec \"$@\"";
    let server = TestServer::builder()
        .under(&["sh", "-c", limited, "sh"])
        .start()
        .await;
    assert!(
        server
            .log()
            .contains("the limit on open files allows no more"),
        "{}",
        server.log()
    );
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().with(method("echo", "echo"))).await;

    // Each client reconnects when the server closes its connection.
    let (address, connected) = (server.address(), Arc::new(AtomicUsize::new(0)));
    let mut silent = JoinSet::new();
    for number in 0..SILENT {
        let connected = Arc::clone(&connected);
        silent.spawn(async move {
            loop {
                let Ok(mut stream) = TcpStream::connect(address).await else {
                    continue;
                };
                connected.fetch_add(1, Ordering::Relaxed);
                let _ = stream
                    .write_all(INCOMPLETE[number % INCOMPLETE.len()])
                    .await;
                while stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
                // The server may close connections at once. Without a pause, the clients would then
                // use all processor time.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
    }
    eventually("all clients have connected", 3 * SOON, || {
        let connected = connected.load(Ordering::Relaxed);
        async move { connected >= SILENT }
    })
    .await;

    for number in 0..20 {
        let work = async {
            server.try_login("ann", "password of ann").await.expect(200);
            ann.get("/api/methods").await.expect(200);
            let answer = ann.call("echo", json!({"n": number})).await;
            assert_eq!(result(&answer)["n"], number);
        };
        let done = timeout(3 * SOON, work).await;
        assert!(done.is_ok(), "round {number}\n{}", server.log());
    }
    // A new agent can still link.
    let other = ann.space("other").await;
    let second = other.publish(fixture().with(method("other", "echo"))).await;
    silent.shutdown().await;
    assert!(
        !server.log().contains("Too many open files"),
        "{}",
        server.log()
    );
    drop((agent, second));
}

#[tokio::test]
async fn connections_without_a_request_are_closed_and_streams_and_links_stay_open() {
    let server = TestServer::builder()
        .env("SVC_HEAD_SECONDS", "3")
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space.publish(fixture().with(method("echo", "echo"))).await;
    let request = ann.request("GET", "/api/events/stream");
    let request = request.body(Default::default()).unwrap();
    let mut events = SseStream::open(&server.http(), request).await;

    let mut open = Vec::new();
    for bytes in INCOMPLETE {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        open.push((String::from_utf8_lossy(bytes).into_owned(), stream));
    }
    // A connection that is idle after its request.
    let mut used = TcpStream::connect(server.address()).await.unwrap();
    let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    used.write_all(request.as_bytes()).await.unwrap();
    open.push(("a whole request".to_owned(), used));
    for (sent, mut stream) in open {
        let mut rest = Vec::new();
        let ended = timeout(3 * SOON, stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "still open after: {sent:?}");
    }
    // An HTTP/2 connection that is idle after its request.
    let http2 = Http2::connect(server.address()).await;
    let answer = http2.post("/api/auth/login", &[], vec!["{}".into()], true);
    assert_eq!(answer.await.unwrap().unwrap().status, 400);
    eventually("the idle connection is closed", 3 * SOON, || async {
        http2.is_closed()
    })
    .await;

    let emitted = json!({"type": "still.here", "payload": {}});
    ann.post("/api/events/emit", emitted).await.expect(202);
    let event = events.next(SOON).await.expect("the stream is still open");
    assert!(event.data.contains("still.here"), "{}", event.data);
    let answer = ann.call("echo", json!({"n": 1})).await;
    assert_eq!(result(&answer)["n"], 1);
}

#[tokio::test]
async fn unfinished_logins_on_one_connection_take_little_memory() {
    const LOGINS: usize = 400;
    const PIECE: usize = 16 * 1024;
    let server = TestServer::start().await;
    server
        .try_login("admin", "not the password")
        .await
        .expect(401);
    let before = peak_resident_mib(server.id());
    let http2 = Http2::connect(server.address()).await;
    let pieces = vec![bytes::Bytes::from(vec![b' '; PIECE]); 1024 * 1024 / PIECE - 1];
    let logins: Vec<_> = (0..LOGINS)
        .map(|_| http2.post("/api/auth/login", &[], pieces.clone(), false))
        .collect();
    for login in logins {
        // A stream may be reset before its answer is read.
        if let Ok(answer) = login.await.unwrap() {
            assert_eq!(answer.status, 413, "{}", answer.text());
        }
    }
    let taken = peak_resident_mib(server.id()).saturating_sub(before);
    assert!(taken < 64, "{taken} MiB");
}

#[tokio::test]
async fn unfinished_bodies_of_one_user_leave_memory_for_others() {
    const PIECE: usize = 128 * 1024;
    let server = TestServer::builder()
        .config("max_unfinished_body_bytes = 4194304")
        .start()
        .await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let bearer = |token: &str| format!("Bearer {token}");
    let (of_ann, of_ben) = (bearer(&ann.token), bearer(&ben.token));
    let headers = [("authorization", of_ann.as_str())];
    let http2 = Http2::connect(server.address()).await;
    let piece = bytes::Bytes::from(vec![b' '; PIECE]);
    let mut unfinished = JoinSet::new();
    for _ in 0..20 {
        let pieces = vec![piece.clone(); 2];
        let post = http2.post("/api/methods/call", &headers, pieces, false);
        unfinished.spawn(async move { post.await.unwrap() });
    }
    let refused = timeout(3 * SOON, unfinished.join_next()).await;
    let refused = refused.expect("a refusal").unwrap().unwrap().unwrap();
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert_eq!(refused.code(), "too_many_unfinished_bodies");
    assert!(refused.header("retry-after").is_some());
    let text = refused.text();
    assert!(text.contains("max_unfinished_body_bytes"), "{text}");
    assert!(text.contains("1048576"), "{text}");

    let headers = [("authorization", of_ben.as_str())];
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"#;
    let pieces = vec![piece.clone(), piece, call.into()];
    let answer = http2.post("/api/methods/call", &headers, pieces, true);
    let answer = answer.await.unwrap().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());

    // The memory is released with the connection.
    drop((unfinished, http2));
    let headers = [("authorization", of_ann.as_str())];
    eventually("the memory is free", SOON, || async {
        let http2 = Http2::connect(server.address()).await;
        let pieces = vec![vec![b' '; 400 * 1024].into(), call.into()];
        let answer = http2.post("/api/methods/call", &headers, pieces, true);
        answer
            .await
            .unwrap()
            .is_ok_and(|answer| answer.status == 200)
    })
    .await;
}
