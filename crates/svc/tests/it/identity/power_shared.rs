//! Resources that act for many users: global scripts, templates, global sinks.

use serde_json::{Value, json};
use svc_testkit::{TestReceiver, TestServer, TestUser, fixture, get_eventually, method, result};

use super::power::refused;
use crate::SOON;

const WHO: &str = "from svc import api\ndef main(params):\n    return api.me()['username']\n";

/// A user with these permissions in addition to those of a plain user.
async fn manager(server: &TestServer, permissions: &[&str]) -> TestUser {
    server.role("managers", permissions).await;
    server.user_with("kim", &["user", "managers"], &[]).await
}

fn run_path(script: &svc_testkit::TestScript) -> String {
    format!("{}/run", script.path())
}

#[tokio::test]
async fn global_scripts_of_a_user_with_more_permissions_cannot_be_changed() {
    let server = TestServer::start().await;
    let (admin, kim) = (
        server.admin().await,
        manager(&server, &["manage_scripts"]).await,
    );
    for kind in ["tool", "library", "startup", "sink"] {
        let script = admin.global_script(kind, "ours", "x = 1\n").await;
        let source = json!({"source": "x = 2\n"});
        refused(&kim.patch(&script.path(), &source).await, "manage_users");
        refused(&kim.delete(&script.path()).await, "manage_users");
        let own = kim.global_script(kind, "own", "x = 1\n").await;
        kim.patch(&own.path(), &source).await.expect(200);
        admin.patch(&own.path(), &source).await.expect(200);
        kim.patch(&own.path(), &source).await.expect(200);
        kim.delete(&own.path()).await.expect(204);
        admin.delete(&script.path()).await.expect(204);
    }
}

#[tokio::test]
async fn a_script_used_by_a_user_with_more_permissions_cannot_be_changed() {
    let server = TestServer::start().await;
    let (admin, ben) = (server.admin().await, server.user("ben").await);
    let kim = manager(&server, &["manage_scripts"]).await;
    let startup = kim.global_script("startup", "boot", "x = 1\n").await;
    let sink = kim.global_script("sink", "note", "x = 1\n").await;
    let uses = async |user: &TestUser| {
        let space = json!({"name": "lab", "startup_script_id": startup.id});
        let space = user.space_with(space).await;
        let body = json!({"name": "s", "patterns": "custom.*", "type": "script",
            "script": {"script_id": sink.id}});
        (space, user.sink(body).await)
    };
    let _of_ben = uses(&ben).await;
    let source = json!({"source": "x = 2\n"});
    for script in [&startup, &sink] {
        kim.patch(&script.path(), &source).await.expect(200);
    }
    let (space, of_admin) = uses(&admin).await;
    for script in [&startup, &sink] {
        refused(&kim.patch(&script.path(), &source).await, "view_audit");
        refused(&kim.delete(&script.path()).await, "view_audit");
    }
    // Kim's version does not run for the administrator either.
    let tried = admin.post(&format!("{}/test", of_admin.path()), "{}").await;
    let error = tried.expect(200).json()["attempt"]["error"].to_string();
    assert!(error.contains("`view_audit`"), "{error}");
    let agent = admin.with_token(&space.agent_token);
    refused(&agent.get(&startup.path()).await, "view_audit");
    // After the administrator has saved a script, it runs for the administrator.
    for script in [&startup, &sink] {
        admin.patch(&script.path(), &source).await.expect(200);
    }
    agent.get(&startup.path()).await.expect(200);
    let tried = admin.post(&format!("{}/test", of_admin.path()), "{}").await;
    assert_eq!(tried.expect(200).json()["attempt"]["error"], Value::Null);
}

