//! Script sinks of several users: the scripts of one user do not stop the deliveries of others, and
//! no script reads events that its owner may no longer see.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use svc_testkit::{TestReceiver, TestServer, TestSink, TestUser, eventually, get_eventually};

use crate::SOON;

/// The default number of sinks that an owner may have.
const PER_OWNER: usize = 100;
/// Much shorter than the run of a hundred endless scripts, and much longer than a webhook takes.
const PROMPT: Duration = Duration::from_secs(20);

/// Three users have more sinks with endless scripts than the number of deliveries that can run at
/// the same time.
#[tokio::test]
async fn endless_scripts_delay_no_webhook() {
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .config_table("scripts", "timeout_seconds = 3")
        .env("SVC_SCRIPT_WORKERS", "2")
        .start()
        .await;
    let receiver = TestReceiver::start().await;
    let dora = server.user("dora").await;
    dora.webhook("hook", "custom.x", &receiver.url("/dora"))
        .await;
    let script = dora
        .script_sink("script", "custom.x", "print('ran')\n")
        .await;
    let mut users = Vec::new();
    for name in ["ann", "ben", "cem"] {
        let user = server.user(name).await;
        let endless = user.script("sink", "endless", "while True: pass\n").await;
        for n in 0..PER_OWNER {
            let body = json!({"name": format!("s{n}"), "patterns": "custom.endless",
                "type": "script", "script": {"script_id": endless.id}});
            user.sink(body).await;
        }
        users.push(user);
    }
    for user in &users {
        user.emit("endless", json!({})).await;
    }
    for round in 1..=3 {
        let began = Instant::now();
        dora.emit("x", json!({ "round": round })).await;
        receiver.wait_for("/dora", round, SOON).await;
        let took = began.elapsed();
        assert!(took < PROMPT, "round {round} took {took:?}");
    }
    // Dora's script runs too: each run waits for at most one run of each other owner.
    let delivered = script.wait_for("delivered", 3, 3 * SOON).await;
    for (n, delivery) in delivered.iter().enumerate() {
        let attempts = delivery["attempts"].as_array().unwrap();
        assert_eq!(attempts.len(), 1, "delivery {n}: {delivery}");
        assert_eq!(attempts[0]["output"], "ran\n");
    }
}

/// There are more sinks than slots for scripts. Each sink runs once, and none waits for the regular
/// scan of the delivery engine.
#[tokio::test]
async fn many_short_scripts_of_one_owner_run_one_after_the_other() {
    const SINKS: usize = 40;
    let server = TestServer::builder()
        .env("SVC_SCRIPT_WORKERS", "2")
        .start()
        .await;
    let ann = server.user("ann").await;
    let script = ann.script("sink", "short", "print('ran')\n").await;
    let mut sinks = Vec::new();
    for n in 0..SINKS {
        let body = json!({"name": format!("s{n}"), "patterns": "custom.x", "type": "script",
            "script": {"script_id": script.id}});
        sinks.push(ann.sink(body).await);
    }
    let began = Instant::now();
    ann.emit("x", json!({})).await;
    for sink in &sinks {
        let delivered = sink.wait_for("delivered", 1, 3 * SOON).await;
        let attempts = delivered[0]["attempts"].as_array().unwrap();
        assert_eq!(attempts.len(), 1);
    }
    let took = began.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
}

async fn only_delivery(sink: &TestSink, admin: &TestUser) -> Value {
    let path = format!("{}/deliveries", sink.path());
    let answer = admin.get(&path).await.expect(200).json();
    let all = answer["deliveries"].as_array().unwrap().clone();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

#[tokio::test]
async fn s6_6_a_user_who_lost_manage_global_sinks_reads_no_events_of_others() {
    let server = TestServer::builder().retries(0.1, 0.1).start().await;
    server
        .role(
            "watcher",
            &["manage_own_event_sinks", "manage_global_event_sinks"],
        )
        .await;
    let (ben, admin) = (server.user("ben").await, server.admin().await);
    let ann = server.user_with("ann", &["user", "watcher"], &[]).await;
    let script = ann.script("sink", "spy", "x = 1\n").await;
    let sink = ann
        .sink(
            json!({"name": "all", "patterns": "custom.*", "type": "script", "owner": "global",
            "script": {"script_id": script.id}}),
        )
        .await;
    let path = format!("/api/users/{}", ann.id);
    let set = async |patch: Value| {
        admin.patch(&path, patch).await.expect(200);
    };
    set(json!({"roles": ["user"]})).await;
    script
        .patch(json!({"source": "import svc.event as e\nprint(e.data())\n"}))
        .await;
    ben.emit("x", json!({"secret": 1})).await;
    let told = get_eventually("the audit log says why", SOON, || async {
        let entries = admin.audit_entries("event_sink.withheld").await;
        entries.first().cloned()
    });
    let told = told.await;
    assert_eq!(told["target_id"], sink.id, "{told}");
    let reason = told["detail"]["reason"].as_str().unwrap();
    assert!(reason.contains("`manage_global_event_sinks`"), "{reason}");
    // A test by an administrator is refused too.
    let tried = admin
        .post(&format!("{}/test", sink.path()), json!({}))
        .await;
    let tried = tried.expect(200).json();
    let error = tried["attempt"]["error"].as_str().unwrap();
    assert!(error.contains("`manage_global_event_sinks`"), "{error}");
    let waiting = only_delivery(&sink, &admin).await;
    assert_eq!(waiting["state"], "pending");
    assert_eq!(waiting["attempts"], json!([]), "no attempt is spent");

    let refused = admin.delete(&path).await.expect(409);
    assert_eq!(refused.code(), "user_runs_sinks");
    assert!(refused.text().contains("`all`"), "{}", refused.text());
    set(json!({"roles": ["user", "watcher"]})).await;
    eventually("the deliveries continue", 2 * SOON, || async {
        only_delivery(&sink, &admin).await["state"] == "delivered"
    })
    .await;
    // The sink of a deactivated user matches no event, so no event is queued for its script.
    set(json!({"active": false})).await;
    ben.emit("y", json!({})).await;
    only_delivery(&sink, &admin).await;
    admin.delete(&sink.path()).await.expect(204);
    admin.delete(&path).await.expect(204);
}
