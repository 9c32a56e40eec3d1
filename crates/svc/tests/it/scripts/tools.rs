//! Tool scripts (spec 6.2): HTTP requests run them on the server, with the permissions of the
//! caller.

use serde_json::{Value, json};
use svc_testkit::{TestReceiver, TestScript, TestServer, TestUser, fixture, method};

use crate::SOON;

const WHO: &str = "from svc import api\ndef main(params):\n    return api.me()['username']\n";

#[tokio::test]
async fn a_tool_returns_its_result_its_output_and_its_error() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let source = "\
def main(params):
    print('got', params['n'])
    if params['n'] < 0:
        raise ValueError('no such note')
    return {'z': params['n'] * 2, 'a': [None, 9007199254740993]}
";
    let tool = ann.script("tool", "double", source).await;
    let path = format!("{}/run", tool.path());
    let answer = ann.post(&path, r#"{"params":{"n":21}}"#).await.expect(200);
    // The exact bytes: the order of keys and big integers are kept.
    let text = answer.text();
    let expected =
        r#"{"result":{"z":42,"a":[null,9007199254740993]},"error":null,"output":"got 21\n","ms":"#;
    assert!(text.starts_with(expected), "{text}");

    let failed = ann.run_tool(&tool, json!({"n": -1})).await;
    assert_eq!(failed["result"], Value::Null);
    assert_eq!(failed["output"], "got -1\n");
    let error = &failed["error"];
    assert_eq!(error["message"], "ValueError: no such note");
    assert_eq!(error["file"], "double.py");
    assert_eq!(error["line"], 4);
    assert!(
        error["source_line"]
            .as_str()
            .unwrap()
            .contains("raise ValueError")
    );
    let traceback = error["traceback"].as_str().unwrap();
    assert!(
        traceback.contains("File \"double.py\", line 4, in main"),
        "{traceback}"
    );

    for (source, says) in [
        ("x = 1\n", "main"),
        ("def main(params):\n    return main\n", "JSON"),
        ("def main(params):\n    return nothing()\n", "NameError"),
        (
            "import os\ndef main(params):\n    return dict(os.environ)\n",
            "PermissionError",
        ),
        (
            "def main(params):\n    return open('/etc/passwd').read()\n",
            "PermissionError",
        ),
        ("import subprocess\n", "ModuleNotFoundError"),
        ("from svc import methods\n", "svc.methods"),
    ] {
        tool.patch(json!({ "source": source })).await;
        let failed = ann.run_tool(&tool, json!({})).await;
        let error = failed["error"]["message"].as_str().unwrap_or_default();
        assert!(error.contains(says), "{source}: {failed}");
    }
}

#[tokio::test]
async fn invalid_run_requests_are_refused() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let tool = ann.script("tool", "t", WHO).await;
    let run = async |script: &TestScript, body: Value| {
        let answer = ann.post(&format!("{}/run", script.path()), body).await;
        (answer.status, answer.code())
    };
    for body in [
        json!({"params": [1]}),
        json!({"params": 1}),
        json!({"event_type": "custom.x"}),
        json!({"colour": "red"}),
    ] {
        let (status, _) = run(&tool, body.clone()).await;
        assert!(matches!(status, 400 | 422), "{body}: {status}");
    }
    let sink = ann.script("sink", "s", "x = 1").await;
    assert_eq!(run(&sink, json!({"params": {}})).await.0, 400);
    assert_eq!(run(&sink, json!({})).await.0, 200);
    for kind in ["library", "startup"] {
        let script = ann.script(kind, "other", "x = 1").await;
        let expected = (422, "not_runnable".to_owned());
        assert_eq!(run(&script, json!({})).await, expected, "{kind}");
    }
    // Tokens with scopes cannot run scripts (spec 5).
    for scopes in [&["methods"][..], &["mcp"], &["methods", "mcp"]] {
        let scoped = ann.scoped(scopes).await;
        let path = format!("{}/run", tool.path());
        let denied = scoped.post(&path, "{}").await.expect(403);
        assert_eq!(denied.code(), "scope_denied", "{scopes:?}");
        scoped.get("/api/scripts").await.expect(403);
    }
}

/// The event has no space, belongs to the caller, and reaches the caller's sinks and global ones.
#[tokio::test]
async fn s6_2_an_event_emitted_by_a_tool_belongs_to_its_caller_and_has_no_space() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let (ann, ben, admin) = (
        server.user("ann").await,
        server.user("ben").await,
        server.admin().await,
    );
    let (of_ann, of_ben, of_all) = (
        TestReceiver::start().await,
        TestReceiver::start().await,
        TestReceiver::start().await,
    );
    ann.webhook("own", "*", &of_ann.url("/")).await;
    ben.webhook("own", "*", &of_ben.url("/")).await;
    admin.global_webhook("all", "*", &of_all.url("/")).await;
    let source = "\
from svc import event
def main(params):
    return event.emit(params['type'], {'n': 1})