#[tokio::test]
async fn global_tools_and_libraries_run_only_for_users_with_no_more_permissions_than_their_editor()
{
    let server = TestServer::start().await;
    let (admin, ben) = (server.admin().await, server.user("ben").await);
    let kim = manager(&server, &["manage_scripts"]).await;
    let tool = kim.global_script("tool", "who", WHO).await;
    assert_eq!(ben.run_tool(&tool, json!({})).await["result"], "ben");
    refused(&admin.post(&run_path(&tool), "{}").await, "manage_users");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "who", "arguments": {}}});
    let answer = admin.post("/mcp", &call).await.text();
    assert!(!answer.contains("\"admin\""), "{answer}");

    let library = kim.global_script("library", "words", WHO).await;
    let imports = "import words\ndef main(params):\n    return words.main(params)\n";
    let of_ben = ben.script("tool", "mine", imports).await;
    let of_admin = admin.script("tool", "mine", imports).await;
    assert_eq!(ben.run_tool(&of_ben, json!({})).await["result"], "ben");
    let failed = admin.run_tool(&of_admin, json!({})).await;
    let error = failed["error"]["message"].as_str().unwrap_or_default();
    assert!(error.contains("`manage_users`"), "{failed}");
    // An agent gets only the scripts that it may run.
    let space = admin.space("lab").await;
    let agent = admin.with_token(&space.agent_token);
    let listed = async || -> usize {
        let all = agent.get("/api/scripts?kind=library").await.expect(200);
        all.json()["scripts"].as_array().unwrap().len()
    };
    assert_eq!(listed().await, 0);
    for script in [&tool, &library] {
        admin.patch(&script.path(), "{}").await.expect(200);
    }
    assert_eq!(listed().await, 1);
    assert_eq!(admin.run_tool(&tool, json!({})).await["result"], "admin");
    assert_eq!(
        admin.run_tool(&of_admin, json!({})).await["result"],
        "admin"
    );
    // Kim changes the tool again, so it no longer runs for users with more permissions than Kim.
    kim.patch(&tool.path(), json!({"description": "x"}))
        .await
        .expect(200);
    refused(&admin.post(&run_path(&tool), "{}").await, "manage_users");
}

#[tokio::test]
async fn a_template_runs_no_script_for_users_with_more_permissions_than_its_editor() {
    let server = TestServer::start().await;
    let (admin, ben) = (server.admin().await, server.user("ben").await);
    let kim = manager(&server, &["manage_templates"]).await;
    let startup = admin.global_script("startup", "boot", "x = 1\n").await;
    let check = json!({"type": "command", "command": "true"});
    for (name, template) in [
        ("checked", json!({"name": "checked", "health_check": check})),
        (
            "started",
            json!({"name": "started", "startup_script_id": startup.id}),
        ),
    ] {
        let template = kim
            .post("/api/templates", template)
            .await
            .expect(201)
            .json();
        let path = format!("/api/templates/{}", template["id"].as_str().unwrap());
        let space = json!({"name": name, "template_id": template["id"]});
        ben.post("/api/spaces", &space).await.expect(201);
        kim.patch(&path, json!({"ports": []})).await.expect(200);
        refused(&admin.post("/api/spaces", &space).await, "view_audit");
        admin.patch(&path, "{}").await.expect(200);
        admin.post("/api/spaces", &space).await.expect(201);
        // From here on an administrator has a space of this template.
        refused(&kim.patch(&path, json!({"ports": []})).await, "view_audit");
        refused(&kim.delete(&path).await, "view_audit");
        admin.patch(&path, json!({"ports": []})).await.expect(200);
    }
    // A template without a script and without a command is usable by all users.
    let plain = kim.post("/api/templates", json!({"name": "plain"})).await;
    let plain = plain.expect(201).json();
    let space = json!({"name": "plain", "template_id": plain["id"]});
    admin.post("/api/spaces", space).await.expect(201);
}

