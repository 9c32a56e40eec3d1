//! Methods that subscribe to events (spec 2.2, 6.4).

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::{
    MethodToml, RegistrationToml, TestServer, TestServerBuilder, TestUser, eventually, fixture,
    get_eventually, method, result,
};

use crate::SOON;

/// A subscribed method that appends its params to a list.
pub fn listener(name: &str, events: &str) -> MethodToml {
    method(name, "push").line("events", events)
}

/// A method that is subscribed to builds. Its local name selects the behaviour of the fixture.
fn listener_as(name: &str, local_name: &str) -> MethodToml {
    method(name, local_name).line("events", r#"["custom.build.*"]"#)
}

/// The subscribed method `on.build`, and `<space>.pushed`, which returns the list of `on.build`.
fn listening() -> RegistrationToml {
    fixture()
        .with(listener("on.build", r#"["custom.build.*"]"#))
        .with(method("{{space}}.pushed", "pushed"))
}

async fn pushed(user: &TestUser, space: &str) -> Vec<Value> {
    let answer = user.call(&format!("{space}.pushed"), json!({})).await;
    let list = answer.get("result").and_then(Value::as_array);
    list.cloned().unwrap_or_default()
}

pub async fn wait_for_pushed(user: &TestUser, space: &str, count: usize) -> Vec<Value> {
    get_eventually(
        &format!("{count} events reach the method"),
        2 * SOON,
        || async {
            let list = pushed(user, space).await;
            (list.len() >= count).then_some(list)
        },
    )
    .await
}

pub fn ids(list: &[Value]) -> Vec<String> {
    let id = |params: &Value| params["event_id"].as_str().unwrap().to_owned();
    list.iter().map(id).collect()
}

#[tokio::test]
async fn s2_2_s6_4_a_subscribed_method_gets_each_event_once_with_exactly_these_fields() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let space = ann.space("lab").await;
    let _agent = space.publish(listening()).await;
    bob.emit("build.done", json!({"whose": "bob"})).await;
    ann.emit("other", json!({})).await;
    let mut expected = Vec::new();
    for n in 0..20 {
        expected.push(ann.emit("build.done", json!({ "n": n })).await);
    }
    let list = wait_for_pushed(&ann, "lab", 20).await;
    assert_eq!(
        ids(&list),
        expected,
        "only events of the owner, in order, once each"
    );
    for (n, params) in list.iter().enumerate() {
        let keys: Vec<_> = params.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["event_id", "event_type", "event_ts", "data"]);
        assert_eq!(params["event_type"], "custom.build.done");
        assert_eq!(params["data"], json!({ "n": n }));
        let id = params["event_id"].as_str().unwrap();
        let record = ann
            .get(&format!("/api/events/{id}"))
            .await
            .expect(200)
            .json();
        assert_eq!(params["event_ts"], record["event_ts"]);
    }
}

#[tokio::test]
async fn s2_1_s6_4_system_events_reach_methods_without_a_local_name() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let plain = "[server]\ncommand = \"sh\"\nargs = [\"-c\", 'while read -r line; do echo \"$line\" >>lines; done']\n\n[[methods]]\nname = \"{{space}}.seen\"\ndescription = \"Sees\"\nevents = [\"space.created\"]\n";
    let _agent = space.publish(plain).await;
    let other = ann.space("other").await;
    let line: Value = get_eventually("the method server is called", SOON, || async {
        let text = std::fs::read_to_string(space.folder().join("lines")).ok()?;
        serde_json::from_str(text.lines().next()?).ok()
    })
    .await;
    assert_eq!(
        line["method"], "lab.seen",
        "the local name contains the name of the space"
    );
    assert_eq!(line["params"]["event_type"], "space.created");
    assert_eq!(line["params"]["data"]["space_id"], other.id);
}

#[tokio::test]
async fn d2_s6_4_an_event_goes_to_one_of_two_spaces() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (a, b) = (ann.space("a").await, ann.space("b").await);
    let (_a, _b) = (a.publish(listening()).await, b.publish(listening()).await);
    let mut expected = Vec::new();
    for n in 0..20 {
        expected.push(ann.emit("build.done", json!({ "n": n })).await);
    }
    let both = async || {
        let mut all = pushed(&ann, "a").await;
        all.extend(pushed(&ann, "b").await);
        all
    };
    eventually("all events arrive", SOON, || async {
        both().await.len() >= 20
    })
    .await;
    let mut got = ids(&both().await);
    got.sort();
    assert_eq!(got, expected, "each event once, at one of the two spaces");
    // If both providers are idle, the provider that registered first gets the event. When its agent
    // is gone, the other provider gets the events.
    assert_eq!(pushed(&ann, "a").await.len(), 20);
    drop(_a);
    let last = ann.emit("build.last", json!({})).await;
    let list = wait_for_pushed(&ann, "b", 1).await;
    assert_eq!(ids(&list), [last]);
}

