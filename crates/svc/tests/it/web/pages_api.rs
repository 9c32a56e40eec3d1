//! Routes that mainly the pages of the web interface use.

use serde_json::{Value, json};
use svc_testkit::{
    Reply, TestReceiver, TestServer, TestUser, eventually, fixture, get_eventually, method,
};

use crate::SOON;

async fn deliveries(user: &TestUser, event: &str) -> Vec<Value> {
    let path = format!("/api/events/{event}/deliveries");
    let answer = user.get(&path).await.expect(200).json();
    answer["deliveries"].as_array().unwrap().clone()
}

/// The name of the receiver and the state of each delivery, sorted.
fn ends(deliveries: &[Value]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let end = |one: &Value| (text(&one["receiver"]["name"]), text(&one["state"]));
    let mut ends: Vec<_> = deliveries.iter().map(end).collect();
    ends.sort();
    ends
}

fn pair(name: &str, state: &str) -> (String, String) {
    (name.to_owned(), state.to_owned())
}

#[tokio::test]
async fn an_event_lists_its_matches_and_the_outcome_of_each_delivery() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .retries(0.1, 0.1)
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let admin = server.admin().await;
    let space = ann.space("lab").await;
    let listener = method("on.build", "echo").line("events", r#"["custom.build.*"]"#);
    let _agent = space.publish(fixture().with(listener)).await;
    receiver.set("/bad", Reply::Body(503, "later".to_owned()));
    let bad = ann.webhook("bad", "*", &receiver.url("/bad")).await;
    ann.webhook("good", "custom.*", &receiver.url("/good"))
        .await;
    ann.webhook("other", "custom.other", &receiver.url("/good"))
        .await;
    admin
        .global_webhook("all", "custom.*", &receiver.url("/good"))
        .await;
    let event = ann.emit("build.done", json!({})).await;
    let expected = [
        pair("bad", "dead"),
        pair("good", "delivered"),
        pair("on.build", "delivered"),
    ];
    let own = get_eventually("all deliveries have ended", SOON, || async {
        let own = deliveries(&ann, &event).await;
        (ends(&own) == expected).then_some(own)
    })
    .await;
    let of = |name: &str| own.iter().find(|one| one["receiver"]["name"] == name);
    let dead = of("bad").unwrap();
    assert_eq!(dead["receiver"]["type"], "sink");
    assert_eq!(dead["receiver"]["id"], bad.id);
    assert_eq!(dead["n"], 1);
    assert_eq!(dead["attempts"].as_array().unwrap().len(), 3);
    assert_eq!(dead["attempts"][0]["output"], "later");
    assert_eq!(of("on.build").unwrap()["receiver"]["type"], "method");

    // With `view_audit` all receivers are listed, but without the responses of others' receivers.
    let all = deliveries(&admin, &event).await;
    assert_eq!(all.len(), 4);
    for one in &all {
        let is_managed = one["receiver"]["name"] == "all";
        assert_eq!(one["attempts"].is_array(), is_managed, "{one}");
    }
    let path = format!("/api/events/{event}/deliveries");
    bob.get(&path).await.expect(404);
    // A delivery that is sent again is listed again.
    let resend = format!("/api/event-sinks/{}/deliveries/1/resend", bad.id);
    ann.post(&resend, "{}").await.expect(200);
    assert_eq!(deliveries(&ann, &event).await.len(), 4);
}

#[tokio::test]
async fn s6_5_an_event_dropped_by_a_full_queue_shows_the_drop() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .retries(60.0, 60.0)
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    receiver.set("/stuck", Reply::Status(500));
    ann.webhook("stuck", "*", &receiver.url("/stuck")).await;
    for n in 0..100 {
        ann.emit("n", json!({ "n": n })).await;
    }
    let late = ann.emit("late", json!({})).await;
    let [dropped] = deliveries(&ann, &late).await.try_into().unwrap();
    assert_eq!(dropped["state"], "dropped");
    assert_eq!(dropped["n"], Value::Null);
    assert_eq!(dropped["receiver"]["name"], "stuck");
    let failures = get_eventually("the first attempt has failed", SOON, || async {
        let sinks = ann.list("/api/event-sinks", "event_sinks").await;
        sinks[0]["failures"]
            .as_u64()
            .filter(|failures| *failures > 0)
    });
    assert_eq!(failures.await, 1);
}

#[tokio::test]
async fn s6_3_a_preview_shows_which_patterns_match() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let preview = async |body: Value| ann.post("/api/event-sinks/preview", body).await;
    let matched = preview(json!({
        "event_type": "space.unhealthy",
        "patterns": ["space.*", "space.unhealthy", "custom.*", "*"],
    }))
    .await
    .expect(200)
    .json();
    assert_eq!(matched["event_type"], "space.unhealthy");
    assert_eq!(
        matched["matched_patterns"],
        json!(["space.*", "space.unhealthy", "*"])
    );
    let id = ann.emit("build.done", json!({})).await;
    let matched = preview(json!({"event_id": id, "patterns": "space.*, custom.build*"}))
        .await
        .expect(200)
        .json();
    assert_eq!(matched["matched_patterns"], json!(["custom.build*"]));
    let refused = preview(json!({"patterns": "a.*.b"})).await.expect(400);
    assert_eq!(refused.code(), "invalid_pattern");
    let silent = preview(json!({})).await.expect(200).json();
    assert_eq!(silent.get("matched_patterns"), None);
}

