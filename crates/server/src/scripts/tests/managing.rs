//! Who may see and change which scripts, and which requests are rejected.

use serde_json::{Value, json};
use svc_protocol::api::{AuditQuery, RunScript, Script, ScriptPatch, ScriptQuery};
use svc_store::{PageRequest, audit, records};

use super::*;

fn tool(name: &str) -> Value {
    json!({"name": name, "kind": "tool", "source": "def main(params):\n    return params\n"})
}

async fn names(fixture: &Fixture, caller: &Caller, narrow: ScriptQuery) -> Vec<String> {
    let page = PageRequest::default();
    let listed = fixture.app.scripts.list(caller, narrow, page).await;
    let items = listed.expect("listed").items;
    items.into_iter().map(|script| script.name).collect()
}

#[tokio::test]
async fn users_see_only_their_own_and_global_scripts() {
    let fixture = Fixture::with_workers().await;
    let (admin, ann, ben) = (
        fixture.admin(),
        fixture.user("ann").await,
        fixture.user("ben").await,
    );
    let mine = fixture.create(&ann, tool("mine")).await.expect("created");
    fixture.library(&ann, "notes", "user", "x = 1").await;
    let global = fixture.library(&admin, "shared", "global", "x = 1").await;

    let scripts = &fixture.app.scripts;
    assert_eq!(
        names(&fixture, &ann, ScriptQuery::default()).await,
        ["mine", "notes", "shared"]
    );
    assert_eq!(
        names(&fixture, &ben, ScriptQuery::default()).await,
        ["shared"]
    );
    let narrow = ScriptQuery {
        kind: Some(svc_protocol::api::ScriptKind::Library),
        owner: Some(svc_protocol::api::ScriptOwner::User),
        name: Some("notes".to_owned()),
    };
    assert_eq!(names(&fixture, &ann, narrow).await, ["notes"]);

    let patch = || ScriptPatch {
        description: Some("x".to_owned()),
        ..ScriptPatch::default()
    };
    assert!(matches!(&scripts.get(&ben, mine.id).await, Err(error) if error.code() == "not_found"));
    let patched = scripts.patch(&ben, mine.id, patch()).await;
    assert!(matches!(&patched, Err(error) if error.code() == "not_found"));
    assert!(
        matches!(&scripts.delete(&ben, mine.id).await, Err(error) if error.code() == "not_found")
    );
    // An administrator does not see scripts of other users either.
    assert!(
        matches!(&scripts.get(&admin, mine.id).await, Err(error) if error.code() == "not_found")
    );

    assert!(scripts.get(&ben, global.id).await.is_ok());
    let patched = scripts.patch(&ben, global.id, patch()).await;
    assert!(matches!(&patched, Err(error) if error.code() == "permission_denied"));
    assert!(
        matches!(&scripts.delete(&ben, global.id).await, Err(error) if error.code() == "permission_denied")
    );
    let refused = fixture
        .create(
            &ben,
            json!({"name": "x", "kind": "sink", "owner": "global", "source": ""}),
        )
        .await;
    assert!(matches!(&refused, Err(error) if error.code() == "permission_denied"));

    let changed = scripts
        .patch(&ann, mine.id, patch())
        .await
        .expect("patched");
    assert_eq!(changed.description, "x");
    scripts.delete(&ann, mine.id).await.expect("deleted");
    let entries = fixture.app.store.read(|tx| {
        let filter = AuditQuery {
            target_type: Some("script".to_owned()),
            ..AuditQuery::default()
        };
        audit::list(tx, &filter, PageRequest::default())
    });
    let mut actions: Vec<_> = entries.await.expect("listed").items;
    actions.reverse();
    let actions: Vec<_> = actions.iter().map(|entry| entry.action.as_str()).collect();
    let created = "script.created";
    assert_eq!(
        actions,
        [
            created,
            created,
            created,
            "script.updated",
            "script.deleted"
        ]
    );
    fixture.close().await;
}

