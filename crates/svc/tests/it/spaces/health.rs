//! Health checks and the health of a space (spec 3, 6.1).

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};
use svc_testkit::{TestServer, free_port};

use crate::SOON;

fn checked(check: Value) -> Value {
    let mut body = json!({"interval_seconds": 1, "timeout_seconds": 1, "failures": 2});
    for (key, value) in check.as_object().unwrap() {
        body[key] = value.clone();
    }
    body
}

#[tokio::test]
async fn s3_s6_1_health_by_tcp() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    // The test releases the port and takes it again, so Linux must not assign it meanwhile.
    let port = free_port();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let check = checked(json!({"type": "tcp", "port": port}));
    let space = ann
        .space_with(json!({"name": "lab", "health_check": check}))
        .await;
    assert_eq!(space.record().await["health_check"]["port"], port);
    let mut agent = space.agent().await;
    space.wait_for_health("healthy", SOON).await;
    drop(listener);
    space.wait_for_health("unhealthy", SOON).await;
    let _listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    space.wait_for_health("healthy", SOON).await;
    // When the space stops, its health is unknown again.
    agent.stop().await;
    space.wait_for_state("stopped", SOON).await;
    assert_eq!(space.record().await["health"], "unknown");
}

#[tokio::test]
async fn s3_s6_1_health_by_http() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/ready", listener.local_addr().unwrap());
    let well = Arc::new(AtomicBool::new(true));
    let answers = Arc::clone(&well);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let status = if answers.load(Ordering::SeqCst) {
                "200 OK"
            } else {
                "503 Busy"
            };
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
        }
    });
    let space = ann.space("lab").await;
    let _agent = space.agent().await;
    assert_eq!(space.record().await["health"], "unknown");
    // A changed check takes effect in the running agent.
    let check = checked(json!({"type": "http", "url": url}));
    ann.patch(&space.path(), json!({"health_check": check}))
        .await
        .expect(200);
    space.wait_for_health("healthy", SOON).await;
    well.store(false, Ordering::SeqCst);
    space.wait_for_health("unhealthy", SOON).await;
}

#[tokio::test]
async fn s3_s6_1_health_by_command() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let check = checked(json!({"type": "command", "command": "test -e ready || sleep 30"}));
    let space = ann
        .space_with(json!({"name": "lab", "health_check": check}))
        .await;
    space.write("ready", "");
    let _agent = space.agent().await;
    space.wait_for_health("healthy", SOON).await;
    std::fs::remove_file(space.folder().join("ready")).unwrap();
    space.wait_for_health("unhealthy", 2 * SOON).await;
}

#[tokio::test]
async fn s3_invalid_health_checks_are_refused() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for check in [
        json!({"type": "ping"}),
        json!({"type": "tcp"}),
        json!({"type": "tcp", "port": 0}),
        json!({"type": "tcp", "port": 70_000}),
        json!({"type": "http", "url": "ftp://x"}),
        json!({"type": "command", "command": " "}),
        json!({"type": "tcp", "port": 80, "failures": 0}),
        json!({"type": "none", "colour": "red"}),
    ] {
        let body = json!({"name": "lab", "health_check": check});
        ann.post("/api/spaces", body).await.expect(400);
    }
}
