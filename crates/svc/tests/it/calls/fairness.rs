//! Users take turns at a method server: one caller's batch does not starve the others.

use serde_json::{Value, json};
use svc_core::registration::Registration;
use svc_link::{CALL_HEADER_BYTES, Control, FrameKind, VERSION};
use svc_testkit::{
    RawLink, RegistrationToml, TestAgent, TestServer, TestUser, error_code, eventually, fixture,
    method, result,
};
use tokio::task::JoinSet;

use crate::SOON;

/// A method server that answers one call at a time, and takes 50 ms for each.
const SLOW: &str = r#"
while read -r line; do
  sleep 0.05; id=${line##*\"id\":}; echo "{\"jsonrpc\":\"2.0\",\"id\":${id%\}},\"result\":1}"
done"#;

fn slow() -> RegistrationToml {
    RegistrationToml::shell(SLOW)
        .timeout(120)
        .with(method("slow", "slow").shared())
}

fn batch(method: &str, items: usize) -> Value {
    let item = |id| json!({"jsonrpc": "2.0", "method": method, "params": {"id": id}, "id": id});
    (0..items).map(item).collect()
}

/// The calls that the agent has taken and not answered: how many it has sent to the method server,
/// and how many wait in the agent.
async fn unanswered(agent: &TestAgent) -> (u64, u64) {
    let status = agent.status().await;
    let server = &status["method_server"];
    let count = |name: &str| server[name].as_u64().unwrap();
    (count("in_flight"), count("queued"))
}

/// Waits until the agent has taken most of a batch of 1,000.
async fn wait_for_flood(agent: &TestAgent) {
    let taken = || async {
        let (sent, waiting) = unanswered(agent).await;
        sent + waiting > 800
    };
    eventually("the agent has taken the batch", SOON, taken).await;
}

#[tokio::test]
async fn a_batch_of_one_user_does_not_starve_the_owner() {
    for registration in [slow(), slow().serial(), slow().max_in_flight(4)] {
        let server = TestServer::start().await;
        let (ann, ben) = (server.user("ann").await, server.user("ben").await);
        let space = ann.space("lab").await;
        let agent = space.publish(registration.clone()).await;
        let body = batch("user.ann.slow", 1_000).to_string();
        let flood = tokio::spawn(async move { ben.call_raw(body).await });
        wait_for_flood(&agent).await;
        // The first call waits for the calls already in the pipe; from then on two users alternate.
        for _ in 0..5 {
            result(&ann.call("slow", json!({})).await);
        }
        let (sent, waiting) = unanswered(&agent).await;
        assert!(
            sent + waiting > 600,
            "most calls of the batch still wait: {sent} sent, {waiting} waiting"
        );
        assert!(!flood.is_finished());
        flood.abort();
        // The queue holds no call of a caller that disconnected.
        let empty = || async { unanswered(&agent).await.1 == 0 };
        eventually("the cancelled calls have left the queue", SOON, empty).await;
        result(&ann.call("slow", json!({})).await);
    }
}

#[tokio::test]
async fn a_script_method_server_does_not_read_ahead() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let space = ann.space("lab").await;
    space.write(
        "slow.py",
        "import time\n\ndef answer(params):\n    time.sleep(0.05)\n    return 1\n",
    );
    space.write(
        "setup.py",
        "from svc import jsonrpc\njsonrpc.method('slow', 'slow.answer')\n",
    );
    let svc = svc_testkit::svc_program();
    let registration = RegistrationToml::of(
        &svc,
        &["run-script", "--workers", "1", "--json-rpc", "setup.py"],
    )
    .timeout(120)
    .with(method("slow", "slow").shared());
    let agent = space.publish(registration).await;
    let body = batch("user.ann.slow", 1_000).to_string();
    let flood = tokio::spawn(async move { ben.call_raw(body).await });
    wait_for_flood(&agent).await;
    result(&ann.call("slow", json!({})).await);
    let (sent, waiting) = unanswered(&agent).await;
    assert!(sent + waiting > 600, "{sent} sent, {waiting} waiting");
    flood.abort();
}

#[tokio::test]
async fn a_user_who_fills_the_queue_leaves_slots_for_others() {
    let server = TestServer::builder()
        .config("max_unfinished_body_bytes = 2147483648")
        .start()
        .await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let space = ann.space("lab").await;
    let registration = fixture()
        .timeout(20)
        .plain("stop_reading")
        .with(method("echo", "echo").shared());
    let _agent = space.publish(registration).await;
    result(&ann.call("stop_reading", json!({})).await);
    let large = "x".repeat(7 << 20);
    let mut calls = JoinSet::new();
    for _ in 0..12 {
        let (ben, params) = (ben.clone(), json!([large]));
        calls.spawn(async move { ben.call("user.ann.echo", params).await });
    }
    // The method server reads nothing, so the first response is a refusal: ben's share is used up.
    let refused = calls.join_next().await.unwrap().unwrap();
    assert_eq!(error_code(&refused), -32000);
    // The owner's call is still queued: it waits until its timeout.
    let own = ann.call("echo", json!({"a": "y".repeat(1 << 20)})).await;
    assert_eq!(error_code(&own), -32001, "{own}");
}

/// The user's number in the next call on a link.
async fn next_user(link: &mut RawLink) -> u32 {
    loop {
        let frame = link.next().await.unwrap();
        if frame.kind == FrameKind::Call {
            // The generation comes first.
            let user = &frame.payload[4..CALL_HEADER_BYTES];
            let json = &frame.payload[CALL_HEADER_BYTES..];
            assert!(json.starts_with(br#"{"jsonrpc":"2.0","method":"m""#));
            return u32::from_le_bytes(user.try_into().unwrap());
        }
    }
}

#[tokio::test]
async fn calls_carry_a_number_for_their_user() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let (lab, other) = (ann.space("lab").await, ann.space("other").await);
    let mut numbers = Vec::new();
    for (space, name) in [(&lab, "m"), (&lab, "m"), (&other, "n")] {
        let registration: Registration = serde_json::from_value(json!({
            "server": {"command": "x"},
            "methods": [{"name": name, "local_name": "m", "description": "d", "scope": "shared"}],
        }))
        .unwrap();
        let mut link = RawLink::connect(server.address(), &space.agent_token).await;
        let welcome = link.hello(&[VERSION]).await;
        assert!(matches!(welcome, Control::Welcome(_)), "{welcome:?}");
        let registered = link.register(registration).await;
        assert!(
            matches!(registered, Control::Registered(_)),
            "{registered:?}"
        );
        let mut of = Vec::new();
        let shared = format!("user.ann.{name}");
        let calls: [(&TestUser, &str); 4] =
            [(&ann, name), (&ben, &shared), (&ann, name), (&ben, &shared)];
        for (user, name) in calls {
            let call = user.start_call(name, json!({}));
            of.push(next_user(&mut link).await);
            call.abort();
        }
        assert_eq!((of[0], of[1]), (of[2], of[3]), "one number per user");
        assert_ne!(of[0], of[1]);
        numbers.push(of[0]);
    }
    // An agent may have links to several servers. Users take turns across all these links, so a
    // user has the same number on all of them.
    assert_eq!(numbers[0], numbers[1], "all links of a space");
    assert_ne!(numbers[0], numbers[2], "another space has other numbers");
}