#[tokio::test]
async fn invalid_scripts_are_rejected() {
    let fixture = Fixture::with_workers().await;
    let ann = fixture.user("ann").await;
    let code = async |body: Value| match fixture.create(&ann, body).await {
        Err(refused) => refused.code(),
        Ok(created) => panic!("{created:?}"),
    };
    let library = |name: &str| json!({"name": name, "kind": "library", "source": ""});
    for name in [
        "svc",
        "json",
        "sys",
        "subprocess",
        "a-b",
        "1a",
        "a.b",
        "class",
        "",
        "ä",
    ] {
        assert_eq!(code(library(name)).await, "invalid_name", "{name}");
    }
    assert_eq!(
        code(json!({"name": " x", "kind": "tool", "source": ""})).await,
        "invalid_name"
    );
    let long = "#".repeat(256 * 1024 + 1);
    assert_eq!(
        code(json!({"name": "x", "kind": "tool", "source": long})).await,
        "invalid_script"
    );
    let described =
        json!({"name": "x", "kind": "tool", "source": "", "description": "x".repeat(1001)});
    assert_eq!(code(described).await, "invalid");
    let schema = |kind: &str, schema: Value| json!({"name": "x", "kind": kind, "source": "", "params_schema": schema});
    assert_eq!(code(schema("sink", json!({}))).await, "invalid_schema");
    assert_eq!(
        code(schema("tool", json!({"type": "array"}))).await,
        "invalid_schema"
    );
    assert_eq!(
        code(schema("tool", json!({"type": "objekt"}))).await,
        "invalid_schema"
    );

    fixture.create(&ann, tool("x")).await.expect("created");
    assert_eq!(code(tool("x")).await, "name_taken");
    let other_kind = json!({"name": "x", "kind": "sink", "source": "pass"});
    fixture
        .create(&ann, other_kind)
        .await
        .expect("names are unique per kind");

    for kind in ["startup", "library", "sink", "tool"] {
        let body = json!({"name": "y", "kind": kind, "source": "a = 1\ndef f(:\n"});
        let refused = fixture
            .create(&ann, body)
            .await
            .expect_err("no Python")
            .to_string();
        assert!(refused.contains("y.py:2"), "{refused}");
        assert!(refused.contains("def f(:"), "{refused}");
    }
    fixture.close().await;
}

#[tokio::test]
async fn scripts_of_an_owner_are_limited_and_listed_in_pages() {
    let fixture = Fixture::with_workers().await;
    let ann = fixture.user("ann").await;
    let first = fixture.create(&ann, tool("first")).await.expect("created");
    let scripts = svc_core::Quotas::default().scripts;
    let fill = fixture.app.store.write(move |tx| {
        for n in 1..scripts {
            let script = Script {
                id: svc_core::ScriptId(uuid::Uuid::now_v7()),
                name: format!("s{n}"),
                source: "#".repeat(40 * 1024),
                ..first.clone()
            };
            records::insert(tx, &script)?;
        }
        Ok(())
    });
    fill.await.expect("filled");
    let over = fixture.create(&ann, tool("over")).await;
    assert!(matches!(over, Err(RecordError::Quota(_))), "{over:?}");

    // 20 MB of sources are listed in pages of limited size.
    let (mut page, mut seen, mut pages) = (PageRequest::default(), 0, 0);
    loop {
        let listed = fixture
            .app
            .scripts
            .list(&ann, ScriptQuery::default(), page)
            .await;
        let listed = listed.expect("listed");
        let bytes: usize = listed.items.iter().map(|script| script.source.len()).sum();
        assert!(bytes <= 4 * 1024 * 1024, "{bytes}");
        (seen, pages) = (seen + listed.items.len(), pages + 1);
        let Some(next) = listed.next_cursor else {
            break;
        };
        page = PageRequest::parse(Some(&next), None).expect("a cursor");
    }
    assert_eq!(seen as u64, scripts);
    assert!(pages >= 5, "{pages}");
    fixture.close().await;
}

#[tokio::test]
async fn only_sink_and_tool_scripts_run_on_the_server() {
    let fixture = Fixture::with_workers().await;
    let ann = fixture.user("ann").await;
    let scripts = &fixture.app.scripts;
    let library = fixture.library(&ann, "lib", "user", "").await;
    let refused = scripts.run(&ann, library.id, RunScript::default()).await;
    assert!(
        matches!(&refused, Err(error) if error.code() == "not_runnable"),
        "{refused:?}"
    );
    let tool = fixture.create(&ann, tool("t")).await.expect("created");
    let with = |body: Value| serde_json::from_value::<RunScript>(body).expect("a run");
    for body in [json!({"params": [1]}), json!({"event_type": "custom.x"})] {
        let refused = scripts.run(&ann, tool.id, with(body)).await;
        assert!(
            matches!(
                refused,
                Err(RecordError::Refused {
                    code: "invalid",
                    ..
                })
            ),
            "{refused:?}"
        );
    }
    let ran = scripts.run(&ann, tool.id, RunScript::default()).await;
    assert_eq!(ran.expect("ran").result.get(), "{}");
    fixture.close().await;
}

