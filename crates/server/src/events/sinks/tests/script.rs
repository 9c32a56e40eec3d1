//! Script sinks: which scripts they may use, and who may change them.

use svc_core::ScriptId;
use svc_protocol::api::{Preview, Script, ScriptKind, ScriptOwner};
use svc_store::records;

use super::*;

impl Fixture {
    async fn script(&self, owner: &Caller, kind: ScriptKind, whose: ScriptOwner) -> ScriptId {
        let script = Script {
            id: ScriptId(Uuid::now_v7()),
            name: format!("{kind:?} {whose:?}"),
            kind,
            owner: whose,
            owner_id: owner.user.id,
            description: String::new(),
            source: "pass".to_owned(),
            params_schema: None,
            title: None,
            annotations: Default::default(),
            created_at: svc_clock::now(),
            updated_at: svc_clock::now(),
        };
        let id = script.id;
        let insert = self
            .service
            .store
            .write(move |tx| records::insert(tx, &script));
        insert.await.expect("inserted");
        id
    }

    async fn create_script_sink(
        &self,
        caller: &Caller,
        owner: &str,
        script: Value,
    ) -> Result<Sink, RecordError> {
        let body = json!({
            "name": "runs", "patterns": "*", "type": "script", "owner": owner, "script": script,
        });
        self.create(caller, body).await
    }
}

fn refusal<T: std::fmt::Debug>(result: Result<T, RecordError>) -> String {
    result.expect_err("refused").to_string()
}

#[tokio::test]
async fn a_stored_script_must_be_visible_to_the_sinks_owner_and_of_kind_sink() {
    let (fixture, ann, ben) = (Fixture::with_workers(), user("ann"), user("ben"));
    let own = fixture
        .script(&ann, ScriptKind::Sink, ScriptOwner::User)
        .await;
    let tool = fixture
        .script(&ann, ScriptKind::Tool, ScriptOwner::User)
        .await;
    let global = fixture
        .script(&ann, ScriptKind::Sink, ScriptOwner::Global)
        .await;

    let foreign = fixture
        .create_script_sink(&ben, "user", json!({"script_id": own}))
        .await;
    assert!(refusal(foreign).contains("does not exist"));
    let wrong = fixture
        .create_script_sink(&ann, "user", json!({"script_id": tool}))
        .await;
    assert!(refusal(wrong).contains("kind `sink`"));
    let sink = fixture
        .create_script_sink(&ben, "user", json!({"script_id": global}))
        .await
        .expect("created");
    assert_eq!(
        sink.script.and_then(|script| script.script_id),
        Some(global)
    );

    let mine = fixture
        .create_script_sink(&ann, "user", json!({"script_id": own}))
        .await
        .expect("created");
    // A source replaces a stored script.
    let patch = json!({"script": {"source": "print(1)"}});
    let patched = fixture.patch(&ann, mine.id, patch).await.expect("patched");
    let script = patched.script.expect("a script");
    assert_eq!(
        (script.script_id, script.source.as_deref()),
        (None, Some("print(1)"))
    );
    let patch = json!({"script": {"script_id": tool}});
    assert!(refusal(fixture.patch(&ann, mine.id, patch).await).contains("kind `sink`"));
}

#[tokio::test]
async fn a_source_with_a_syntax_error_is_refused_and_the_error_names_the_line() {
    let (fixture, ann) = (Fixture::with_workers(), user("ann"));
    let source = "import svc.event as event\ndef (event.id()\n";
    let refused = fixture
        .create_script_sink(&ann, "user", json!({"source": source}))
        .await;
    assert!(
        matches!(&refused, Err(error) if error.code() == "invalid_script"),
        "{refused:?}"
    );
    let message = refusal(refused);
    assert!(message.contains("runs.py:2"), "{message}");
    assert!(message.contains("def (event.id()"), "{message}");

    let sink = fixture
        .create_script_sink(&ann, "user", json!({"source": "pass"}))
        .await
        .expect("created");
    let patch = json!({"script": {"source": "def ("}});
    let refused = fixture.patch(&ann, sink.id, patch).await;
    assert!(
        matches!(&refused, Err(error) if error.code() == "invalid_script"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn only_the_creator_changes_the_script_of_a_global_sink() {
    let (fixture, ann, ben) = (Fixture::with_workers(), manager("ann"), manager("ben"));
    let sink = fixture
        .create_script_sink(&ann, "global", json!({"source": "pass"}))
        .await
        .expect("created");
    let patch = json!({"script": {"source": "print(1)"}});
    let refused = fixture.patch(&ben, sink.id, patch.clone()).await;
    assert!(
        matches!(&refused, Err(error) if error.code() == "permission_denied"),
        "{refused:?}"
    );
    let other = json!({"description": "x", "script": {"source": "pass"}});
    assert!(fixture.patch(&ben, sink.id, other).await.is_ok());
    assert!(fixture.patch(&ann, sink.id, patch).await.is_ok());
}

#[tokio::test]
async fn a_dry_run_shows_the_event_and_a_script_cannot_test_a_script_sink() {
    let (fixture, ann) = (Fixture::with_workers(), user("ann"));
    let sink = fixture
        .create_script_sink(&ann, "user", json!({"source": "pass"}))
        .await
        .expect("created");
    let request = |dry_run| Preview {
        event_type: Some("custom.hello".to_owned()),
        dry_run,
        ..Preview::default()
    };
    let dry = fixture
        .service
        .test(&ann, sink.id, request(true))
        .await
        .expect("shown");
    let event: Value = serde_json::from_str(&dry.body).expect("JSON");
    assert_eq!(event["type"], "custom.hello");
    assert_eq!(event["actor"]["username"], "ann");
    let no_space = json!({"id": SpaceId::NIL, "name": "", "urls": {}});
    assert_eq!((&event["space"], &event["custom"]), (&no_space, &json!({})));
    assert_eq!(dry.attempt, None);

    let script = Caller::script(ann.user.clone());
    let nested = fixture.service.test(&script, sink.id, request(false)).await;
    assert!(
        matches!(&nested, Err(error) if error.code() == "script_denied"),
        "{nested:?}"
    );
    // The directory of this fixture is empty, so the attempt reports a missing user.
    let tried = fixture
        .service
        .test(&ann, sink.id, request(false))
        .await
        .expect("tried");
    let error = tried.attempt.expect("an attempt").error.expect("an error");
    assert!(error.contains("does not exist any more"), "{error}");
}