#[tokio::test]
async fn global_sinks_of_a_user_with_more_permissions_cannot_be_managed() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let admin = server.admin().await;
    let kim = manager(&server, &["manage_global_event_sinks"]).await;
    let receiver = TestReceiver::start().await;
    let of_admin = admin
        .global_webhook("theirs", "custom.*", &receiver.url("/a"))
        .await;
    let of_kim = kim
        .global_webhook("mine", "custom.*", &receiver.url("/b"))
        .await;
    admin.emit("x", json!({})).await;
    of_admin.wait_for("delivered", 1, SOON).await;
    let acts = async |actor: &TestUser, path: &str| {
        vec![
            actor.patch(path, json!({"description": "x"})).await,
            actor.patch(path, json!({"active": false})).await,
            actor.patch(path, json!({"active": true})).await,
            actor
                .post(&format!("{path}/test"), r#"{"dry_run":true}"#)
                .await,
            actor.post(&format!("{path}/rotate-secret"), "{}").await,
            actor.post(&format!("{path}/replay"), "{}").await,
            actor.get(&format!("{path}/deliveries")).await,
            actor
                .post(&format!("{path}/deliveries/1/resend"), "{}")
                .await,
            actor.delete(path).await,
        ]
    };
    kim.get(&of_admin.path()).await.expect(200);
    // The list of the deliveries of an event contains attempts too. Kim sees only the attempts of
    // Kim's own sink.
    let event = kim.emit("y", json!({})).await;
    of_admin.wait_for("delivered", 2, SOON).await;
    let path = format!("/api/events/{event}/deliveries");
    let seen = kim.get(&path).await.expect(200).json();
    for delivery in seen["deliveries"].as_array().unwrap() {
        let is_own = delivery["receiver"]["owner_id"] == kim.id;
        assert_eq!(delivery["attempts"].is_array(), is_own, "{delivery}");
    }
    for answer in acts(&kim, &of_admin.path()).await {
        refused(&answer, "manage_users");
    }
    of_kim.wait_for("delivered", 1, SOON).await;
    for answer in acts(&admin, &of_kim.path()).await {
        assert!((200..300).contains(&answer.status), "{}", answer.text());
    }
}

/// A formatter determines the params of the calls that an event triggers.
#[tokio::test]
async fn a_global_formatter_formats_nothing_for_users_with_more_permissions_than_its_creator() {
    let server = TestServer::start().await;
    let (admin, ben) = (server.admin().await, server.user("ben").await);
    let kim = manager(&server, &["manage_global_event_sinks"]).await;
    kim.sink(
        json!({"name": "shape", "patterns": "custom.*", "type": "json-rpc",
        "owner": "global", "json_rpc": {"body_template": r#"{"by": "kim"}"#}}),
    )
    .await;
    for (user, formatted) in [(&ben, true), (&admin, false)] {
        let space = user.space("lab").await;
        let listener = method("on.any", "push")
            .line("events", r#"["custom.*"]"#)
            .line("event_sinks", r#"["shape"]"#);
        let registration = fixture().with(listener).with(method("pushed", "pushed"));
        let _agent = space.publish(registration).await;
        user.emit("x", json!({})).await;
        let params = get_eventually("the event arrives", SOON, || async {
            let pushed = user.call("pushed", json!({})).await;
            result(&pushed)
                .as_array()
                .and_then(|all| all.first().cloned())
        });
        let params = params.await;
        assert_eq!(params["by"] == "kim", formatted, "{}: {params}", user.name);
    }
}

#[tokio::test]
async fn a_global_webhook_pauses_while_its_creator_lacks_the_permission() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let (admin, ben) = (server.admin().await, server.user("ben").await);
    let kim = manager(&server, &["manage_global_event_sinks"]).await;
    let receiver = TestReceiver::start().await;
    let sink = kim
        .global_webhook("all", "custom.*", &receiver.url("/a"))
        .await;
    ben.emit("first", json!({})).await;
    receiver.wait_for("/a", 1, SOON).await;
    let path = format!("/api/users/{}", kim.id);
    admin
        .patch(&path, json!({"roles": ["user"]}))
        .await
        .expect(200);
    ben.emit("second", json!({})).await;
    let told = get_eventually("the audit log says why", SOON, || async {
        admin
            .audit_entries("event_sink.withheld")
            .await
            .first()
            .cloned()
    });
    let told = told.await;
    assert_eq!(told["target_id"], sink.id, "{told}");
    assert_eq!(receiver.count("/a"), 1);
    let back = json!({"roles": ["user", "managers"]});
    admin.patch(&path, back).await.expect(200);
    receiver.wait_for("/a", 2, 4 * SOON).await;
}
