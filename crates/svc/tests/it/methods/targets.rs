//! Several spaces behind one name (spec 4.1, D1 and D2).

use serde_json::{Value, json};
use svc_testkit::{
    MethodToml, RegistrationToml, TestServer, TestUser, error_code, eventually, fixture, method,
    result,
};

use crate::SOON;

fn work() -> RegistrationToml {
    fixture()
        .with(method("work", "sleep"))
        .with(method("whoami", "pid"))
}

fn described(text: &str) -> RegistrationToml {
    let shown: MethodToml = method("work", "pid").description(text);
    fixture().with(shown)
}

/// Process id of the method server that answers now.
async fn target(user: &TestUser) -> u64 {
    result(&user.call("whoami", json!({})).await)
        .as_u64()
        .unwrap()
}

/// Starts a call that ends when the file `go` exists; its result names the process that took it.
fn slow_call(user: &TestUser) -> tokio::task::JoinHandle<Value> {
    let user = user.clone();
    tokio::spawn(async move { user.call("work", json!({"until": "go"})).await })
}

async fn in_flight(user: &TestUser) -> Vec<(String, u64)> {
    let document = user.find_method("work").await.unwrap();
    let providers = document["providers"].as_array().unwrap();
    let mut counts: Vec<_> = providers
        .iter()
        .map(|p| {
            (
                p["space"].as_str().unwrap().to_owned(),
                p["in_flight"].as_u64().unwrap(),
            )
        })
        .collect();
    counts.sort();
    counts
}

async fn wait_for_in_flight(user: &TestUser, expected: &[(&str, u64)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(s, n)| ((*s).to_owned(), *n))
        .collect();
    eventually(
        &format!("{expected:?} calls are in flight"),
        SOON,
        || async { in_flight(user).await == expected },
    )
    .await;
}

#[tokio::test]
async fn d1_two_spaces_may_offer_an_identical_definition() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (one, two) = (ann.space("one").await, ann.space("two").await);
    let _first = one.publish(described("the same")).await;
    // A different method server is not a conflict: only the visible definition is compared.
    let second = described("the same").timeout(7).serial();
    let _second = two.publish(second).await;
    assert_eq!(ann.method_names().await, ["work"]);
    let document = ann.find_method("work").await.unwrap();
    assert_eq!(document["provider_count"], 2);
}

#[tokio::test]
async fn d1_s7_a_different_definition_is_a_conflict_that_names_method_and_space() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (one, two) = (ann.space("one").await, ann.space("two").await);
    let _first = one.publish(described("the old")).await;
    let second = two.publish(fixture().plain("echo")).await;

    let refused = second.register(described("another")).await.expect(6);
    assert!(refused.stderr.contains("`work`"), "{}", refused.stderr);
    assert!(refused.stderr.contains("`one`"), "{}", refused.stderr);
    // Both spaces keep their registrations.
    assert_eq!(ann.method_names().await, ["echo", "work"]);
    let document = ann.find_method("work").await.unwrap();
    assert_eq!(document["description"], "the old");
    result(&ann.call("work", json!({})).await);
    result(&ann.call("echo", json!({})).await);
}

#[tokio::test]
async fn d1_replace_conflicting_removes_the_other_spaces_conflicting_methods() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (one, two) = (ann.space("one").await, ann.space("two").await);
    let _first = one.publish(described("the old").plain("echo")).await;
    let second = two.agent().await;
    second
        .register_with(described("the new"), &["--replace-conflicting"])
        .await
        .expect(0);
    let document = ann.find_method("work").await.unwrap();
    assert_eq!(document["description"], "the new");
    assert_eq!(document["providers"][0]["space"], "two");
    assert_eq!(document["provider_count"], 1);
    // Methods without a conflict stay.
    assert_eq!(ann.method_names().await, ["echo", "work"]);
    result(&ann.call("echo", json!({})).await);
}

#[tokio::test]
async fn d1_a_conflict_at_the_start_of_an_agent_is_solved_by_the_advised_flag() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (one, two) = (ann.space("one").await, ann.space("two").await);
    let _first = one.publish(described("the old")).await;
    two.write("methods.toml", &described("the new").to_string());
    let start = ["--methods-file", "methods.toml"];
    let mut refused = two.agent_with(&start).await;
    let registration = two.wait_for_registration("refused", SOON).await;
    let error = registration["error"].as_str().unwrap();
    assert!(error.contains("use --replace-conflicting"), "{error}");
    refused.stop().await;
    let advised = [&start[..], &["--replace-conflicting"]].concat();
    let _agent = two.agent_with(&advised).await;
    two.wait_for_registration("active", SOON).await;
    let document = ann.find_method("work").await.unwrap();
    assert_eq!(document["description"], "the new");
}

