//! Changes at one server take effect at the others.

use std::time::Instant;

use serde_json::json;
use svc_testkit::{
    TestPostgres, TestReceiver, TestServerBuilder, TestUser, TestZone, error_code, fixture, method,
    result,
};

use super::{at_each, in_effect, reaching_tests};
use crate::{SOON, mcp::tool_names};

async fn status(user: &TestUser) -> u16 {
    user.get("/api/auth/me").await.status
}

#[tokio::test]
async fn users_tokens_and_sessions_become_valid_and_end_at_all_servers() {
    if let Some(postgres) = TestPostgres::find() {
        users_tokens_and_sessions(postgres, |builder| builder).await;
    }
}

pub async fn users_tokens_and_sessions(
    postgres: &TestPostgres,
    configure: impl Fn(TestServerBuilder) -> TestServerBuilder,
) {
    let zone = TestZone::start_with(postgres, 3, configure).await;
    let ann = zone.server(0).user("ann").await;
    let made = Instant::now();
    let others = [ann.at(zone.server(1)), ann.at(zone.server(2))];
    for ann in &others {
        in_effect("the token", made, || async { status(ann).await == 200 }).await;
    }
    // The session of a login at one server is valid at all servers. A logout at any server ends it.
    let cookie = others[0].login().await;
    let made = Instant::now();
    let session = |member: usize, method: &'static str, path: &'static str| {
        let (http, cookie) = (zone.server(member).http(), cookie.clone());
        async move {
            let headers = [("cookie", cookie.as_str())];
            http.request(method, path, &headers, "").await.status
        }
    };
    for member in [0, 2] {
        in_effect("the session", made, || async {
            session(member, "GET", "/api/auth/me").await == 200
        })
        .await;
    }
    let ended = session(2, "POST", "/api/auth/logout").await;
    assert!([200, 204].contains(&ended), "{ended}");
    let ended = Instant::now();
    for member in [0, 1] {
        in_effect("the end of the session", ended, || async {
            session(member, "GET", "/api/auth/me").await == 401
        })
        .await;
    }
    let admin = zone.admin(2);
    let path = format!("/api/users/{}", ann.id);
    admin
        .patch(&path, json!({"active": false}))
        .await
        .expect(200);
    let ended = Instant::now();
    for ann in [&ann, &others[0]] {
        in_effect("deactivation", ended, || async { status(ann).await == 401 }).await;
    }
    admin
        .patch(&path, json!({"active": true}))
        .await
        .expect(200);
    let made = Instant::now();
    for ann in [&ann, &others[0]] {
        in_effect("activation", made, || async { status(ann).await == 200 }).await;
    }
}

/// Ann's method, in a space at server 1, is shared with a group. Members of the group also need the
/// permission `use_methods`.
#[tokio::test]
async fn groups_and_roles_changed_at_one_server_take_effect_at_another() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 2).await;
    let (here, admin) = (zone.server(0), zone.admin(0));
    let ann = here.user("ann").await;
    let role = here.role("caller", &["use_methods"]).await;
    let ben = here.user_with("ben", &["caller"], &[]).await;
    let (_, ben) = (
        at_each(&zone, &ann, 2).await,
        at_each(&zone, &ben, 2).await.remove(1),
    );
    // A group created at one server can soon be used by a registration at the other.
    let group = here.groups(&["ops"]).await.remove(0);
    let made = Instant::now();
    let space = ann.at(zone.server(1)).space("lab").await;
    let agent = space.agent().await;
    let for_ops = fixture().with(method("echo", "echo").shared().groups(&["ops"]));
    in_effect("the group", made, || async {
        agent.register(&for_ops).await.code == 0
    })
    .await;
    let sees = async || ben.find_method("user.ann.echo").await.is_some();
    assert!(!sees().await);
    let path = format!("/api/users/{}", ben.id);
    admin
        .patch(&path, json!({"groups": ["ops"]}))
        .await
        .expect(200);
    let changed = Instant::now();
    in_effect("membership", changed, || async { sees().await }).await;
    let called = ben.call("user.ann.echo", json!({"a": 1})).await;
    assert_eq!(result(&called), &json!({"a": 1}));
    // A change of a role affects its users.
    let role = format!("/api/roles/{}", role["id"].as_str().unwrap());
    let none = json!({"permissions": []});
    admin.patch(&role, none).await.expect(200);
    let changed = Instant::now();
    in_effect("the role", changed, || async { !sees().await }).await;
    let called = ben.call("user.ann.echo", json!({})).await;
    assert_eq!(error_code(&called), -32601);
    let again = json!({"permissions": ["use_methods"]});
    admin.patch(&role, again).await.expect(200);
    let changed = Instant::now();
    in_effect("the role again", changed, || async { sees().await }).await;
    let group = format!("/api/groups/{}", group["id"].as_str().unwrap());
    admin.delete(&group).await.expect(204);
    let changed = Instant::now();
    in_effect("the group's end", changed, || async { !sees().await }).await;
}

#[tokio::test]
async fn sinks_and_tools_created_at_one_server_work_at_another() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_with(postgres, 2, reaching_tests).await;
    let receiver = TestReceiver::start().await;
    let ann = zone.server(0).user("ann").await;
    let there = at_each(&zone, &ann, 2).await.remove(1);
    let sink = ann.webhook("hook", "custom.a", &receiver.url("/a")).await;
    there.emit("a", json!({})).await;
    receiver.wait_for("/a", 1, SOON).await;
    sink.patch(json!({"patterns": "custom.b", "webhook": {"url": receiver.url("/b")}}))
        .await;
    there.emit("a", json!({})).await;
    let last = there.emit("b", json!({})).await;
    let received = receiver.wait_for("/b", 1, SOON).await;
    assert_eq!(received[0].header("x-service-event-id"), last);
    assert_eq!(receiver.count("/a"), 1, "the changed sink does not match");

    let source = "def main(params):\n    return 1\n";
    let tool = ann.script("tool", "one", source).await;
    let made = Instant::now();
    in_effect("the tool", made, || async {
        tool_names(&there).await == ["one"]
    })
    .await;
    ann.delete(&tool.path()).await.expect(204);
    let ended = Instant::now();
    in_effect("the end of the tool", ended, || async {
        tool_names(&there).await.is_empty()
    })
    .await;
    let of_all = zone.admin(1).global_script("tool", "two", source).await;
    let made = Instant::now();
    in_effect("the global tool", made, || async {
        tool_names(&ann).await == ["two"]
    })
    .await;
    assert_eq!(ann.run_tool(&of_all, json!({})).await["result"], 1);
}
