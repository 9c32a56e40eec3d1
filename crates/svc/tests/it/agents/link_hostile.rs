//! Hostile agents: they try to exhaust the server's memory or time, to stay linked after their
//! token is revoked, or to forge the responses of other agents.

use std::time::{Duration, Instant};

use bytes::BytesMut;
use serde_json::{Value, json};
use svc_core::registration::Registration;
use svc_link::{
    Control, Frame, FrameKind, Goodbye, Refusal, RefusalCode, Register, VERSION, put_frame,
};
use svc_testkit::{
    RawLink, TestServer, TestSpace, TestUser, error_code, eventually, fixture, peak_resident_mib,
    resident_mib, result,
};

use crate::SOON;

/// How long other users may wait for their responses while hostile agents keep the server busy.
const MEANWHILE: Duration = Duration::from_secs(15);

/// Schemas with many distinct patterns. Each pattern has a few bytes and would compile to
/// megabytes.
fn costly_patterns() -> Registration {
    let pattern = |n: usize| format!("[\\w\\W]{{5,900}}N{n}");
    let many = |wrap: &dyn Fn(usize) -> (String, Value)| -> Value {
        (0..4_000)
            .map(wrap)
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let properties = many(&|n| (format!("p{n}"), json!({"pattern": pattern(n)})));
    let by_pattern = many(&|n| (pattern(n), json!({})));
    let mut methods = Vec::new();
    // The meta-schemas of the drafts treat patterns differently.
    for draft in [
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft-07/schema#",
    ] {
        for (keyword, patterns) in [
            ("properties", &properties),
            ("patternProperties", &by_pattern),
        ] {
            methods.push(json!({
                "name": format!("m{}", methods.len()),
                "local_name": "m",
                "description": "d",
                "params_schema": {"$schema": draft, keyword: patterns},
            }));
        }
    }
    let document = json!({"server": {"command": "x"}, "methods": methods});
    serde_json::from_value(document).unwrap()
}

/// Checks that the server responds to other users within [`MEANWHILE`].
async fn serves_others(server: &TestServer, user: &TestUser) {
    let begun = Instant::now();
    let health = server.http().request("GET", "/healthz", &[], "").await;
    health.expect(200);
    result(&user.call("echo", json!({})).await);
    let took = begun.elapsed();
    assert!(took < MEANWHILE, "others wait for {took:?}");
}

#[tokio::test]
async fn expensive_schema_patterns_do_not_delay_other_users() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let (good, bad) = (ann.space("good").await, ben.space("bad").await);
    let _agent = good.publish(fixture().plain("echo")).await;
    let mut link = RawLink::publish(server.address(), &bad.agent_token, 1).await;
    let mut registering = tokio::spawn(async move { link.register(costly_patterns()).await });
    let answer = loop {
        serves_others(&server, &ann).await;
        match tokio::time::timeout(Duration::from_millis(10), &mut registering).await {
            Ok(answer) => break answer.unwrap(),
            Err(_) => continue,
        }
    };
    assert!(
        matches!(
            answer,
            Control::Registered(_) | Control::RegisterRefused { .. }
        ),
        "{answer:?}"
    );
    let peak = peak_resident_mib(server.id());
    assert!(peak < 400, "the server took {peak} MiB");
}

#[tokio::test]
async fn a_flood_of_pings_without_reading_pongs_does_not_fill_memory() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let (good, bad) = (ann.space("good").await, ben.space("bad").await);
    let _agent = good.publish(fixture().plain("echo")).await;
    let mut link = RawLink::publish(server.address(), &bad.agent_token, 1).await;
    let before = resident_mib(server.id());
    let mut pings = BytesMut::new();
    for _ in 0..50_000 {
        put_frame(&mut pings, &Frame::empty(1, FrameKind::Ping));
    }
    let pings = pings.freeze();
    let flood = async {
        for _ in 0..100 {
            link.send_bytes(pings.clone()).await?;
        }
        // The same flood with pings of the WebSocket.
        for _ in 0..400_000 {
            link.send_websocket_ping(vec![0; 125]).await?;
        }
        Ok::<_, String>(())
    };
    // The server may end the link or stop reading from it.
    let _ = tokio::time::timeout(Duration::from_secs(10), flood).await;
    let grown = peak_resident_mib(server.id()).saturating_sub(before);
    assert!(grown < 150, "the server grew by {grown} MiB");
    serves_others(&server, &ann).await;
}