/// `Fixture::new` starts a server whose worker program does not exist.
#[tokio::test]
async fn scripts_are_neither_stored_nor_run_without_workers() {
    let fixture = Fixture::new().await;
    let ann = fixture.user("ann").await;
    let why = "scripts do not run on this server: ";
    let refused = fixture.create(&ann, tool("t")).await.expect_err("refused");
    assert!(refused.to_string().starts_with(why), "{refused}");
    let sink = json!({
        "name": "runs", "patterns": "*", "type": "script", "script": {"source": "pass"},
    });
    let sink = serde_json::from_value(sink).expect("a new sink");
    let refused = fixture.app.event_sinks.create(&ann, sink).await;
    let refused = refused.expect_err("refused").to_string();
    assert!(refused.starts_with(why), "{refused}");

    let stored = Script {
        id: svc_core::ScriptId(uuid::Uuid::now_v7()),
        name: "t".to_owned(),
        kind: svc_protocol::api::ScriptKind::Tool,
        owner: svc_protocol::api::ScriptOwner::User,
        owner_id: ann.user.id,
        description: String::new(),
        source: "def main(params):\n    return 1\n".to_owned(),
        params_schema: None,
        title: None,
        annotations: Default::default(),
        created_at: svc_clock::now(),
        updated_at: svc_clock::now(),
    };
    let id = stored.id;
    let insert = fixture
        .app
        .store
        .write(move |tx| records::insert(tx, &stored));
    insert.await.expect("inserted");
    let ran = fixture
        .app
        .scripts
        .run(&ann, id, RunScript::default())
        .await;
    assert!(
        matches!(&ran, Err(error) if error.code() == "scripts_unavailable"),
        "{ran:?}"
    );
    fixture.close().await;
}

/// A source is compiled in a worker, within the limits of the worker.
#[tokio::test]
async fn a_source_that_exceeds_the_limits_of_the_compiler_is_rejected() {
    let fixture = Fixture::with_workers().await;
    let ann = fixture.user("ann").await;
    // The compiler copies the `finally` block for each `return`.
    let bomb = format!(
        "def f():\n try:\n{} finally:\n  def g():\n{}",
        "  if a: return\n".repeat(1_000),
        "   x=f(1,2,3)\n".repeat(14_000)
    );
    let body = json!({"name": "bomb", "kind": "tool", "source": bomb});
    let refused = fixture.create(&ann, body).await.expect_err("too much");
    assert_eq!(refused.code(), "invalid_script");
    let refused = refused.to_string();
    assert!(
        refused.starts_with("the source cannot be compiled within the limits of scripts: "),
        "{refused}"
    );
    fixture.create(&ann, tool("t")).await.expect("accepted");

    // The error does not suggest another engine: scripts on the server have only this one.
    let body = json!({"name": "y", "kind": "library", "source": "def f():\n    yield 1\n"});
    let refused = fixture.create(&ann, body).await.expect_err("unsupported");
    let refused = refused.to_string();
    assert!(refused.contains("on the server"), "{refused}");
    assert!(!refused.contains("python3"), "{refused}");

    // A script may not store scripts: it holds a worker, and would wait for another one.
    let nested = fixture.create(&as_script(&ann.user), tool("u")).await;
    assert!(
        matches!(&nested, Err(error) if error.code() == "script_denied"),
        "{nested:?}"
    );
    fixture.close().await;
}

#[tokio::test]
async fn tools_that_another_server_removed_are_gone_after_all_are_read_again() {
    let fixture = Fixture::with_workers().await;
    let (ann, ben) = (fixture.user("ann").await, fixture.user("ben").await);
    let removed = fixture.create(&ann, tool("mine")).await.expect("created");
    fixture.create(&ben, tool("other")).await.expect("created");
    let tools = &fixture.app.scripts.tools;
    let names = |caller: &Caller| -> Vec<_> {
        let listed = tools.list(caller.user.id);
        listed.iter().map(|tool| tool.name.clone()).collect()
    };
    let version = tools.version(ann.user.id);
    // Another server removes the last tool of a user, and this server misses the change.
    let remove = move |tx: &mut svc_store::Tx<'_>| records::delete::<Script>(tx, removed.id);
    fixture.app.store.write(remove).await.expect("removed");
    assert_eq!(names(&ann), ["mine"]);
    tools.load().await.expect("loaded");
    assert_eq!(names(&ann), [""; 0]);
    assert_eq!(names(&ben), ["other"]);
    assert!(tools.version(ann.user.id) > version);
    fixture.close().await;
}
