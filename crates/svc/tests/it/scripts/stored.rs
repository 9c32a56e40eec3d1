//! `/api/scripts`: who sees, changes and removes which scripts, and which scripts are refused.

use serde_json::{Value, json};
use svc_testkit::{Answer, TestServer, TestUser};

/// Checks that a new script is refused: the status, the code and a part of the message.
async fn refused(user: &TestUser, body: Value, status: u16, code: &str, says: &str) {
    let answer = user.post("/api/scripts", &body).await;
    check(&answer, status, code, says, &body.to_string());
}

fn check(answer: &Answer, status: u16, code: &str, says: &str, asked: &str) {
    let asked: String = asked.chars().take(300).collect();
    let text = answer.text();
    assert_eq!(answer.status, status, "{asked}: {text}");
    assert_eq!(answer.code(), code, "{asked}: {text}");
    assert!(text.contains(says), "{asked}: {text}");
    assert_eq!(
        answer.header("content-type"),
        Some("application/problem+json")
    );
}

/// A valid body with one changed field.
fn tool_with(key: &str, value: Value) -> Value {
    let mut body = json!({"name": "x", "kind": "tool", "source": "x = 1"});
    body[key] = value;
    body
}

async fn names(user: &TestUser, query: &str) -> Vec<String> {
    let listed = user.list(&format!("/api/scripts{query}"), "scripts").await;
    let name = |script: &Value| script["name"].as_str().unwrap().to_owned();
    let mut names: Vec<_> = listed.iter().map(name).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_script_has_every_field_in_every_response() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let source = "def main(params):\n    return params\n";
    let full = ann
        .store(json!({
            "name": "sum it", "kind": "tool", "owner": "user", "source": source,
            "description": "Adds", "params_schema": schema,
        }))
        .await;
    let made = &full.created;
    let expected = json!({
        "id": full.id, "name": "sum it", "kind": "tool", "owner": "user", "owner_id": ann.id,
        "title": null, "description": "Adds", "annotations": {}, "source": source,
        "params_schema": schema, "created_at": made["created_at"], "updated_at": made["created_at"],
    });
    assert_eq!(made, &expected);
    assert!(made["created_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(full.record().await, expected);
    assert_eq!(ann.list("/api/scripts", "scripts").await, [expected]);
    // The response has the optional fields that the request omitted.
    for kind in ["startup", "library", "sink", "tool"] {
        let least = ann.script(kind, "least", "x = 1\n").await.created;
        assert_eq!(least["kind"], kind);
        assert_eq!(least["owner"], "user");
        assert_eq!(least["description"], "");
        assert_eq!(least["params_schema"], Value::Null);
    }
    let answer = ann.get("/api/scripts?limit=2").await.expect(200).json();
    assert_eq!(answer["scripts"].as_array().unwrap().len(), 2);
    assert!(answer["next_cursor"].is_string());
    assert_eq!(names(&ann, "?kind=tool").await, ["least", "sum it"]);
    assert_eq!(names(&ann, "?name=sum%20it").await, ["sum it"]);
    assert_eq!(names(&ann, "?owner=global").await, [""; 0]);
}

#[tokio::test]
async fn scripts_of_others_are_hidden_and_global_ones_usable_by_all() {
    let server = TestServer::start().await;
    server.role("librarian", &["manage_scripts"]).await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let (admin, cleo) = (
        server.admin().await,
        server.user_with("cleo", &["librarian"], &[]).await,
    );
    let own = ann.script("library", "mine", "x = 1\n").await;
    let global = admin.global_script("library", "ours", "x = 1\n").await;
    assert_eq!(names(&ann, "").await, ["mine", "ours"]);
    let patch = json!({"description": "x"});
    // Hidden from administrators too, who could otherwise read the sources of others.
    for other in [&ben, &cleo, &admin] {
        assert_eq!(names(other, "").await, ["ours"]);
        for answer in [
            other.get(&own.path()).await,
            other.patch(&own.path(), &patch).await,
            other.delete(&own.path()).await,
            other.post(&format!("{}/run", own.path()), "{}").await,
        ] {
            check(&answer, 404, "not_found", "does not exist", &other.name);
        }
    }
    ben.get(&global.path()).await.expect(200);
    for answer in [
        ben.patch(&global.path(), &patch).await,
        ben.delete(&global.path()).await,
    ] {
        check(&answer, 403, "permission_denied", "manage_scripts", "ben");
    }
    let body = json!({"name": "y", "kind": "sink", "owner": "global", "source": "x = 1"});
    refused(&ben, body, 403, "permission_denied", "manage_scripts").await;
    // With the permission a user may change global scripts, except those of a user with more
    // permissions.
    let answer = cleo.patch(&global.path(), &patch).await;
    check(&answer, 403, "exceeds_own_power", "manage_users", "cleo");
    let dora = server.user_with("dora", &["librarian"], &[]).await;
    let theirs = dora.global_script("library", "theirs", "x = 1\n").await;
    cleo.patch(&theirs.path(), &patch).await.expect(200);
    assert_eq!(theirs.record().await["description"], "x");
    cleo.delete(&theirs.path()).await.expect(204);
    admin.delete(&global.path()).await.expect(204);
    assert_eq!(names(&ann, "").await, ["mine"]);
}

#[tokio::test]
async fn scripts_that_cannot_work_are_not_stored() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for (key, value, code, says) in [
        ("name", json!(""), "invalid_name", ""),
        ("name", json!(" x"), "invalid_name", ""),
        ("name", json!("a/b"), "invalid_name", ""),
        ("name", json!("x".repeat(200)), "invalid_name", ""),
        (
            "description",
            json!("x".repeat(1001)),
            "invalid",
            "1001 characters",
        ),
        (
            "params_schema",
            json!({"type": "objekt"}),
            "invalid_schema",
            "params_schema",
        ),
        (
            "params_schema",
            json!({"type": "array"}),
            "invalid_schema",
            "object",
        ),
        (
            "params_schema",
            json!({"$ref": "https://example.com/"}),
            "invalid_schema",
            "outside the schema",
        ),
    ] {
        refused(&ann, tool_with(key, value), 400, code, says).await;
    }
    let schema = json!({"name": "x", "kind": "sink", "source": "", "params_schema": {}});
    refused(&ann, schema, 400, "invalid_schema", "only a tool").await;
    assert_eq!(
        names(&ann, "").await,
        [""; 0],
        "a refused script is not stored"
    );
}

/// Scripts import a library by its name, and a library cannot hide a built-in module.
#[tokio::test]
async fn a_library_needs_a_name_that_can_be_imported() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for name in [
        "svc",
        "json",
        "subprocess",
        "sys",
        "a-b",
        "a.b",
        "1a",
        "class",
        "",
    ] {
        let body = json!({"name": name, "kind": "library", "source": "x = 1"});
        refused(&ann, body, 400, "invalid_name", "library").await;
    }
    ann.script("library", "_Words2", "x = 1").await;
    assert_eq!(names(&ann, "").await, ["_Words2"]);
}