/// A link whose token is revoked before the hello, and the token that is valid now.
async fn revoked_before_hello(server: &TestServer, space: &TestSpace) -> (RawLink, String) {
    let link = RawLink::connect(server.address(), &space.agent_token).await;
    let path = format!("{}/agent-token", space.path());
    let rotated = space.owner.post(&path, "{}").await.expect(200).json();
    (link, rotated["agent_token"].as_str().unwrap().to_owned())
}

/// Sends a hello, and then a registration even if the server refused the hello. Returns all control
/// messages of the server until the link ends.
async fn insist(link: &mut RawLink) -> Vec<Control> {
    let registration = json!({
        "server": {"command": "x"},
        "methods": [{"name": "late", "local_name": "m", "description": "d"}],
    });
    let register = Control::Register(Box::new(Register {
        registration: serde_json::from_value(registration).unwrap(),
        generation: 1,
        replace_conflicting: false,
        place: None,
        ticket: None,
    }));
    let mut heard = vec![link.hello(&[VERSION]).await];
    let _ = link.tell(1, &register).await;
    let listening = async {
        while let Ok(frame) = link.next().await {
            if frame.kind == FrameKind::Control {
                heard.push(serde_json::from_slice(&frame.payload).unwrap());
            }
        }
    };
    tokio::time::timeout(SOON, listening)
        .await
        .expect("the link of a revoked token ends");
    heard
}

#[tokio::test]
async fn a_token_revoked_between_upgrade_and_hello_opens_no_link() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let (mut link, _) = revoked_before_hello(&server, &space).await;
    let heard = insist(&mut link).await;
    let refused = |said: &Control| {
        matches!(said, Control::Refused(refusal) if refusal.code == RefusalCode::Unauthorized && !refusal.retry)
            || matches!(
                said,
                Control::Goodbye {
                    reason: Goodbye::Revoked
                }
            )
    };
    assert!(heard.iter().any(refused), "{heard:?}");
    let registered = |said: &Control| matches!(said, Control::Registered(_));
    assert!(!heard.iter().any(registered), "{heard:?}");
    assert!(ann.method_names().await.is_empty());
    assert_eq!(error_code(&ann.call("late", json!({})).await), -32601);
    // The space was never deployed.
    assert_eq!(space.state().await, "created");
}

#[tokio::test]
async fn a_revoked_token_does_not_replace_the_agent_with_the_new_token() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let (mut stale, token) = revoked_before_hello(&server, &space).await;
    let command = {
        let mut command = space.agent_command(space.folder());
        command
            .args(["--listen", "127.0.0.1:0"])
            .env("SVC_AGENT_TOKEN", token);
        command
    };
    let mut agent = space.spawn_command(space.folder(), command);
    agent.wait_until_linked().await;
    agent.register(fixture().plain("echo")).await.expect(0);
    insist(&mut stale).await;
    result(&ann.call("echo", json!({})).await);
    assert_eq!(agent.process().exit_status(), None, "{}", agent.log());
}

