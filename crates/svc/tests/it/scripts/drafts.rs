//! Runs of source texts that are not stored: drafts of stored scripts, and new scripts.

use serde_json::{Value, json};
use svc_testkit::{Answer, TestServer, TestUser};

const RUN: &str = "/api/scripts/run";

/// A draft runs as the caller, and the stored script stays as it is. Only a user who may change the
/// script may run a draft of it.
#[tokio::test]
async fn a_draft_runs_instead_of_the_stored_source() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let root = server.user_with("root", &["admin"], &[]).await;
    let stored = "def main(params):\n    return 'stored'\n";
    let draft = "def main(params):\n    return 'draft'\n";
    let own = ann.script("tool", "own", stored).await;
    let path = format!("{}/run", own.path());
    let ran = ann.post(&path, json!({"source": draft})).await.expect(200);
    assert_eq!(ran.json()["result"], "draft");
    assert_eq!(ann.run_tool(&own, json!({})).await["result"], "stored");
    let kept = ann.get(&own.path()).await.expect(200).json();
    assert_eq!(kept["source"], stored);

    // The draft is checked as if it were saved.
    let wrong = json!({"source": "def main(params):\n    return (\n"});
    let refused = ann.post(&path, wrong).await.expect(422);
    assert_eq!(refused.code(), "invalid_script");
    assert!(refused.text().contains("own.py"), "{}", refused.text());
    let large = json!({"source": "#".repeat(256 * 1024 + 1)});
    assert!(ann.post(&path, large).await.status >= 400);

    let shared = root.global_script("tool", "shared", stored).await;
    let path = format!("{}/run", shared.path());
    ann.post(&path, json!({})).await.expect(200);
    ann.post(&path, json!({"source": draft})).await.expect(403);
    let ran = root.post(&path, json!({"source": draft})).await.expect(200);
    assert_eq!(ran.json()["result"], "draft");
}

/// Runs a new tool script.
async fn run_new(user: &TestUser, source: &str) -> Answer {
    let body = json!({"kind": "tool", "source": source});
    user.post(RUN, body).await
}

#[tokio::test]
async fn a_new_script_runs_without_being_stored() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let admin = server.admin().await;
    let before = admin.audit_actions().await;
    let source = "\
from svc import api
def main(params):
    print('got', params['n'])
    if params['n'] < 0:
        raise ValueError('no such note')
    return {'z': params['n'], 'who': api.me()['username'], 'a': 9007199254740993}
";
    let run = async |name: Option<&str>, n: i64| {
        let mut body = json!({"kind": "tool", "source": source, "params": {"n": n}});
        if let Some(name) = name {
            body["name"] = json!(name);
        }
        ann.post(RUN, body).await.expect(200)
    };
    let text = run(None, 21).await.text();
    let expected = r#"{"result":{"z":21,"who":"ann","a":9007199254740993},"error":null,"output":"got 21\n","ms":"#;
    assert!(text.starts_with(expected), "{text}");
    for (name, file) in [(None, "draft.py"), (Some("notes"), "notes.py")] {
        let failed = run(name, -1).await.json();
        assert_eq!(failed["result"], Value::Null);
        assert_eq!(failed["output"], "got -1\n");
        let error = &failed["error"];
        assert_eq!(error["message"], "ValueError: no such note");
        assert_eq!((&error["file"], &error["line"]), (&json!(file), &json!(5)));
    }
    assert!(ann.list("/api/scripts", "scripts").await.is_empty());
    // Like the run of a stored script, a run leaves no audit entry.
    assert_eq!(admin.audit_actions().await, before);
}

#[tokio::test]
async fn a_new_sink_script_runs_with_a_sample_or_a_past_event() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let event = ann.emit("order.shipped", json!({"order": "A-17"})).await;
    let source = "import svc.event as event\nprint(event.type(), event.data())\n";
    let run = async |user: &TestUser, mut body: Value| {
        body["kind"] = json!("sink");
        body["source"] = json!(source);
        user.post(RUN, body).await
    };
    let ran = run(&ann, json!({"event_type": "space.unhealthy"})).await;
    assert!(ran.expect(200).text().contains("space.unhealthy"));
    let ran = run(&ann, json!({ "event_id": event })).await;
    assert!(ran.expect(200).text().contains("A-17"));
    // For Bob, Ann's event does not exist.
    run(&bob, json!({ "event_id": event })).await.expect(400);
}

