//! Making, keeping, losing and ending the link.

use std::time::{Duration, Instant};

use svc_agent::Exit;
use svc_core::space::{Health, HealthCheck, Probe};
use svc_link::{Control, Frame, FrameKind, Goodbye, Refusal, RefusalCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    fake_server::{FakeServer, control, refused},
    test_agent::{TestAgent, eventually},
};

#[tokio::test]
async fn an_agent_says_hello_and_goodbye() {
    let server = FakeServer::start().await;
    let agent = TestAgent::start(&server.url(), None);
    let (mut link, hello) = server.accept().await;
    assert_eq!(hello.versions, [1]);
    link.welcome(HealthCheck::default()).await;
    let client = agent.client();
    eventually("linked", async || {
        client.status().await.is_ok_and(|status| status.linked)
    })
    .await;
    let status = client.status().await.expect("a status");
    assert_eq!(status.space.as_deref(), Some("lab"));
    assert_eq!(status.owner.as_deref(), Some("ann"));
    let file = agent.path().join(".svc/agent.json");
    eventually("announced", async || {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains(r#""space": "lab""#))
    })
    .await;
    client.stop().await.expect("asked to stop");
    let frame = link.frame().await;
    let reason = Goodbye::AgentStopping;
    assert_eq!(control(&frame), Control::Goodbye { reason });
    assert!(link.find_frame().await.is_none());
    assert_eq!(agent.exit().await, Exit::Stopped);
}

#[tokio::test]
async fn a_lost_link_is_replaced_by_a_link_of_the_same_instance() {
    let server = FakeServer::start().await;
    let agent = TestAgent::start(&server.url(), None);
    let (link, first) = server.accept().await;
    drop(link);
    let (mut link, second) = server.accept().await;
    assert_eq!(first.instance, second.instance);
    link.control(0, &refused("draining", true)).await;
    let (mut link, _) = server.accept().await;
    link.control(0, &refused("space_stopped", false)).await;
    let mut link = server.link().await;
    let reason = Goodbye::SpaceStopped;
    link.control(0, &Control::Goodbye { reason }).await;
    let _link = server.link().await;
    agent.stop().await;
}

#[tokio::test]
async fn the_agent_of_a_deactivated_user_shows_the_reason_and_links_after_the_reactivation() {
    let server = FakeServer::start().await;
    let agent = TestAgent::start(&server.url(), None);
    let client = agent.client();
    for _ in 0..3 {
        let (mut link, _) = server.accept().await;
        link.control(0, &refused("user_inactive", true)).await;
    }
    eventually("the status shows the reason", async || {
        let status = client.status().await.expect("a status");
        status
            .link_error
            .is_some_and(|error| error.contains("because of user_inactive"))
    })
    .await;
    let _link = server.link().await;
    eventually("linked", async || {
        client.status().await.is_ok_and(|status| status.linked)
    })
    .await;
    agent.stop().await;
}

#[tokio::test]
async fn the_agent_waits_as_long_as_the_server_says() {
    let server = FakeServer::start().await;
    let agent = TestAgent::start(&server.url(), None);
    let (mut link, _) = server.accept().await;
    let (wait, sent) = (Duration::from_secs(2), Instant::now());
    let refusal = Refusal {
        retry_after_millis: Some(2_000),
        ..Refusal::new(RefusalCode::TooMany, "too many links", true)
    };
    link.control(0, &Control::Refused(refusal)).await;
    let _link = server.link().await;
    let waited = sent.elapsed();
    assert!(waited >= wait, "{waited:?}");
    agent.stop().await;
}

#[tokio::test]
async fn the_agent_links_again_when_the_server_asks_for_a_new_link() {
    let server = FakeServer::start().await;
    let agent = TestAgent::start(&server.url(), None);
    let mut link = server.link().await;
    let reason = Goodbye::Reconnect;
    link.control(0, &Control::Goodbye { reason }).await;
    let _link = server.link().await;
    agent.stop().await;
}

#[tokio::test]
async fn an_agent_exits_when_it_is_replaced_or_its_token_is_revoked() {
    let end = async |reason| {
        let server = FakeServer::start().await;
        let agent = TestAgent::start(&server.url(), None);
        let mut link = server.link().await;
        link.control(0, &Control::Goodbye { reason }).await;
        agent.exit().await
    };
    assert_eq!(end(Goodbye::Replaced).await, Exit::Replaced);
    let revoked = end(Goodbye::Revoked).await;
    assert!(matches!(revoked, Exit::Credentials(_)), "{revoked:?}");
}

#[tokio::test]
async fn a_refused_token_ends_the_agent() {
    let server = FakeServer::start().await;
    let agent = TestAgent::start(&server.url(), None);
    let mut stream = server.accept_tcp().await;
    let mut request = vec![0; 4_000];
    let read = stream.read(&mut request).await.expect("a request");
    assert!(request[..read].starts_with(b"GET /agent/link "));
    let answer = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(answer).await.expect("answers");
    let exit = agent.exit().await;
    assert!(
        matches!(&exit, Exit::Credentials(why) if why.contains("refuses the agent token")),
        "{exit:?}"
    );

    let agent = TestAgent::start(&server.url(), None);
    let (mut link, _) = server.accept().await;
    link.control(0, &refused("unauthorized", false)).await;
    let exit = agent.exit().await;
    assert!(matches!(exit, Exit::Credentials(_)), "{exit:?}");
}

#[tokio::test]
async fn a_busy_server_is_tried_again() {
    let server = FakeServer::start().await;
    let agent = TestAgent::start(&server.url(), None);
    let mut stream = server.accept_tcp().await;
    let mut request = vec![0; 4_000];
    let read = stream.read(&mut request).await.expect("a request");
    assert!(request[..read].starts_with(b"GET /agent/link "));
    let answer = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(answer).await.expect("answers");
    let _link = server.link().await;
    agent.stop().await;
}

#[tokio::test]
async fn the_agent_replaces_the_link_to_a_silent_server() {
    let server = FakeServer::start().await;
    let agent = TestAgent::start(&server.url(), None);
    let (mut link, _) = server.accept().await;
    link.heartbeat_seconds = 1;
    link.welcome(HealthCheck::default()).await;
    link.send(&[Frame::empty(0, FrameKind::Ping)]).await;
    // From here on the server sends nothing. The agent gives up the link after three heartbeats of
    // one second each, and reconnects.
    server.accept().await;
    agent.stop().await;
}

#[tokio::test]
async fn invalid_frames_do_not_end_the_link() {
    let server = FakeServer::start().await;
    let agent = TestAgent::start(&server.url(), None);
    let mut link = server.link().await;
    let nonsense = Frame::new(5, FrameKind::Control, "not JSON");
    let short = Frame::new(6, FrameKind::Call, "ab");
    link.send(&[nonsense, short]).await;
    assert_eq!(link.answer().await.1, FrameKind::Unavailable);
    agent.stop().await;
}

#[tokio::test]
async fn the_agent_reports_health_and_uses_a_changed_health_check() {
    let server = FakeServer::start().await;
    let agent = TestAgent::start(&server.url(), None);
    let (mut link, _) = server.accept().await;
    let check = |command: &str| HealthCheck {
        probe: Probe::Command {
            command: command.to_owned(),
        },
        failures: 1,
        ..HealthCheck::default()
    };
    link.welcome(check("exit 0")).await;
    let health = |frame: &Frame| match control(frame) {
        Control::Health { current, .. } => current,
        other => panic!("not health: {other:?}"),
    };
    assert_eq!(health(&link.frame().await), Health::Healthy);
    let health_check = check("exit 1");
    let changed = Control::HealthCheckChanged { health_check };
    link.control(9, &changed).await;
    assert_eq!(health(&link.frame().await), Health::Unhealthy);
    agent.stop().await;
}