#[tokio::test]
async fn the_history_accepts_several_patterns() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for name in ["a.one", "b.two", "c.three"] {
        ann.emit(name, json!({})).await;
    }
    let types = async |query: &str| -> Vec<String> {
        let events = ann.list(&format!("/api/events{query}"), "events").await;
        let name = |event: &Value| event["event_type"].as_str().unwrap().to_owned();
        events.iter().map(name).collect()
    };
    assert_eq!(
        types("?type=custom.a.*,custom.c.three").await,
        ["custom.c.three", "custom.a.one"]
    );
    assert_eq!(types("?type=nothing,*").await.len(), 3);
    let many = vec!["custom.a"; 101].join(",");
    let refused = ann.get(&format!("/api/events?type={many}")).await;
    assert_eq!(refused.expect(400).code(), "invalid_pattern");
}

#[tokio::test]
async fn a_page_reads_its_current_user_without_an_error() {
    let server = TestServer::builder().without_admin().start().await;
    let state = async |server: &TestServer, headers: &[(&str, &str)]| {
        let http = server.http();
        let answer = http.request("GET", "/api/auth/state", headers, "").await;
        answer.expect(200).json()
    };
    let first = state(&server, &[]).await;
    assert_eq!(first["setup_needed"], true);
    assert_eq!(first["me"], Value::Null);

    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for headers in [
        vec![],
        vec![("cookie", "svc_session=svc_ses_0123")],
        vec![("authorization", "Bearer svc_pat_0123")],
    ] {
        let nobody = state(&server, &headers).await;
        assert_eq!(nobody["me"], Value::Null, "{headers:?}");
        assert_eq!(nobody["setup_needed"], false);
        assert!(nobody["version"].is_string());
    }
    let cookie = ann.login().await;
    let known = state(&server, &[("cookie", &cookie)]).await;
    assert_eq!(known["me"]["username"], "ann");
    assert_eq!(known["me"]["credential"], "session");
}

#[tokio::test]
async fn the_access_of_a_user_names_roles_and_groups() {
    let server = TestServer::start().await;
    server.groups(&["ops", "dev"]).await;
    server
        .role("sinker", &["manage_global_event_sinks", "use_spaces"])
        .await;
    let admin = server.admin().await;
    let bob = server.user("bob").await;
    let ann = server.user_with("ann", &["user", "sinker"], &["ops"]).await;
    let space = bob.space("lab").await;
    let registration = fixture()
        .with(method("open", "echo").shared())
        .with(method("ours", "echo").shared().groups(&["ops", "dev"]))
        .with(method("theirs", "echo").shared().groups(&["dev"]))
        .plain("echo");
    let _agent = space.publish(registration).await;
    let path = format!("/api/users/{}/access", ann.id);
    bob.get(&path).await.expect(403);
    let access = admin.get(&path).await.expect(200).json();
    assert_eq!(access["username"], "ann");
    assert_eq!(access["groups"], json!(["ops"]));
    assert_eq!(access["own_methods"], 0);
    let roles_of = |name: &str| {
        let permissions = access["permissions"].as_array().unwrap();
        let found = permissions.iter().find(|one| one["name"] == name);
        found.unwrap()["roles"].clone()
    };
    assert_eq!(roles_of("view_audit"), json!([]));
    assert_eq!(roles_of("use_methods"), json!(["user"]));
    // Managing global sinks includes managing own ones.
    let own_sinks = roles_of("manage_own_event_sinks");
    assert!(own_sinks.as_array().unwrap().contains(&json!("sinker")));
    assert_eq!(
        access["methods"],
        json!([
            {"name": "user.bob.open", "owner": "bob", "through": "everyone", "groups": []},
            {"name": "user.bob.ours", "owner": "bob", "through": "group", "groups": ["ops"]},
        ])
    );
    // Without `manage_groups`, the caller does not see methods that the user sees only through
    // groups to which the caller does not belong.
    server.role("clerk", &["manage_users"]).await;
    let clerk = server.user_with("clerk", &["clerk"], &[]).await;
    let access = clerk.get(&path).await.expect(200).json();
    let names: Vec<_> = access["methods"].as_array().unwrap().iter().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert_eq!(names[0]["name"], "user.bob.open");
    let path = format!("/api/users/{}/access", bob.id);
    let access = admin.get(&path).await.expect(200).json();
    assert_eq!(access["own_methods"], 4);
    assert_eq!(access["methods"], json!([]), "a private name is not shown");
}

#[tokio::test]
async fn the_audit_log_is_filtered_by_time() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    server.groups(&["one"]).await;
    let listed = async |query: &str| {
        let path = format!("/api/audit?action=group.created{query}");
        admin.list(&path, "audit").await
    };
    let [first] = listed("").await.try_into().unwrap();
    let at = first["at"].as_str().unwrap();
    assert_eq!(listed(&format!("&since={at}&until={at}")).await.len(), 1);
    assert_eq!(listed("&since=2100-01-01T00:00:00Z").await.len(), 0);
    assert_eq!(listed("&until=2020-01-01T00:00:00Z").await.len(), 0);
    admin.get("/api/audit?since=yesterday").await.expect(400);
}

#[tokio::test]
async fn a_space_shows_whether_its_agent_is_linked() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    assert_eq!(space.record().await["linked"], false);
    let agent = space.publish(fixture().plain("echo")).await;
    assert_eq!(space.record().await["linked"], true);
    drop(agent);
    eventually("the space is shown as unlinked", SOON, || async {
        space.record().await["linked"] == false
    })
    .await;
}
