//! The bodies of calls in flight, and the calls that wait for links, use only their user's share of
//! the memory. The share is free again when the calls have ended.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_link::{Frame, FrameKind, VERSION};
use svc_testkit::{Answer, RawLink, TestServer, TestUser, error_code, eventually, result};
use tokio::task::{AbortHandle, JoinSet};

use crate::SOON;

/// The budget of the server, and the share of a user.
const BUDGET: &str = "max_unfinished_body_bytes = 8388608";
const SHARE: usize = 2 * 1024 * 1024;
const LARGE: usize = 600 * 1024;
/// The number of large bodies that fit into the share.
const FITTING: usize = SHARE / LARGE;

/// Publishes three shared methods of a user: `echo` answers, `never` and `short` do not. `short` has
/// a timeout of a second. Dropping the link ends the calls in flight.
async fn publish(server: &TestServer, user: &TestUser) -> Vec<AbortHandle> {
    let mut links = Vec::new();
    for (space, timeout, names) in [
        ("lab", 600, &["echo", "never"][..]),
        ("quick", 1, &["short"]),
    ] {
        let space = user.space(space).await;
        let mut link = RawLink::connect(server.address(), &space.agent_token).await;
        link.hello(&[VERSION]).await;
        let methods = names.iter().map(
            |name| json!({"name": name, "local_name": name, "description": "d", "scope": "shared"}),
        );
        let methods: Vec<_> = methods.collect();
        let registration =
            json!({"server": {"command": "x", "timeout": timeout}, "methods": methods});
        link.register(serde_json::from_value(registration).unwrap())
            .await;
        links.push(tokio::spawn(answer_echo(link)).abort_handle());
    }
    links
}

/// Reads all frames of a link, and answers only calls of `echo`.
async fn answer_echo(mut link: RawLink) {
    while let Ok(Frame { id, kind, payload }) = link.next().await {
        let is_echo = payload.windows(6).any(|part| part == b"\"echo\"");
        let (kind, payload) = match kind {
            FrameKind::Ping => (FrameKind::Pong, Bytes::new()),
            FrameKind::Call if is_echo => (FrameKind::Result, Bytes::from_static(b"1")),
            _ => continue,
        };
        if link.send(&[Frame { id, kind, payload }]).await.is_err() {
            return;
        }
    }
}

fn large_call(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": ["x".repeat(LARGE)]})
}

/// Whether a call was refused because of its user's share: before its body was read, or because the
/// copy for the link has no memory. Panics if the refusal does not name the limit.
fn is_over_share(answer: &Answer) -> bool {
    let text = answer.text();
    let is_refused = match answer.status {
        503 => answer.code() == "too_many_unfinished_bodies",
        _ => answer.json()["error"]["data"]["reason"] == "unfinished_bodies",
    };
    assert!(!is_refused || text.contains(&SHARE.to_string()), "{text}");
    is_refused
}

/// The bytes of bodies, as the metrics show them.
async fn counted_bytes(server: &TestServer) -> usize {
    let metrics = server
        .http()
        .request("GET", "/metrics", &[], String::new())
        .await;
    let metrics = metrics.expect(200).text();
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("svc_unfinished_body_bytes "));
    line.and_then(|count| count.parse().ok())
        .expect("the gauge of bodies")
}

async fn wait_until_nothing_is_counted(server: &TestServer) {
    eventually("the memory is released", SOON, || async {
        counted_bytes(server).await == 0
    })
    .await;
}

/// Starts more calls than fit into the share of the user.
fn start_large_calls(user: &TestUser, method: &str) -> JoinSet<Answer> {
    let mut calls = JoinSet::new();
    for _ in 0..2 * FITTING {
        let (user, call) = (user.clone(), large_call(method));
        calls.spawn(async move { user.call_raw(call).await });
    }
    calls
}

/// Starts calls of a method that never answers, until the share of the user is used up.
async fn fill_share(user: &TestUser) -> JoinSet<Answer> {
    let mut calls = start_large_calls(user, "user.ann.never");
    while calls.len() > FITTING {
        let answer = calls.join_next().await.unwrap().unwrap();
        assert!(is_over_share(&answer), "{}", answer.text());
    }
    calls
}

#[tokio::test]
async fn bodies_of_calls_in_flight_stay_within_the_share_of_their_user() {
    let server = TestServer::builder().config(BUDGET).start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let links = publish(&server, &ann).await;
    let calls = fill_share(&ben).await;
    assert!(counted_bytes(&server).await <= SHARE);

    // Small calls of this user, and large calls of others, are not concerned.
    result(&ben.call("user.ann.echo", json!([])).await);
    let answer = ann.call_raw(large_call("echo")).await.expect(200).json();
    assert_eq!(result(&answer), &json!(1));

    // The clients disconnect, and their calls are cancelled.
    drop(calls);
    wait_until_nothing_is_counted(&server).await;
    let answer = ben.call_raw(large_call("user.ann.echo")).await;
    result(&answer.expect(200).json());

    // The calls time out.
    let mut calls = start_large_calls(&ben, "user.ann.short");
    while let Some(answer) = calls.join_next().await {
        let answer = answer.unwrap();
        let is_timeout = || error_code(&answer.json()) == -32001;
        assert!(is_over_share(&answer) || is_timeout(), "{}", answer.text());
    }
    wait_until_nothing_is_counted(&server).await;

    // The agents disappear.
    let mut calls = fill_share(&ben).await;
    for link in links {
        link.abort();
    }
    while let Some(answer) = calls.join_next().await {
        let answer = answer.unwrap();
        let is_interrupted = || [-32000, -32002].contains(&error_code(&answer.json()));
        assert!(
            is_over_share(&answer) || is_interrupted(),
            "{}",
            answer.text()
        );
    }
    wait_until_nothing_is_counted(&server).await;
}

#[tokio::test]
async fn calls_that_wait_for_links_count_for_their_caller_on_all_links_together() {
    const LINKS: usize = 4;
    let server = TestServer::builder().config(BUDGET).start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let _links = publish(&server, &ann).await;
    let mut never_read = Vec::new();
    for number in 0..LINKS {
        let space = ben.space(&format!("deaf{number}")).await;
        never_read.push(RawLink::publish(server.address(), &space.agent_token, 1).await);
    }
    // The request of a notification ends at once, so only its copy for the link is left. The kernel
    // takes the first ones.
    let mut is_refused = false;
    for number in 0..1_000 {
        let method = format!("deaf{}.m0", number % LINKS);
        ben.notify(&method, json!(["x".repeat(LARGE)])).await;
        let counted = counted_bytes(&server).await;
        assert!(counted <= SHARE, "{counted}");
        // A notification that is dropped has no answer; a call has one.
        if counted > SHARE - 2 * LARGE {
            let answer = ben.call_raw(large_call("user.ann.echo")).await;
            is_refused = is_over_share(&answer);
        }
        if is_refused {
            break;
        }
    }
    assert!(is_refused, "the share is never used up");
    let answer = ann.call_raw(large_call("echo")).await.expect(200).json();
    assert_eq!(result(&answer), &json!(1));
    drop(never_read);
    wait_until_nothing_is_counted(&server).await;
    let answer = ben.call_raw(large_call("user.ann.echo")).await;
    result(&answer.expect(200).json());
}