fn patient() -> TestServerBuilder {
    TestServer::builder()
        .retries(0.2, 0.2)
        .config("grace_seconds = 20")
}

#[tokio::test]
async fn s6_4_s6_5_an_agent_restart_within_the_grace_period_loses_no_event() {
    let server = patient().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(listening()).await;
    let first = ann.emit("build.done", json!({"n": 0})).await;
    assert_eq!(ids(&wait_for_pushed(&ann, "lab", 1).await), [first]);
    agent.kill9();
    let mut expected = Vec::new();
    for n in 1..=10 {
        expected.push(ann.emit("build.done", json!({ "n": n })).await);
    }
    // This is longer than three attempts take. While no agent is linked, no attempt may be spent.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let _agent = space.agent_with(&["--methods-file", "methods.toml"]).await;
    let list = wait_for_pushed(&ann, "lab", 10).await;
    assert_eq!(ids(&list), expected);
}

/// Each stop of an agent has its own grace period: the end of the first period must not end the
/// second.
#[tokio::test]
async fn s6_4_s6_5_two_agent_restarts_lose_no_event() {
    let server = TestServer::builder()
        .config("grace_seconds = 12")
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(listening()).await;
    agent.stop().await;
    let began = Instant::now();
    let mut agent = space.agent_with(&["--methods-file", "methods.toml"]).await;
    let first = ann.emit("build.done", json!({"n": 0})).await;
    assert_eq!(ids(&wait_for_pushed(&ann, "lab", 1).await), [first]);
    // Shortly before the end of the first grace period.
    tokio::time::sleep_until((began + Duration::from_secs(10)).into()).await;
    agent.stop().await;
    let second = ann.emit("build.done", json!({"n": 1})).await;
    tokio::time::sleep_until((began + Duration::from_secs(14)).into()).await;
    let _agent = space.agent_with(&["--methods-file", "methods.toml"]).await;
    assert_eq!(ids(&wait_for_pushed(&ann, "lab", 1).await), [second]);
}

#[tokio::test]
async fn s6_4_s6_5_a_server_restart_loses_no_event() {
    let mut server = patient().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(listening()).await;
    let mut expected = Vec::new();
    for round in 0..3 {
        for n in 0..10 {
            expected.push(
                ann.emit("build.done", json!({"round": round, "n": n}))
                    .await,
            );
        }
        if round == 1 {
            server.restart().await;
        } else {
            server.kill9();
            server.start_again().await;
        }
    }
    agent.wait_until_linked().await;
    let what = "every event reaches the method";
    eventually(what, 3 * SOON, || async {
        let mut got = ids(&pushed(&ann, "lab").await);
        // A crash may repeat an event; first arrivals are in order.
        let mut seen = std::collections::HashSet::new();
        got.retain(|id| seen.insert(id.clone()));
        got == expected
    })
    .await;
}

#[tokio::test]
async fn s6_4_unregistering_ends_the_subscription() {
    let server = patient().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(listening()).await;
    ann.emit("build.done", json!({"n": 0})).await;
    wait_for_pushed(&ann, "lab", 1).await;
    agent.cli().run(&["methods", "unregister"]).await.expect(0);
    ann.emit("build.done", json!({"n": 1})).await;
    agent.register(listening()).await.expect(0);
    let last = ann.emit("build.done", json!({"n": 2})).await;
    let list = wait_for_pushed(&ann, "lab", 1).await;
    assert_eq!(ids(&list), [last], "the event in between was not delivered");
    // A registration without the subscription ends it too.
    let quiet = fixture().with(method("{{space}}.pushed", "pushed"));
    agent.register(quiet).await.expect(0);
    ann.emit("build.done", json!({"n": 3})).await;
    agent.register(listening()).await.expect(0);
    let last = ann.emit("build.done", json!({"n": 4})).await;
    assert_eq!(ids(&wait_for_pushed(&ann, "lab", 1).await), [last]);
}