#[tokio::test]
async fn a_new_script_that_could_not_be_stored_does_not_run() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let source = "def main(params):\n    return 1\n";
    for (body, status, code) in [
        (
            json!({"kind": "tool", "source": "def main(params):\n    return (\n"}),
            422,
            "invalid_script",
        ),
        (
            json!({"kind": "tool", "source": "#".repeat(256 * 1024 + 1)}),
            422,
            "invalid_script",
        ),
        (
            json!({"kind": "tool", "source": source, "name": ""}),
            400,
            "invalid_name",
        ),
        (
            json!({"kind": "library", "source": "x = 1\n"}),
            422,
            "not_runnable",
        ),
        (
            json!({"kind": "startup", "source": "x = 1\n"}),
            422,
            "not_runnable",
        ),
        (
            json!({"kind": "tool", "source": source, "event_type": "custom.x"}),
            400,
            "invalid",
        ),
        (
            json!({"kind": "sink", "source": "x = 1\n", "params": {}}),
            400,
            "invalid",
        ),
    ] {
        let refused = ann.post(RUN, &body).await;
        assert_eq!((refused.status, refused.code().as_str()), (status, code));
    }
    for body in [
        json!({"source": source}),
        json!({"kind": "tool"}),
        json!({"kind": "tool", "source": source, "colour": "red"}),
    ] {
        let refused = ann.post(RUN, &body).await;
        assert!(matches!(refused.status, 400 | 422), "{body}");
    }
}

/// A user who may not store a script may not run its source either.
#[tokio::test]
async fn a_new_script_runs_only_for_a_user_who_may_store_it() {
    let server = TestServer::builder()
        .config_table("quotas", "scripts = 1")
        .start()
        .await;
    let (admin, ann) = (server.admin().await, server.user("ann").await);
    let source = "def main(params):\n    return 1\n";

    // A global script needs `manage_scripts`, and imports global libraries only.
    ann.script("library", "words", "WHOSE = 'anns'\n").await;
    let global = json!({"kind": "tool", "owner": "global", "source": "import words\ndef main(params):\n    return 1\n"});
    let denied = ann.post(RUN, &global).await.expect(403);
    assert_eq!(denied.code(), "permission_denied");
    let ran = admin.post(RUN, &global).await.expect(200).json();
    let error = ran["error"]["message"].as_str().unwrap();
    assert!(error.contains("No module named 'words'"), "{ran}");

    // Ann already has as many scripts as she may have.
    let refused = run_new(&ann, source).await.expect(409);
    assert_eq!(refused.code(), "quota_exceeded");
    let path = format!("/api/users/{}", ann.id);
    let raised = json!({"quotas": {"scripts": 2}});
    admin.patch(&path, raised).await.expect(200);
    run_new(&ann, source).await.expect(200);
    let ran = run_new(
        &ann,
        "import words\ndef main(params):\n    return words.WHOSE\n",
    )
    .await;
    assert_eq!(ran.expect(200).json()["result"], "anns");

    // Tokens with scopes cannot run scripts (spec 5).
    for scopes in [&["methods"][..], &["mcp"]] {
        let scoped = ann.scoped(scopes).await;
        let denied = run_new(&scoped, source).await.expect(403);
        assert_eq!(denied.code(), "scope_denied", "{scopes:?}");
    }
}

/// Runs of new and of stored scripts have the same limits, and are counted together.
#[tokio::test]
async fn a_new_script_has_the_limits_of_a_stored_one() {
    let server = TestServer::builder()
        .config_table("scripts", "timeout_seconds = 5")
        .start()
        .await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let endless = "def main(params):\n    while True:\n        pass\n";
    let stopped = run_new(&ann, endless).await.expect(200).json();
    let error = stopped["error"]["message"].as_str().unwrap();
    assert!(error.contains("ran longer than"), "{stopped}");

    let source = "def main(params):\n    return 1\n";
    let stored = ann.script("tool", "t", source).await;
    for _ in 0..29 {
        assert_eq!(ann.run_tool(&stored, json!({})).await["result"], 1);
        run_new(&ann, source).await.expect(200);
    }
    run_new(&ann, source).await.expect(200);
    for path in [RUN.to_owned(), format!("{}/run", stored.path())] {
        let body = match path == RUN {
            true => json!({"kind": "tool", "source": source}),
            false => json!({}),
        };
        let over = ann.post(&path, body).await.expect(429);
        assert_eq!(over.code(), "rate_limited", "{path}");
    }
    run_new(&bob, source).await.expect(200);
}