";
    // The owner of the script is another user. The event belongs to the caller.
    let tool = admin.global_script("tool", "raise", source).await;
    let ran = ben.run_tool(&tool, json!({"type": "space.created"})).await;
    let id = ran["result"].as_str().unwrap_or_else(|| panic!("{ran}"));
    let event = ben
        .get(&format!("/api/events/{id}"))
        .await
        .expect(200)
        .json();
    assert_eq!(event["event_type"], "custom.space.created");
    assert_eq!(event["space_id"], "00000000-0000-0000-0000-000000000000");
    assert_eq!(event["data"], json!({"n": 1}));
    assert_eq!(event["actor"]["username"], "ben");
    ann.get(&format!("/api/events/{id}")).await.expect(404);
    for receiver in [&of_ben, &of_all] {
        let got = receiver.wait_for("/", 1, SOON).await;
        assert_eq!(got[0].header("x-service-event-id"), id);
    }
    // A sink receives events in order. Ann's sink received a later event first, so it never
    // received this event.
    let later = ann.emit("later", json!({})).await;
    let got = of_ann.wait_for("/", 1, SOON).await;
    assert_eq!(got[0].header("x-service-event-id"), later);

    for (wrong, says) in [("no spaces", "ValueError"), ("", "ValueError")] {
        let ran = ben.run_tool(&tool, json!({ "type": wrong })).await;
        let error = ran["error"]["message"].as_str().unwrap();
        assert!(error.contains(says), "{wrong}: {error}");
    }
}

#[tokio::test]
async fn a_tool_acts_as_its_caller_with_their_current_permissions() {
    let server = TestServer::start().await;
    server.role("auditor", &["view_audit"]).await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let ben = server.user_with("ben", &["user", "auditor"], &[]).await;
    let who = admin.global_script("tool", "who", WHO).await;
    for user in [&ann, &ben, &admin] {
        let ran = user.run_tool(&who, json!({})).await;
        assert_eq!(ran["result"], json!(user.name), "{ran}");
    }
    // A tool sees and calls the methods that its caller sees.
    let space = ann.space("lab").await;
    let shared = fixture()
        .with(method("open", "echo").shared())
        .plain("echo");
    let _agent = space.publish(shared).await;
    let source = "\
from svc import api
def main(params):
    return [m['name'] for m in api.list_methods()], api.call(params['name'], {'n': 1})
";
    let caller = admin.global_script("tool", "caller", source).await;
    for (user, name, expected) in [
        (&ann, "echo", json!([["echo", "open"], {"n": 1}])),
        (&ben, "user.ann.open", json!([["user.ann.open"], {"n": 1}])),
    ] {
        let ran = user.run_tool(&caller, json!({ "name": name })).await;
        assert_eq!(ran["result"], expected, "{ran}");
    }
    let ran = ben.run_tool(&caller, json!({"name": "echo"})).await;
    let error = ran["error"]["message"].as_str().unwrap();
    assert!(error.contains("-32601"), "{error}");

    let audit = "\
from svc import api
def main(params):
    return len(api.request('GET', '/api/audit')['audit']) > 0
";
    let audit = admin.global_script("tool", "audit", audit).await;
    assert_eq!(ben.run_tool(&audit, json!({})).await["result"], true);
    let path = format!("/api/users/{}", ben.id);
    admin
        .patch(&path, json!({"roles": ["user"]}))
        .await
        .expect(200);
    let ran = ben.run_tool(&audit, json!({})).await;
    let error = ran["error"]["message"].as_str().unwrap();
    assert!(error.contains("403 permission_denied"), "{error}");
}

/// Not even a script of an administrator reaches credentials or user accounts.
#[tokio::test]
async fn a_script_cannot_reach_credentials_or_user_accounts() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let space = admin.space("lab").await;
    let source = "\
from svc import api
def main(params):
    answers = []
    for method, path in params['routes']:
        try:
            answers.append(str(api.request(method, path, {} if method == 'POST' else None)))
        except RuntimeError as error:
            answers.append(str(error))
    return answers