#[tokio::test]
async fn a_body_that_is_not_a_script_is_refused() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let unknown = [
        tool_with("kind", json!("cron")),
        tool_with("owner", json!("team")),
        tool_with("colour", json!("red")),
        tool_with("source", json!(7)),
        json!({"name": "x", "kind": "tool"}),
        json!({"kind": "tool", "source": ""}),
    ];
    for body in unknown {
        let answer = ann.post("/api/scripts", &body).await;
        assert!(
            matches!(answer.status, 400 | 422),
            "{body}: {}",
            answer.text()
        );
        assert!(!answer.code().is_empty(), "{body}");
    }
}

/// Storing a script reports at once which line the engine cannot run.
#[tokio::test]
async fn a_source_that_cannot_run_is_refused_with_its_line() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    for kind in ["startup", "library", "sink", "tool"] {
        for (source, says) in [
            ("x = 1\n\ndef (:\n", "odd.py:3: SyntaxError"),
            (
                "x = 1\nclass A(B):\n    pass\n",
                "odd.py:2: NotImplementedError",
            ),
            ("def f():\n    yield 1\n", "`yield 1`"),
            ("def f():\n    yield 1\n", "collect the values in a list"),
            ("x = 1\ny = '", "odd.py:2"),
        ] {
            let body = json!({"name": "odd", "kind": kind, "source": source});
            refused(&ann, body, 422, "invalid_script", says).await;
        }
    }
    let largest = "#".repeat(256 * 1024);
    let script = ann.script("sink", "large", &largest).await;
    let over = json!({"name": "over", "kind": "sink", "source": format!("{largest}#")});
    refused(&ann, over, 422, "invalid_script", "at most 262144").await;
    // A change follows the same rules; a refused change leaves the script unchanged.
    for (patch, status, code) in [
        (json!({"source": "def (:"}), 422, "invalid_script"),
        (json!({"name": "a/b"}), 400, "invalid_name"),
        (json!({"params_schema": {}}), 400, "invalid_schema"),
    ] {
        let answer = ann.patch(&script.path(), &patch).await;
        check(&answer, status, code, "", &patch.to_string());
    }
    assert_eq!(script.record().await, script.created);
}