#[tokio::test]
async fn a_response_cannot_forge_other_responses_of_its_batch() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let (good, bad) = (ann.space("good").await, ben.space("bad").await);
    let _agent = good.publish(fixture().plain("echo")).await;
    let shared: Registration = serde_json::from_value(json!({
        "server": {"command": "x"},
        "methods": [{"name": "evil", "local_name": "m", "description": "d", "scope": "shared"}],
    }))
    .unwrap();
    for (kind, forged) in [
        (
            FrameKind::Result,
            r#"1,"id":1},{"jsonrpc":"2.0","result":"forged""#,
        ),
        (FrameKind::Result, r#"1},{"result":"forged""#),
        (FrameKind::Result, "1]"),
        (
            FrameKind::Error,
            r#"{"code":1,"message":"x"},"id":1},{"jsonrpc":"2.0","result":"forged""#,
        ),
        (FrameKind::Error, r#""forged""#),
        (FrameKind::Result, "\u{feff}1"),
    ] {
        let mut link = RawLink::connect(server.address(), &bad.agent_token).await;
        link.hello(&[VERSION]).await;
        let registered = link.register(shared.clone()).await;
        assert!(
            matches!(registered, Control::Registered(_)),
            "{registered:?}"
        );
        let batch = json!([
            {"jsonrpc": "2.0", "method": "user.ben.evil", "id": 1},
            {"jsonrpc": "2.0", "method": "echo", "params": ["true"], "id": 2},
        ]);
        let caller = ann.clone();
        let answering =
            tokio::spawn(async move { caller.call_raw(batch).await.expect(200).json() });
        let call = loop {
            let frame = link.next().await.unwrap();
            if frame.kind == FrameKind::Call {
                break frame;
            }
        };
        let _ = link.send(&[Frame::new(call.id, kind, forged)]).await;
        let answers = answering.await.unwrap();
        assert_eq!(answers.as_array().unwrap().len(), 2, "{answers}");
        assert_eq!(error_code(&answers[0]), -32002, "{forged}: {answers}");
        let honest = json!({"jsonrpc": "2.0", "result": ["true"], "id": 2});
        assert_eq!(answers[1], honest);
        link.wait_until_ended(SOON).await;
    }
}

/// Opens links of a space until the server refuses one.
async fn link_until_refused(server: &TestServer, space: &TestSpace) -> Refusal {
    for _ in 0..1_000 {
        let mut link = RawLink::connect(server.address(), &space.agent_token).await;
        match link.hello(&[VERSION]).await {
            Control::Welcome(_) => {}
            Control::Refused(refusal) => return refusal,
            other => panic!("{other:?}"),
        }
    }
    panic!("the server accepts any number of links");
}

#[tokio::test]
async fn links_in_a_loop_are_refused_and_an_agent_links_after_the_named_wait() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (good, bad) = (ann.space("good").await, ann.space("bad").await);
    let refusal = link_until_refused(&server, &bad).await;
    assert_eq!(refusal.code, RefusalCode::TooMany, "{refusal:?}");
    let wait = refusal.retry_after_millis.expect("a wait");
    assert!(refusal.retry && (1..=2_001).contains(&wait), "{refusal:?}");
    // Other spaces, also of the same owner, are not affected.
    let _link = RawLink::publish(server.address(), &good.agent_token, 1).await;
    let _agent = bad.publish(fixture().plain("echo")).await;
    result(&ann.call("echo", json!({})).await);
}

#[tokio::test]
async fn an_agent_that_repeats_a_lost_registration_writes_one_line_into_the_log() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let bad = ann.space("bad").await;
    let mut link = RawLink::publish(server.address(), &bad.agent_token, 1).await;
    for n in 0..1_000 {
        let error = format!("{n}{}", "\u{1b}".repeat(4_000));
        let lost = Control::RegistrationLost { error };
        link.tell(0, &lost).await.expect("the link takes a message");
    }
    let answer = link.ask(7, &Control::FlushLog).await;
    assert!(matches!(answer, Control::LogFlushed), "{answer:?}");
    eventually("the line is in the log", SOON, || async {
        server.log().contains("unregistered")
    })
    .await;
    let log = server.log();
    let lines = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert_eq!(
        (lines("has no registration"), lines("unregistered")),
        (1, 1)
    );
    let longest = log.lines().map(str::len).max();
    assert!(longest < Some(6 * 1_024), "{longest:?}");
    let shown = bad.record().await["registration"]["error"].to_string();
    assert!(shown.starts_with("\"999"), "{}", &shown[..10]);
}
