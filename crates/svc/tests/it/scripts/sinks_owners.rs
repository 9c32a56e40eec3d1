//! Owners of script sinks (spec 6.3): stored scripts, the owner's permissions, libraries.

use serde_json::json;
use svc_testkit::{TestServer, TestSink, eventually, get_eventually};

use super::sinks::{failure, patient, printed};
use crate::SOON;

#[tokio::test]
async fn s6_3_each_delivery_uses_the_current_stored_script() {
    let server = TestServer::builder().retries(0.2, 3600.0).start().await;
    let (ann, ben, admin) = (
        server.user("ann").await,
        server.user("ben").await,
        server.admin().await,
    );
    let broken = "raise ValueError('first')\n";
    let script = ann.script("sink", "stored", broken).await;
    let by_id = |name: &str, id: &str| json!({"name": name, "patterns": "custom.*", "type": "script", "script": {"script_id": id}});
    let sink = ann.sink(by_id("s", &script.id)).await;
    assert_eq!(
        sink.created["script"],
        json!({"script_id": script.id, "source": null})
    );
    ann.emit("one", json!({})).await;
    ann.emit("two", json!({})).await;
    let error = failure(&sink).await["error"].clone();
    assert_eq!(error, "stored.py:1: ValueError: first");
    // For events that are queued already, the new source runs.
    script
        .patch(json!({"source": "import svc.event as e\nprint('now', e.type())\n"}))
        .await;
    assert_eq!(printed(&sink, 2).await, "now custom.two\n");
    // A global script is usable by all users.
    let global = admin
        .global_script(
            "sink",
            "ours",
            "from svc import api\nprint(api.me()['username'])\n",
        )
        .await;
    let of_ben = ben.sink(by_id("g", &global.id)).await;
    ben.emit("x", json!({})).await;
    assert_eq!(printed(&of_ben, 1).await, "ben\n");

    let tool = ann.script("tool", "t", "x = 1").await;
    let nothing = "01890000-0000-7000-8000-000000000000";
    for (user, id) in [
        (&ben, script.id.as_str()),
        (&ann, &tool.id),
        (&ann, nothing),
    ] {
        let refused = user.post("/api/event-sinks", by_id("bad", id)).await;
        assert!(matches!(refused.status, 400 | 422), "{}", refused.text());
        assert_eq!(refused.code(), "unknown_script");
    }
    let patch = json!({"script": {"script_id": tool.id}});
    let refused = ann.patch(&sink.path(), patch).await;
    assert_eq!(refused.code(), "unknown_script", "{}", refused.text());
}

/// The permissions of the owner count, not those of the emitter.
#[tokio::test]
async fn s6_3_a_sink_script_acts_as_its_owner_with_their_current_permissions() {
    let server = patient().await;
    server.role("auditor", &["view_audit"]).await;
    let (ann, admin) = (server.user("ann").await, server.admin().await);
    let ben = server.user_with("ben", &["user", "auditor"], &[]).await;
    let who = "from svc import api\nprint(api.me()['username'])\nprint(len(api.request('GET', '/api/audit')['audit']) > 0)\n";
    let (of_ann, of_ben) = (
        ann.script_sink("own", "custom.*", who).await,
        ben.script_sink("own", "custom.*", who).await,
    );
    let body = json!({"name": "all", "patterns": "custom.*", "type": "script", "owner": "global",
        "script": {"source": who}});
    ann.post("/api/event-sinks", &body).await.expect(403);
    let global = admin.sink(body).await;
    ann.emit("x", json!({})).await;
    assert_eq!(printed(&global, 1).await, "admin\nTrue\n");
    let attempt = failure(&of_ann).await;
    assert_eq!(attempt["output"], "ann\n");
    let error = attempt["error"].as_str().unwrap();
    assert!(error.contains("403 permission_denied"), "{error}");
    ben.emit("x", json!({})).await;
    assert_eq!(printed(&of_ben, 1).await, "ben\nTrue\n");
    // If the owner loses a permission, the script loses it too.
    let path = format!("/api/users/{}", ben.id);
    let patch = json!({"roles": ["user"]});
    admin.patch(&path, patch).await.expect(200);
    ben.emit("y", json!({})).await;
    let denied = get_eventually("the second delivery fails", SOON, || async {
        let all = of_ben.deliveries().await;
        all.get(1)?["attempts"][0]["error"]
            .as_str()
            .map(str::to_owned)
    });
    assert!(denied.await.contains("403 permission_denied"));
}

/// How often the first delivery was tried.
async fn tries(sink: &TestSink) -> usize {
    let all = sink.deliveries().await;
    all.first()
        .map_or(0, |one| one["attempts"].as_array().unwrap().len())
}

#[tokio::test]
async fn s6_3_script_sinks_of_a_deactivated_owner_pause() {
    let server = TestServer::builder().retries(8.0, 3600.0).start().await;
    let (ann, ben, admin) = (
        server.user("ann").await,
        server.user("ben").await,
        server.admin().await,
    );
    let fails = "raise ValueError('again')\n";
    let (of_ann, of_ben) = (
        ann.script_sink("own", "custom.*", fails).await,
        ben.script_sink("own", "custom.*", fails).await,
    );
    let path = format!("/api/users/{}", ann.id);
    let set_active = async |is: bool| {
        let patch = json!({ "active": is });
        admin.patch(&path, patch).await.expect(200);
    };
    ann.emit("x", json!({})).await;
    failure(&of_ann).await;
    set_active(false).await;
    ben.emit("x", json!({})).await;
    eventually("a later delivery of ben is tried again", SOON, || async {
        tries(&of_ben).await == 2
    })
    .await;
    set_active(true).await;
    eventually("the delivery continues", SOON, || async {
        tries(&of_ann).await == 2
    })
    .await;
    // Without the pause, the second attempt for ann would come before that for ben.
    let second = async |sink: &TestSink| -> svc_core::Timestamp {
        let at = &sink.deliveries().await[0]["attempts"][1]["at"];
        serde_json::from_value(at.clone()).unwrap()
    };
    assert!(second(&of_ann).await > second(&of_ben).await);
}

#[tokio::test]
async fn s6_3_a_sink_script_imports_own_libraries_before_global_ones() {
    let server = patient().await;
    let (ann, ben, admin) = (
        server.user("ann").await,
        server.user("ben").await,
        server.admin().await,
    );
    admin
        .global_script("library", "words", "def whose():\n    return 'ours'\n")
        .await;
    admin
        .global_script(
            "library",
            "deep",
            "import words\ndef f():\n    return words.whose()\n",
        )
        .await;
    ann.script("library", "words", "def whose():\n    return 'anns'\n")
        .await;
    let source = "import words\nfrom deep import f\nprint(words.whose(), f())\n";
    for (user, expected) in [(&ann, "anns anns\n"), (&ben, "ours ours\n")] {
        let sink = user.script_sink("lib", "custom.*", source).await;
        user.emit("x", json!({})).await;
        assert_eq!(printed(&sink, 1).await, expected);
    }
    // An error in a library is reported with its position.
    let bad = ann
        .script("library", "bad", "x = 1\ndef f():\n    return 1 / 0\n")
        .await;
    let sink = ann
        .script_sink("calls", "custom.z", "import bad\nbad.f()\n")
        .await;
    ann.emit("z", json!({})).await;
    let error = failure(&sink).await["error"].clone();
    assert_eq!(error, "bad.py:3: ZeroDivisionError: division by zero");
    ann.delete(&bad.path()).await.expect(204);
}