#[tokio::test]
async fn a_name_is_unique_per_owner_and_kind() {
    let server = TestServer::start().await;
    let (ann, ben, admin) = (
        server.user("ann").await,
        server.user("ben").await,
        server.admin().await,
    );
    ann.script("tool", "same", "x = 1").await;
    let body = json!({"name": "same", "kind": "tool", "source": "x = 2"});
    refused(&ann, body, 409, "name_taken", "`same`").await;
    ann.script("sink", "same", "x = 1").await;
    ben.script("tool", "same", "x = 1").await;
    admin.global_script("tool", "same", "x = 1").await;
    let other = ann.script("tool", "other", "x = 1").await;
    let answer = ann.patch(&other.path(), json!({"name": "same"})).await;
    check(&answer, 409, "name_taken", "`same`", "a rename");
    other.patch(json!({"name": "other"})).await;
}

/// PATCH is a merge patch: `null` clears optional fields only.
#[tokio::test]
async fn a_patch_changes_only_the_named_fields_and_null_removes_a_schema() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let script = ann
        .store(
            json!({"name": "t", "kind": "tool", "source": "x = 1", "description": "d",
            "params_schema": {"type": "object"}}),
        )
        .await;
    let changed = script.patch(json!({"params_schema": null})).await;
    assert_eq!(changed["params_schema"], Value::Null);
    for key in ["id", "name", "source", "description", "created_at"] {
        assert_eq!(changed[key], script.created[key], "{key}");
    }
    assert_ne!(changed["updated_at"], script.created["updated_at"]);
    let changed = script
        .patch(json!({"source": "y = 2", "name": "u", "description": ""}))
        .await;
    assert_eq!(changed["source"], "y = 2");
    assert_eq!(changed["name"], "u");
    assert_eq!(changed["description"], "");
    for patch in [
        json!({"name": null}),
        json!({"source": null}),
        json!({"description": null}),
        json!({"kind": "sink"}),
        json!({"owner": "global"}),
        json!({"id": script.id}),
        json!([]),
    ] {
        let answer = ann.patch(&script.path(), &patch).await;
        assert!(
            matches!(answer.status, 400 | 422),
            "{patch}: {}",
            answer.text()
        );
    }
    assert_eq!(script.record().await, changed);
}

#[tokio::test]
async fn a_script_in_use_cannot_be_deleted() {
    let server = TestServer::start().await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let sink_script = ann.script("sink", "react", "x = 1").await;
    let sink = ann
        .sink(json!({"name": "runs", "patterns": "*", "type": "script",
            "script": {"script_id": sink_script.id}}))
        .await;
    let startup = admin.global_script("startup", "boot", "x = 1").await;
    let template = json!({"name": "kit", "startup_script_id": startup.id});
    let template = admin.post("/api/templates", template).await.expect(201);
    let kit = template.json()["id"].clone();
    let space = ann
        .space_with(json!({"name": "lab", "template_id": kit}))
        .await;
    assert_eq!(space.record().await["startup_script_id"], startup.id);

    let answer = ann.delete(&sink_script.path()).await;
    check(&answer, 409, "in_use", "event sink `runs`", "a sink's");
    let answer = admin.delete(&startup.path()).await;
    // The space of another user is counted, not named.
    check(
        &answer,
        409,
        "in_use",
        "template `kit`, 1 more",
        "a template's",
    );
    ann.delete(&sink.path()).await.expect(204);
    ann.delete(&sink_script.path()).await.expect(204);
    ann.get(&sink_script.path()).await.expect(404);
}
