//! Agents that break the protocol of the link, send wrong data, or do not read.

use std::time::Duration;

use serde_json::json;
use svc_core::registration::Registration;
use svc_link::{Control, Frame, FrameKind, RefusalCode, VERSION};
use svc_testkit::{
    RawLink, TestServer, TestSpace, TestUser, error_code, fixture, resident_mib, result,
};
use tokio::task::JoinSet;

use crate::SOON;

/// A linked agent whose space has one method, `<space>.m0`.
async fn publish(server: &TestServer, space: &TestSpace) -> RawLink {
    RawLink::publish(server.address(), &space.agent_token, 1).await
}

#[tokio::test]
async fn an_invalid_frame_ends_only_its_own_link() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let (good, bad) = (ann.space("good").await, ben.space("bad").await);
    let _agent = good.publish(fixture().plain("echo")).await;
    let control = |payload: &'static str| {
        let mut bytes = u32::try_from(9 + payload.len())
            .unwrap()
            .to_le_bytes()
            .to_vec();
        bytes.extend([0; 8]);
        bytes.push(FrameKind::Control as u8);
        bytes.extend(payload.as_bytes());
        bytes
    };
    let mut unknown_kind = control("{}");
    unknown_kind[12] = 99;
    let mut endless = control("{}");
    endless[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let messages = [
        b"nonsense".to_vec(),
        vec![0; 4],
        control("{}")[..10].to_vec(),
        unknown_kind,
        endless,
        control("not json"),
        control(r#"{"type":"dance"}"#),
        control(r#"{"type":"hello","versions":[1]}"#),
    ];
    for greeted in [false, true] {
        for message in &messages {
            let mut link = RawLink::connect(server.address(), &bad.agent_token).await;
            if greeted {
                link.hello(&[VERSION]).await;
            }
            let _ = link.send_bytes(message.clone()).await;
            link.wait_until_ended(SOON).await;
        }
    }
    let mut link = RawLink::connect(server.address(), &bad.agent_token).await;
    let _ = link.send_text("hello").await;
    link.wait_until_ended(SOON).await;
    result(&ann.call("echo", json!({})).await);
}

#[tokio::test]
async fn frames_before_hello_are_refused() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    for kind in [FrameKind::Result, FrameKind::Call, FrameKind::Pong] {
        let mut link = RawLink::connect(server.address(), &space.agent_token).await;
        let _ = link.send(&[Frame::new(1, kind, "{}")]).await;
        link.wait_until_ended(SOON).await;
    }
    assert_eq!(space.state().await, "created");
}

#[tokio::test]
async fn an_unsupported_protocol_version_is_refused_and_named() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut link = RawLink::connect(server.address(), &space.agent_token).await;
    let Control::Refused(refusal) = link.hello(&[VERSION + 98]).await else {
        panic!("not refused");
    };
    assert_eq!(refusal.code, RefusalCode::Version);
    assert!(
        !refusal.retry && refusal.detail.contains("99"),
        "{refusal:?}"
    );
    link.wait_until_ended(SOON).await;
    // An agent that also offers our version is accepted.
    let mut link = RawLink::connect(server.address(), &space.agent_token).await;
    assert!(matches!(
        link.hello(&[VERSION + 98, VERSION]).await,
        Control::Welcome(_)
    ));
}

#[tokio::test]
async fn s2_1_the_server_checks_a_registration_itself() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut link = publish(&server, &space).await;
    let one = |method: serde_json::Value| -> Registration {
        let document = json!({"server": {"command": "x"}, "methods": [method]});
        serde_json::from_value(document).unwrap()
    };
    for method in [
        json!({"name": "a b", "local_name": "x", "description": "d"}),
        json!({"name": "user.ben.x", "local_name": "x", "description": "d"}),
        json!({"name": "x", "description": "d"}),
        json!({"name": "x", "local_name": "x", "description": "d", "params_schema": {"type": "text"}}),
        json!({"name": "x", "local_name": "x", "description": "d", "scope": "shared", "groups": ["ghosts"]}),
    ] {
        let answer = link.register(one(method)).await;
        assert!(
            matches!(answer, Control::RegisterRefused { .. }),
            "{answer:?}"
        );
    }
    assert_eq!(ann.method_names().await, ["lab.m0"]);
}

/// Responds to the next call on a link with these frames, with the id of the call.
async fn answer_next(link: &mut RawLink, answers: &[(FrameKind, &'static str)]) {
    loop {
        let frame = link.next().await.unwrap();
        if frame.kind == FrameKind::Call {
            let frames: Vec<_> = answers
                .iter()
                .map(|(kind, payload)| Frame::new(frame.id, *kind, *payload))
                .collect();
            link.send(&frames).await.unwrap();
            return;
        }
    }
}

#[tokio::test]
async fn responses_without_a_waiting_call_are_ignored() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut link = publish(&server, &space).await;
    let unasked = [
        FrameKind::Result,
        FrameKind::Error,
        FrameKind::Unavailable,
        FrameKind::CancelledSent,
    ];
    for kind in unasked {
        link.send(&[
            Frame::new(u64::MAX, kind, "{}"),
            Frame::new(12_345, kind, "{}"),
        ])
        .await
        .unwrap();
    }
    for n in 0..3 {
        let call = ann.start_call("lab.m0", json!([n]));
        answer_next(
            &mut link,
            &[(FrameKind::Result, "7"), (FrameKind::Result, "8")],
        )
        .await;
        assert_eq!(result(&call.await.unwrap()), 7);
    }
}

#[tokio::test]
async fn a_response_that_is_not_json_never_reaches_a_caller() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    for wrong in ["", "{", "nonsense", "1 2", "1,\"id\":5"] {
        let mut link = publish(&server, &space).await;
        let call = ann.start_call("lab.m0", json!({}));
        answer_next(&mut link, &[(FrameKind::Result, wrong)]).await;
        // `start_call` parses the response as JSON, and would fail if it got the invalid bytes.
        assert_eq!(error_code(&call.await.unwrap()), -32002, "{wrong}");
    }
}

/// Calls with large params; returns their error codes.
async fn large_calls(user: &TestUser, method: &str, count: usize) -> Vec<i64> {
    let mut calls = JoinSet::new();
    for _ in 0..count {
        let (user, method) = (user.clone(), method.to_owned());
        let params = json!(["x".repeat(1 << 20)]);
        calls.spawn(async move { error_code(&user.call(&method, params).await) });
    }
    calls.join_all().await
}

#[tokio::test]
async fn an_agent_that_does_not_read_cannot_fill_the_servers_memory() {
    let server = TestServer::builder()
        .config("max_unfinished_body_bytes = 2147483648")
        .start()
        .await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let (good, bad) = (ann.space("good").await, ben.space("bad").await);
    let _agent = good.publish(fixture().plain("echo")).await;
    let _never_read = publish(&server, &bad).await;
    let before = resident_mib(server.id());
    let codes = large_calls(&ben, "bad.m0", 120).await;
    let grown = resident_mib(server.id()).saturating_sub(before);
    assert!(
        codes.contains(&-32000),
        "calls over the limit are refused: {codes:?}"
    );
    let expected = [-32000, -32001, -32002];
    assert!(
        codes.iter().all(|code| expected.contains(code)),
        "{codes:?}"
    );
    assert!(grown < 110, "the server grew by {grown} MiB");
    let begun = std::time::Instant::now();
    result(&ann.call("echo", json!({})).await);
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "others are served meanwhile"
    );
}