#[tokio::test]
async fn s6_4_s6_5_a_method_that_fails_is_tried_three_times() {
    let server = patient().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    // Stores every request and answers with an error.
    let script = r#"while read -r line; do echo "$line" >>lines; id=${line##*\"id\":}; id=${id%%[,\}]*}; echo "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"no\"},\"id\":$id}"; done"#;
    let registration = RegistrationToml::shell(script).with(listener("on.x", r#"["custom.x"]"#));
    let _agent = space.publish(registration).await;
    let id = ann.emit("x", json!({})).await;
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(space.folder().join("lines")).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    eventually("three attempts", SOON, || async { lines().len() >= 3 }).await;
    let next = ann.emit("x", json!({})).await;
    eventually("the next event is delivered", SOON, || async {
        lines().len() >= 4
    })
    .await;
    let got: Vec<_> = lines()
        .iter()
        .take(4)
        .map(|line| line["params"]["event_id"].clone())
        .collect();
    assert_eq!(got, [json!(id), json!(id), json!(id), json!(next)]);
    assert_eq!(lines()[0]["method"], "push");
}

async fn formatter(user: &TestUser, name: &str, patterns: &str, global: bool, says: &str) {
    let owner = if global { "global" } else { "user" };
    let template = format!(r#"{{"by": "{says}", "id": "${{{{ event.id }}}}"}}"#);
    user.sink(
        json!({"name": name, "patterns": patterns, "type": "json-rpc", "owner": owner,
        "json_rpc": {"body_template": template}}),
    )
    .await;
}

#[tokio::test]
async fn s6_4_event_sinks_only_format_events_and_never_subscribe_a_method() {
    let server = TestServer::start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    formatter(&ann, "first", "custom.a.*", false, "first").await;
    formatter(&ann, "second", "custom.*", false, "second").await;
    formatter(&admin, "second", "custom.*", true, "global second").await;
    formatter(&admin, "world", "custom.w", true, "world").await;
    let space = ann.space("lab").await;
    let events = r#"["custom.*", "space.deleted"]"#;
    let formatted = listener("on.any", events)
        .line("event_sinks", r#"["missing", "world", "first", "second"]"#);
    // Without `events` there is no subscription, even if the patterns of the sinks match.
    let silent = method("silent", "push").line("event_sinks", r#"["second"]"#);
    let registration = fixture()
        .with(formatted)
        .with(silent)
        .with(method("{{space}}.pushed", "pushed"));
    let _agent = space.publish(registration).await;
    let a = ann.emit("a.x", json!({})).await;
    let b = ann.emit("b.x", json!({})).await;
    let w = ann.emit("w", json!({})).await;
    let gone = ann.space("gone").await;
    ann.delete(&gone.path()).await.expect(204);
    let list = wait_for_pushed(&ann, "lab", 4).await;
    assert_eq!(list.len(), 4);
    assert_eq!(
        list[0],
        json!({"by": "first", "id": a}),
        "the first formatter that matches"
    );
    assert_eq!(
        list[1],
        json!({"by": "second", "id": b}),
        "the owner's sink comes before a global sink of the same name"
    );
    assert_eq!(list[2], json!({"by": "world", "id": w}), "a global sink");
    assert_eq!(
        list[3]["event_type"], "space.deleted",
        "the default params if no sink matches"
    );
    let sinks = ann.list("/api/event-sinks", "event_sinks").await;
    for sink in sinks {
        assert_eq!(sink["queue_depth"], 0, "formatters have no queue");
        let path = format!(
            "/api/event-sinks/{}/deliveries",
            sink["id"].as_str().unwrap()
        );
        assert_eq!(ann.list(&path, "deliveries").await.len(), 0);
    }
    result(&ann.call("silent", json!({"called": true})).await);
}

/// The first provider returns an error. The other provider gets the next attempt, although the
/// first provider is idle too and would otherwise be preferred.
#[tokio::test]
async fn s6_4_a_retry_goes_to_another_provider() {
    let server = patient().start().await;
    let ann = server.user("ann").await;
    let (a, b) = (ann.space("a").await, ann.space("b").await);
    // One definition with two local names: the local name is not compared (D1).
    let on_build = |local| listener_as("on.build", local).description("Hears of builds");
    let _a = a.publish(fixture().with(on_build("fail"))).await;
    let showing = fixture().with(method("{{space}}.pushed", "pushed"));
    let _b = b.publish(showing.with(on_build("push"))).await;
    let id = ann
        .emit("build.done", json!({"code": 1, "message": "no"}))
        .await;
    assert_eq!(ids(&wait_for_pushed(&ann, "b", 1).await), [id]);
}

/// A subscription belongs to a registration, not to a link. If the space links again without
/// registering, the subscription still ends.
#[tokio::test]
async fn s6_4_a_subscription_not_registered_again_ends_with_the_grace_period() {
    let server = TestServer::builder()
        .config("grace_seconds = 2")
        .start()
        .await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let space = ann.space("lab").await;
    let mut agent = space.publish(listening()).await;
    agent.kill9();
    ann.emit("build.done", json!({})).await;
    let _agent = space.agent().await;
    let removed = || async {
        let path = "/api/audit?action=method_subscription.removed";
        !admin.list(path, "audit").await.is_empty()
    };
    eventually("the subscription is gone", SOON, removed).await;
}
