//! Schedules over HTTP. The tests in `crates/server/src/schedules/tests.rs` set the clock, and
//! check the times of runs.

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser, eventually};

use super::events_of;
use crate::SOON;

async fn create(user: &TestUser, name: &str, cron: &str) -> Value {
    let body = json!({"name": name, "cron": cron, "payload": {"job": "backup"}});
    user.post("/api/schedules", body).await.expect(201).json()
}

#[tokio::test]
async fn a_schedule_is_managed_and_previewed() {
    let server = TestServer::start().await;
    let (admin, ann, ben) = (
        server.admin().await,
        server.user("ann").await,
        server.user("ben").await,
    );
    let created = create(&ann, "yearly", "0 2 1 1 *").await;
    assert_eq!(created["timezone"], "UTC");
    assert_eq!(created["missed"], "once");
    assert!(
        created["next_at"]
            .as_str()
            .unwrap()
            .ends_with("T02:00:00.000Z")
    );
    let path = format!("/api/schedules/{}", created["id"].as_str().unwrap());
    let runs = ann
        .get(&format!("{path}/next?count=3"))
        .await
        .expect(200)
        .json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 3);
    assert_eq!(runs["runs"][0], created["next_at"]);
    let preview = "/api/schedules/preview?cron=30+9+*+*+1-5&timezone=Europe%2FBerlin&count=1";
    let preview = ann.get(preview).await.expect(200).json();
    let run = preview["runs"][0].as_str().unwrap();
    assert!(run.contains("T07:30") || run.contains("T08:30"), "{run}");
    for other in [&ben, &admin] {
        other.get(&path).await.expect(404);
        other
            .patch(&path, json!({"active": false}))
            .await
            .expect(404);
        other
            .post(&format!("{path}/run"), json!({}))
            .await
            .expect(404);
        other.delete(&path).await.expect(404);
    }
    let off = ann
        .patch(&path, json!({"active": false}))
        .await
        .expect(200)
        .json();
    assert_eq!(off["next_at"], Value::Null);
    let body = json!({"active": true, "cron": "15 3 * * *", "timezone": "Asia/Tokyo"});
    let on = ann.patch(&path, body).await.expect(200).json();
    assert!(
        on["next_at"].as_str().unwrap().ends_with("T18:15:00.000Z"),
        "{on}"
    );
    ann.delete(&path).await.expect(204);
    ann.get(&path).await.expect(404);
    let actions: Vec<String> = admin
        .audit_actions()
        .await
        .into_iter()
        .map(|one| one.1)
        .collect();
    for action in ["schedule.created", "schedule.updated", "schedule.deleted"] {
        assert!(
            actions.iter().any(|found| found == action),
            "{action}: {actions:?}"
        );
    }
}

#[tokio::test]
async fn wrong_schedules_are_refused_with_the_value() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let check = async |body: Value, code: &str, part: &str| {
        let refused = ann.post("/api/schedules", &body).await.expect(400);
        assert_eq!(refused.code(), code, "{}", refused.text());
        assert!(refused.text().contains(part), "{}", refused.text());
    };
    check(
        json!({"name": "a b", "cron": "* * * * *"}),
        "invalid_name",
        "a b",
    )
    .await;
    check(
        json!({"name": "a", "cron": "* * * * * *"}),
        "invalid_schedule",
        "five fields",
    )
    .await;
    check(
        json!({"name": "a", "cron": "61 * * * *"}),
        "invalid_schedule",
        "61 * * * *",
    )
    .await;
    check(
        json!({"name": "a", "cron": "0 0 30 2 *"}),
        "invalid_schedule",
        "does not run",
    )
    .await;
    let zone = json!({"name": "a", "cron": "* * * * *", "timezone": "Mars/Olympus"});
    check(zone, "invalid_schedule", "Mars/Olympus").await;
    let payload = json!({"name": "a", "cron": "* * * * *", "payload": {"x": "y".repeat(70_000)}});
    check(payload, "invalid", "65536").await;
    let deep = format!(
        r#"{{"name":"a","cron":"* * * * *","payload":{}1{}}}"#,
        "{\"a\":".repeat(128),
        "}".repeat(128)
    );
    let refused = ann.post("/api/schedules", deep).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
}

#[tokio::test]
async fn a_manual_run_emits_the_event_and_does_not_change_the_next_run() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let schedule = create(&ann, "yearly", "0 2 1 1 *").await;
    let path = format!("/api/schedules/{}", schedule["id"].as_str().unwrap());
    let emitted = ann
        .post(&format!("{path}/run"), json!({}))
        .await
        .expect(202)
        .json();
    assert_eq!(emitted["event_type"], "schedule.yearly");
    let event = &events_of(&ann).await[0];
    assert_eq!(event["data"]["payload"], json!({"job": "backup"}));
    assert_eq!(event["data"]["scheduled_at"], Value::Null);
    let after = ann.get(&path).await.expect(200).json();
    assert_eq!(after["next_at"], schedule["next_at"]);
}

#[tokio::test]
async fn a_due_run_happens_after_a_kill_and_only_once() {
    let mut server = TestServer::builder().embedded().start().await;
    let ann = server.user("ann").await;
    for n in 0..20 {
        create(&ann, &format!("s{n}"), "0 0 1 1 *").await;
    }
    // The runs of all schedules are due at the same time, and the server is killed near that time.
    let due = svc_clock::now().0 + 1_500;
    server
        .edit_database(&format!("UPDATE schedules SET next_at = {due}"))
        .await;
    server.start_again().await;
    let ann = ann.at(&server);
    eventually("the first runs have events", SOON, || async {
        !events_of(&ann).await.is_empty()
    })
    .await;
    server.kill9();
    server.start_again().await;
    let ann = ann.at(&server);
    eventually("all runs", SOON, || async {
        events_of(&ann).await.len() >= 20
    })
    .await;
    let mut names: Vec<String> = events_of(&ann)
        .await
        .iter()
        .map(|event| event["event_type"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    let all = names.len();
    names.dedup();
    assert_eq!((all, names.len()), (20, 20));
}