";
    let tool = admin.script("tool", "reach", source).await;
    let token_path = format!("{}/agent-token", space.path());
    let routes = [
        ("GET", "/api/tokens"),
        ("POST", "/api/tokens"),
        ("DELETE", "/api/tokens/01890000-0000-7000-8000-000000000000"),
        ("GET", "/api/users"),
        ("POST", "/api/users"),
        ("GET", "/api/groups"),
        ("POST", "/api/groups"),
        ("GET", "/api/roles"),
        ("POST", "/api/roles"),
        ("GET", "/api/permissions"),
        ("GET", "/api/auth/sessions"),
        ("POST", "/api/auth/login"),
        ("POST", "/api/auth/password"),
        ("POST", "/api/spaces"),
        ("POST", &token_path),
        ("DELETE", &space.path()),
    ];
    let ran = admin.run_tool(&tool, json!({ "routes": routes })).await;
    let answers = ran["result"].as_array().unwrap_or_else(|| panic!("{ran}"));
    assert_eq!(answers.len(), routes.len());
    for (route, answer) in routes.iter().zip(answers) {
        let answer = answer.as_str().unwrap();
        assert!(answer.contains("403 script_denied"), "{route:?}: {answer}");
    }
    // A script cannot run another script: scripts could start each other without end.
    let path = format!("{}/run", tool.path());
    let routes = json!({"routes": [["POST", path]]});
    let ran = admin.run_tool(&tool, routes).await;
    let answer = ran["result"][0].as_str().unwrap();
    assert!(answer.contains("script_denied"), "{answer}");
}

#[tokio::test]
async fn a_tool_imports_own_libraries_before_global_ones() {
    let server = TestServer::start().await;
    let (admin, ann, ben) = (
        server.admin().await,
        server.user("ann").await,
        server.user("ben").await,
    );
    admin
        .global_script("library", "words", "WHOSE = 'ours'\n")
        .await;
    ann.script("library", "words", "WHOSE = 'anns'\n").await;
    ann.script("library", "secret", "X = 1\n").await;
    let source = "import words\ndef main(params):\n    return words.WHOSE\n";
    let result = async |user: &TestUser, tool: &TestScript| {
        let ran = user.run_tool(tool, json!({})).await;
        ran["result"].as_str().map(str::to_owned)
    };
    let (of_ann, of_ben) = (
        ann.script("tool", "w", source).await,
        ben.script("tool", "w", source).await,
    );
    assert_eq!(result(&ann, &of_ann).await.as_deref(), Some("anns"));
    assert_eq!(result(&ben, &of_ben).await.as_deref(), Some("ours"));
    // A library of the caller does not replace the library of a global script.
    let global = admin.global_script("tool", "w", source).await;
    assert_eq!(result(&ann, &global).await.as_deref(), Some("ours"));
    of_ben
        .patch(json!({"source": "import secret\ndef main(p):\n    return 1\n"}))
        .await;
    let ran = ben.run_tool(&of_ben, json!({})).await;
    let error = ran["error"]["message"].as_str().unwrap();
    assert!(error.contains("No module named 'secret'"), "{error}");
}

/// Each run occupies a worker, so runs per user are limited.
#[tokio::test]
async fn a_user_may_run_sixty_scripts_per_minute() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let source = "def main(params):\n    return 1\n";
    let (of_ann, of_ben) = (
        ann.script("tool", "t", source).await,
        ben.script("tool", "t", source).await,
    );
    for _ in 0..60 {
        assert_eq!(ann.run_tool(&of_ann, json!({})).await["result"], 1);
    }
    let path = format!("{}/run", of_ann.path());
    let over = ann.post(&path, "{}").await.expect(429);
    assert_eq!(over.code(), "rate_limited");
    let wait: u64 = over.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=61).contains(&wait), "{wait}");
    assert_eq!(ben.run_tool(&of_ben, json!({})).await["result"], 1);
}

#[tokio::test]
async fn a_source_is_checked_without_being_stored() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let check = async |source: &str| {
        let body = json!({ "source": source });
        ann.post("/api/scripts/check", body)
            .await
            .expect(200)
            .json()
    };
    assert_eq!(
        check("def main(params):\n    return 1\n").await["problem"],
        Value::Null
    );
    let wrong = check("a = 1\nb = = 2\n").await;
    let problem = wrong["problem"].as_str().unwrap();
    assert!(problem.starts_with("draft.py:2: "), "{problem}");
    assert!(ann.list("/api/scripts", "scripts").await.is_empty());
}

#[tokio::test]
async fn a_sink_script_runs_with_a_past_event() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let event = ann.emit("order.shipped", json!({"order": "A-17"})).await;
    let source = "import svc.event as event\nprint(event.data()['order'])\n";
    let new = json!({"name": "log", "kind": "sink", "source": source});
    let script = ann
        .post("/api/scripts", new.clone())
        .await
        .expect(201)
        .json();
    let path = format!("/api/scripts/{}/run", script["id"].as_str().unwrap());
    let ran = ann
        .post(&path, json!({ "event_id": event }))
        .await
        .expect(200);
    assert!(ran.text().contains("A-17"), "{}", ran.text());
    // For Bob, Ann's event does not exist.
    let of_bob = bob.post("/api/scripts", new).await.expect(201).json();
    let path = format!("/api/scripts/{}/run", of_bob["id"].as_str().unwrap());
    bob.post(&path, json!({ "event_id": event }))
        .await
        .expect(400);
}
