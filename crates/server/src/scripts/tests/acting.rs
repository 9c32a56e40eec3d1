//! Requests of a running script. The host performs them for the script, with at most the access of
//! the script's user.

use serde_json::{Value, json};
use svc_script::{Exception, worker::JobHost};

use super::*;
use crate::scripts::{Libraries, Run, RunInput, Unavailable, host::RunHost};

impl Fixture {
    fn tool_of(&self, caller: &Caller) -> RunHost {
        let user = caller.user.id;
        self.app
            .scripts
            .runner
            .host(user, Libraries::Of(user), None)
    }

    fn sink_of(&self, caller: &Caller) -> RunHost {
        let (user, event) = (caller.user.id, r#"{"id":"x"}"#.to_owned());
        self.app
            .scripts
            .runner
            .host(user, Libraries::Of(user), Some(event))
    }
}

/// Sends an API request as a script. Returns the status and the body.
async fn api(host: &RunHost, method: &str, path: &str, body: Option<Value>) -> (u64, Value) {
    let mut argument = json!({"method": method, "path": path});
    if let Some(body) = body {
        argument["body"] = body;
    }
    let answer = host
        .call("api", &argument.to_string())
        .await
        .expect("answered");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    (
        answer["status"].as_u64().expect("a status"),
        answer["body"].clone(),
    )
}

async fn raised(host: &RunHost, operation: &str, argument: Value) -> (Exception, String) {
    let raise = host
        .call(operation, &argument.to_string())
        .await
        .expect_err("raised");
    (raise.exception, raise.message)
}

#[tokio::test]
async fn a_script_acts_as_its_user_and_has_no_access_to_credentials() {
    let fixture = Fixture::new().await;
    let (admin, ann) = (fixture.admin(), fixture.user("ann").await);
    let host = fixture.tool_of(&ann);
    let (status, me) = api(&host, "GET", "/api/auth/me", None).await;
    assert_eq!(
        (status, &me["username"], &me["credential"]),
        (200, &json!("ann"), &json!("script"))
    );

    // These routes are closed even for an administrator's script.
    let powerful = fixture.tool_of(&admin);
    let closed = [
        ("GET", "/api/tokens"),
        ("POST", "/api/tokens"),
        ("GET", "/api/users"),
        ("POST", "/api/users"),
        ("GET", "/api/groups"),
        ("GET", "/api/roles"),
        ("GET", "/api/auth/sessions"),
        ("POST", "/api/auth/login"),
        ("POST", "/api/auth/password"),
        ("POST", "/api/spaces"),
        ("DELETE", "/api/spaces/01890000-0000-7000-8000-000000000000"),
        (
            "POST",
            "/api/spaces/01890000-0000-7000-8000-000000000000/agent-token",
        ),
    ];
    for (method, path) in closed {
        let body = (method == "POST").then(|| json!({"name": "x"}));
        let (status, problem) = api(&powerful, method, path, body).await;
        assert_eq!(
            (status, &problem["code"]),
            (403, &json!("script_denied")),
            "{method} {path}"
        );
    }

    // A script has no more permissions than its user.
    assert_eq!(api(&powerful, "GET", "/api/audit", None).await.0, 200);
    let (status, problem) = api(&host, "GET", "/api/audit", None).await;
    assert_eq!(
        (status, &problem["code"]),
        (403, &json!("permission_denied"))
    );
    fixture.close().await;
}

#[tokio::test]
async fn paths_outside_the_api_and_streams_are_refused() {
    let fixture = Fixture::new().await;
    let ann = fixture.user("ann").await;
    let host = fixture.tool_of(&ann);
    for path in [
        "/agent/link",
        "/metrics",
        "https://example.org/api/x",
        "api/x",
        "/api/a b",
        "",
    ] {
        let (exception, _) = raised(&host, "api", json!({"method": "GET", "path": path})).await;
        assert_eq!(exception, Exception::ValueError, "{path}");
    }
    let stream = json!({"method": "GET", "path": "/api/events/stream?pattern=*"});
    assert_eq!(raised(&host, "api", stream).await.0, Exception::ValueError);
    let connect = json!({"method": "CONNECT", "path": "/api/x"});
    assert_eq!(raised(&host, "api", connect).await.0, Exception::ValueError);
    assert_eq!(api(&host, "GET", "/api/../metrics", None).await.0, 404);
    for operation in ["register", "unregister", "process"] {
        assert_eq!(
            raised(&host, operation, json!({})).await.0,
            Exception::PermissionError
        );
    }
    fixture.close().await;
}

#[tokio::test]
async fn a_script_of_a_user_who_is_deactivated_is_rejected() {
    let fixture = Fixture::new().await;
    let ann = fixture.user("ann").await;
    let host = fixture.tool_of(&ann);
    assert_eq!(api(&host, "GET", "/api/methods", None).await.0, 200);
    fixture.deactivate(ann.user.id).await;
    let methods = json!({"method": "GET", "path": "/api/methods"});
    let (exception, message) = raised(&host, "api", methods).await;
    assert_eq!(exception, Exception::PermissionError);
    assert!(message.contains("`ann`"), "{message}");
    let library = host.library("notes").await.expect_err("refused");
    assert_eq!(library.exception, Exception::PermissionError);
    let run = Run {
        what: RunInput::Tool {
            params: "{}".to_owned(),
        },
        user: ann.user.id,
        libraries: Libraries::Global,
        script: svc_script::Source {
            file: "t.py".to_owned(),
            text: String::new(),
        },
        trace: None,
    };
    let unstarted = fixture.app.scripts.runner.run(run).await;
    assert!(
        matches!(unstarted, Err(Unavailable::User(_))),
        "{unstarted:?}"
    );
    // The internal API, which checks each request, refuses the user too.
    let request = crate::scripts::api::ApiRequest {
        method: http::Method::GET,
        uri: http::Uri::from_static("/api/methods"),
        body: None,
    };
    let reply = host
        .api
        .send(ann.user.id, request, None)
        .await
        .expect("answered");
    assert_eq!(reply.status, 401);
    fixture.close().await;
}

#[tokio::test]
async fn a_tool_emits_as_its_caller_and_a_sink_cannot_emit() {
    let fixture = Fixture::new().await;
    let ann = fixture.user("ann").await;
    let tool = fixture.tool_of(&ann);
    let emit = json!({"type": "deploy.done", "payload": {"n": 1}});
    let emitted = tool.call("emit", &emit.to_string()).await.expect("emitted");
    let emitted: Value = serde_json::from_str(&emitted).expect("JSON");
    assert_eq!(emitted["event_type"], "custom.deploy.done");
    let path = format!(
        "/api/events/{}",
        emitted["event_id"].as_str().expect("an id")
    );
    let (status, event) = api(&tool, "GET", &path, None).await;
    assert_eq!((status, &event["actor"]["username"]), (200, &json!("ann")));
    assert_eq!(event["actor"]["kind"], "user");
    let (exception, _) = raised(&tool, "emit", json!({"type": "no spaces", "payload": {}})).await;
    assert_eq!(exception, Exception::ValueError);
    assert_eq!(
        raised(&tool, "event", Value::Null).await.0,
        Exception::RuntimeError
    );

    let sink = fixture.sink_of(&ann);
    assert_eq!(
        raised(&sink, "emit", emit.clone()).await.0,
        Exception::PermissionError
    );
    for path in [
        "/api/events/emit?x=1",
        "/api/event-sinks/01890000-0000-7000-8000-000000000000/replay",
        "/api/event-sinks/01890000-0000-7000-8000-000000000000/deliveries/1/resend",
    ] {
        let around = json!({"method": "POST", "path": path, "body": emit});
        let (exception, _) = raised(&sink, "api", around).await;
        assert_eq!(exception, Exception::PermissionError, "{path}");
    }
    assert_eq!(
        sink.call("event", "null").await.expect("the event"),
        r#"{"id":"x"}"#
    );
    fixture.close().await;
}

#[tokio::test]
async fn own_libraries_come_before_global_ones_but_not_in_global_scripts() {
    let fixture = Fixture::with_workers().await;
    let (admin, ann, ben) = (
        fixture.admin(),
        fixture.user("ann").await,
        fixture.user("ben").await,
    );
    fixture
        .library(&admin, "notes", "global", "x = 'global'")
        .await;
    fixture.library(&ann, "notes", "user", "x = 'ann'").await;
    fixture.library(&ben, "secret", "user", "x = 'ben'").await;
    let text = async |host: &RunHost, module: &str| {
        host.library(module)
            .await
            .expect("read")
            .map(|source| source.text)
    };
    let host = fixture.tool_of(&ann);
    assert_eq!(text(&host, "notes").await.as_deref(), Some("x = 'ann'"));
    assert_eq!(text(&host, "secret").await, None);
    assert_eq!(
        text(&fixture.tool_of(&ben), "notes").await.as_deref(),
        Some("x = 'global'")
    );
    let global = fixture
        .app
        .scripts
        .runner
        .host(ann.user.id, Libraries::Global, None);
    assert_eq!(
        text(&global, "notes").await.as_deref(),
        Some("x = 'global'")
    );
    fixture.close().await;
}

#[tokio::test]
async fn the_order_of_keys_is_kept_and_a_script_cannot_start_another() {
    let fixture = Fixture::with_workers().await;
    let ann = fixture.user("ann").await;
    let host = fixture.tool_of(&ann);
    let call = json!({"method": "POST", "path": "/api/methods/call", "body":
        {"jsonrpc": "2.0", "method": "nowhere", "id": 1}});
    let answer = host.call("api", &call.to_string()).await.expect("answered");
    assert!(
        answer.starts_with(r#"{"status":200,"body":{"jsonrpc":"2.0","#),
        "{answer}"
    );
    let body = json!({"name": "t", "kind": "tool", "source": "def main(params):\n    return 1\n"});
    let tool = fixture.create(&ann, body).await.expect("created");
    let path = format!("/api/scripts/{}/run", tool.id);
    let new = json!({"kind": "tool", "source": "def main(params):\n    return 1\n"});
    let sink = "/api/event-sinks/01890000-0000-7000-8000-000000000000";
    let again = ["replay", "resend", "deliveries/1/resend"].map(|verb| format!("{sink}/{verb}"));
    // A script sink that replays or resends its own event would run for ever.
    let again = again.iter().map(|path| (path.as_str(), json!({})));
    let runs = [
        (path.as_str(), json!({})),
        ("/api/scripts/run", new),
        ("/api/scripts/check", json!({"source": "x = 1\n"})),
    ];
    for (path, body) in runs.into_iter().chain(again) {
        let (status, problem) = api(&host, "POST", path, Some(body)).await;
        let code = &problem["code"];
        assert_eq!((status, code), (403, &json!("script_denied")), "{path}");
    }
    fixture.close().await;
}
