//! The body of a change counts for its user until the change is committed, also if the client has
//! disconnected.

use std::{sync::mpsc, time::Duration};

use axum::{body::Body, response::Response};
use http::{Method, Request, header};
use serde_json::{Value, json};
use tokio::{sync::oneshot, task::JoinHandle, time};
use tower_service::Service;

use super::{
    super::{listen::Peer, router::router},
    Fixture,
};

/// Sends a request of mallory through the middleware.
fn send(fixture: &Fixture, path: &str, body: &Value) -> JoinHandle<Response> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::HOST, "localhost")
        .header(header::AUTHORIZATION, format!("Bearer {}", fixture.token))
        .body(Body::from(body.to_string()))
        .expect("well-formed");
    request.extensions_mut().insert(Peer {
        address: ([127, 0, 0, 1], 1).into(),
        tls: false,
    });
    let answering = router(&fixture.app).call(request);
    tokio::spawn(async move {
        let Ok(response) = answering.await;
        response
    })
}

/// Waits until the bodies of all requests together have this many bytes.
async fn wait_for_bytes(fixture: &Fixture, expected: usize) {
    let reached = async {
        let mut ticks = time::interval(Duration::from_millis(10));
        while fixture.app.bodies.all_bytes() != expected {
            ticks.tick().await;
        }
    };
    let reached = time::timeout(Duration::from_secs(30), reached).await;
    let bytes = fixture.app.bodies.all_bytes();
    reached.unwrap_or_else(|_| panic!("{bytes} bytes instead of {expected}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_changes_and_emits_count_until_their_commit() {
    let fixture = Fixture::new().await;
    wait_for_bytes(&fixture, 0).await;
    // A transaction of this test occupies the writer.
    let (begun, has_begun) = oneshot::channel();
    let (release, released) = mpsc::channel::<()>();
    let store = fixture.app.store.clone();
    let occupying = tokio::spawn(async move {
        let occupy = store.write(move |_| {
            let _ = begun.send(());
            let _ = released.recv();
            Ok(())
        });
        occupy.await
    });
    has_begun.await.expect("the transaction has begun");
    let requests = [
        (
            "/api/events/emit",
            json!({"type": "x", "payload": {"text": "y".repeat(100_000)}}),
        ),
        ("/api/events/emit", json!({"type": "x", "payload": {}})),
        ("/api/templates", json!({"name": "z"})),
    ];
    let mut bytes = 0;
    let mut answers = Vec::new();
    for (path, body) in &requests {
        answers.push(send(&fixture, path, body));
        bytes += body.to_string().len();
        wait_for_bytes(&fixture, bytes).await;
    }
    // A disconnect does not end a change.
    let disconnected = answers.remove(0);
    disconnected.abort();
    disconnected.await.expect_err("it has no answer");
    assert_eq!(fixture.app.bodies.all_bytes(), bytes);
    drop(release);
    occupying.await.expect("no panic").expect("committed");
    for answer in answers {
        let status = answer.await.expect("an answer").status();
        assert!(status.is_success(), "{status}");
    }
    wait_for_bytes(&fixture, 0).await;
    fixture.close().await;
}