#[tokio::test]
async fn d1_methods_taken_over_stay_with_the_new_space_after_a_lost_link() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (one, two) = (ann.space("one").await, ann.space("two").await);
    let first = one.publish(described("the old").plain("pid")).await;
    let pid = first.method_server_pid().await;
    let second = two.agent().await;
    second
        .register_with(described("the new"), &["--replace-conflicting"])
        .await
        .expect(0);
    let check = async || {
        let active = json!({"state": "active", "methods": 1});
        assert_eq!(one.record().await["registration"], active);
        let document = ann.find_method("work").await.unwrap();
        assert_eq!(document["description"], "the new");
        assert_eq!(document["providers"].as_array().unwrap().len(), 1);
        assert_eq!(document["providers"][0]["space"], "two");
        // The first space still has its process.
        assert_eq!(result(&ann.call("pid", json!({})).await), pid);
        result(&ann.call("work", json!({})).await);
    };
    check().await;
    eventually("the first agent lost `work`", SOON, || async {
        first.status().await["methods"] == json!(["pid"])
    })
    .await;
    // After a restart of the server, either agent may be the first to reconnect.
    for _ in 0..2 {
        server.kill9();
        server.start_again().await;
        one.wait_for_registration("active", 2 * SOON).await;
        two.wait_for_registration("active", 2 * SOON).await;
        check().await;
    }
}

#[tokio::test]
async fn d2_the_target_with_the_fewest_calls_in_flight_is_chosen() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (one, two) = (ann.space("one").await, ann.space("two").await);
    let first = one.publish(work()).await;
    let second = two.publish(work()).await;
    let (first_pid, second_pid) = (
        first.method_server_pid().await,
        second.method_server_pid().await,
    );

    // With 0 and 0 calls in flight the first provider is chosen, with 1 and 0 the second, with 1
    // and 1 the first again.
    let a = slow_call(&ann);
    wait_for_in_flight(&ann, &[("one", 1), ("two", 0)]).await;
    // Calls in flight are counted per method. `whoami` has none, so the first target is chosen.
    assert_eq!(target(&ann).await, u64::from(first_pid));
    let b = slow_call(&ann);
    wait_for_in_flight(&ann, &[("one", 1), ("two", 1)]).await;
    let c = slow_call(&ann);
    wait_for_in_flight(&ann, &[("one", 2), ("two", 1)]).await;
    for space in [&one, &two] {
        space.write("go", "");
    }
    for (call, pid) in [(a, first_pid), (b, second_pid), (c, first_pid)] {
        assert_eq!(result(&call.await.unwrap())["pid"], pid);
    }
    wait_for_in_flight(&ann, &[("one", 0), ("two", 0)]).await;
}

#[tokio::test]
async fn d2_a_caller_that_disconnects_is_no_longer_counted() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("one").await;
    let _agent = space.publish(work()).await;
    let call = slow_call(&ann);
    wait_for_in_flight(&ann, &[("one", 1)]).await;
    call.abort();
    wait_for_in_flight(&ann, &[("one", 0)]).await;
}

#[tokio::test]
async fn d2_ties_go_to_the_first_registered_and_a_new_registration_goes_to_the_end() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (one, two) = (ann.space("one").await, ann.space("two").await);
    // The spaces register in the reverse order of their creation.
    let second = two.publish(work()).await;
    let first = one.publish(work()).await;
    let pid = u64::from(second.method_server_pid().await);
    for _ in 0..5 {
        assert_eq!(target(&ann).await, pid);
    }
    second.register(work()).await.expect(0);
    let pid = u64::from(first.method_server_pid().await);
    for _ in 0..5 {
        assert_eq!(target(&ann).await, pid);
    }
}

#[tokio::test]
async fn d2_an_automatic_reregistration_keeps_its_position() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (one, two) = (ann.space("one").await, ann.space("two").await);
    let first = one.publish(work()).await;
    let _second = two.publish(work()).await;
    let pid = u64::from(first.method_server_pid().await);
    for _ in 0..3 {
        server.kill9();
        server.start_again().await;
        eventually("both spaces are back", 2 * SOON, || async {
            let document = ann.find_method("work").await;
            document.is_some_and(|found| found["provider_count"] == 2)
        })
        .await;
        assert_eq!(target(&ann).await, pid);
    }
}

#[tokio::test]
async fn d2_a_provider_without_a_link_is_not_chosen() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (one, two) = (ann.space("one").await, ann.space("two").await);
    let mut first = one.publish(work()).await;
    let mut second = two.publish(work()).await;
    let pid = u64::from(second.method_server_pid().await);
    first.kill9();
    for _ in 0..5 {
        let answer = ann.call("whoami", json!({})).await;
        // Calls may fail until the server has noticed the lost link.
        if answer.get("error").is_none() {
            assert_eq!(result(&answer), pid);
        } else {
            assert_eq!(error_code(&answer), -32002);
        }
    }
    assert_eq!(target(&ann).await, pid);
    second.kill9();
    eventually("no provider is left", SOON, || async {
        let document = ann.find_method("whoami").await;
        document.is_some_and(|found| found["provider_count"] == 0)
    })
    .await;
    assert_eq!(error_code(&ann.call("whoami", json!({})).await), -32000);
}
