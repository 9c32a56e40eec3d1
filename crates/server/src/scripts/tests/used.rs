//! Scripts in use cannot be deleted. The scripts of a deleted user are deleted.

use serde_json::{Value, json};
use svc_protocol::api::{NewSpace, NewTemplate, ScriptQuery};
use svc_store::PageRequest;

use super::*;

fn new_space(name: &str, script: &Script, with_template: bool) -> NewSpace {
    let mut body = json!({"name": name});
    if !with_template {
        body["startup_script_id"] = json!(script.id);
    }
    serde_json::from_value(body).expect("a new space")
}

#[tokio::test]
async fn a_startup_script_cannot_be_deleted_while_a_space_or_template_uses_it() {
    let fixture = Fixture::with_workers().await;
    let (admin, ann, ben) = (
        fixture.admin(),
        fixture.user("ann").await,
        fixture.user("ben").await,
    );
    let startup =
        |owner: &str| json!({"name": "setup", "kind": "startup", "owner": owner, "source": "pass"});
    let own = fixture
        .create(&ann, startup("user"))
        .await
        .expect("created");
    let global = fixture
        .create(&admin, startup("global"))
        .await
        .expect("created");
    let library = fixture.library(&ann, "lib", "user", "").await;
    let (spaces, scripts) = (&fixture.app.spaces, &fixture.app.scripts);

    let foreign = spaces.create(&ben, new_space("lab", &own, false)).await;
    assert!(
        matches!(&foreign, Err(error) if error.code() == "unknown_script"),
        "{foreign:?}"
    );
    let wrong = spaces.create(&ann, new_space("lab", &library, false)).await;
    assert!(
        wrong
            .expect_err("no startup script")
            .to_string()
            .contains("not a startup script")
    );
    let space = spaces
        .create(&ann, new_space("lab", &own, false))
        .await
        .expect("created");
    assert_eq!(space.startup_script_id, Some(own.id));

    let template = |script: &Script| -> NewTemplate {
        let body = json!({"name": "kit", "startup_script_id": script.id});
        serde_json::from_value(body).expect("a new template")
    };
    assert!(
        fixture
            .app
            .templates
            .create(&admin, template(&own))
            .await
            .is_err()
    );
    let template = fixture
        .app
        .templates
        .create(&admin, template(&global))
        .await
        .expect("created");
    let mut from_template = new_space("kit", &own, true);
    from_template.template_id = Some(template.id);
    let made = spaces.create(&ben, from_template).await.expect("created");
    assert_eq!(made.startup_script_id, Some(global.id));

    let used = scripts
        .delete(&ann, own.id)
        .await
        .expect_err("used")
        .to_string();
    assert!(used.contains("space `lab`"), "{used}");
    // The error names the template, but only counts the space of another user.
    let used = scripts
        .delete(&admin, global.id)
        .await
        .expect_err("used")
        .to_string();
    assert!(used.contains("template `kit`, 1 more"), "{used}");

    let patch = |value: Value| {
        serde_json::from_value(json!({"startup_script_id": value})).expect("a patch")
    };
    let changed = spaces
        .patch(&ann, space.id, patch(json!(global.id)))
        .await
        .expect("patched");
    assert_eq!(changed.startup_script_id, Some(global.id));
    let wrong = spaces.patch(&ann, space.id, patch(json!(library.id))).await;
    assert!(matches!(&wrong, Err(error) if error.code() == "unknown_script"));
    let cleared = spaces
        .patch(&ann, space.id, patch(Value::Null))
        .await
        .expect("patched");
    assert_eq!(cleared.startup_script_id, None);
    scripts.delete(&ann, own.id).await.expect("unused now");
    fixture.close().await;
}

#[tokio::test]
async fn a_script_cannot_be_deleted_while_a_sink_uses_it() {
    let fixture = Fixture::with_workers().await;
    let ann = fixture.user("ann").await;
    let body = json!({"name": "react", "kind": "sink", "source": "pass"});
    let script = fixture.create(&ann, body).await.expect("created");
    let sink = json!({
        "name": "runs", "patterns": "*", "type": "script", "script": {"script_id": script.id},
    });
    let sink = serde_json::from_value(sink).expect("a new sink");
    let sink = fixture
        .app
        .event_sinks
        .create(&ann, sink)
        .await
        .expect("created");
    let used = fixture
        .app
        .scripts
        .delete(&ann, script.id)
        .await
        .expect_err("used");
    assert!(used.to_string().contains("event sink `runs`"), "{used}");
    fixture
        .app
        .event_sinks
        .delete(&ann, sink.id)
        .await
        .expect("deleted");
    fixture
        .app
        .scripts
        .delete(&ann, script.id)
        .await
        .expect("unused now");
    fixture.close().await;
}

#[tokio::test]
async fn deleting_a_user_deletes_their_scripts_and_keeps_global_ones() {
    let fixture = Fixture::with_workers().await;
    let (admin, ann) = (fixture.admin(), fixture.user("ann").await);
    let own = fixture.library(&ann, "notes", "user", "").await;
    fixture.library(&admin, "shared", "global", "").await;
    let tool = json!({"name": "t", "kind": "tool", "source": "def main(params):\n    return 1\n"});
    fixture.create(&ann, tool).await.expect("created");
    let tools = fixture.app.scripts.tools.clone();
    assert_eq!(tools.list(ann.user.id).len(), 1);
    let deleted = fixture.app.identity.delete_user(&admin, ann.user.id).await;
    deleted.expect("deleted");
    let gone = fixture.app.scripts.get(&ann, own.id).await;
    assert!(
        matches!(&gone, Err(error) if error.code() == "not_found"),
        "{gone:?}"
    );
    let page = PageRequest::default();
    let listed = fixture
        .app
        .scripts
        .list(&admin, ScriptQuery::default(), page)
        .await;
    assert_eq!(listed.expect("listed").items.len(), 1);
    let left = tools.list(ann.user.id);
    assert!(left.is_empty(), "their tools are still in memory");
    fixture.close().await;
}
