//! The data of svc 0.1.0 after an upgrade, and databases of a newer version. The tests use both
//! database engines.

use std::fs;

use base64::{Engine, engine::general_purpose::STANDARD};
use ring::hmac;
use serde_json::{Value, json};
use svc_testkit::{
    Process, Received, TestPostgres, TestReceiver, TestServer, TestServerBuilder, TestUser,
    fixture, fixture_file, result,
};

use crate::SOON;

/// The credentials in the data of svc 0.1.0.
struct Known(Value);

impl Known {
    fn read() -> Self {
        let text = fs::read(fixture_file("svc-0.1.0/known.json")).unwrap();
        Self(serde_json::from_slice(&text).unwrap())
    }

    fn get(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_else(|| panic!("no `{key}`"))
    }
}

/// Keeps events and audit entries without a time limit: the old data is older than the default
/// limits.
fn server() -> TestServerBuilder {
    TestServer::builder()
        .allow_loopback_webhooks()
        .config("audit_retention_days = 0")
        .config_table("events", "retention_days = 0")
        .retries(0.1, 0.1)
}

#[tokio::test]
async fn data_of_0_1_0_work_after_an_upgrade_of_the_embedded_database() {
    let known = Known::read();
    let server = server()
        .database_file(&fixture_file("svc-0.1.0/svc.db"))
        .env("SVC_SECRET_KEY", known.get("secret_key"))
        .start()
        .await;
    check_data(&server, &known).await;
}

#[tokio::test]
async fn data_of_0_1_0_work_after_an_upgrade_of_postgresql() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let database = postgres.database();
    let text = fs::read_to_string(fixture_file("svc-0.1.0/postgres.sql")).unwrap();
    postgres.sql(&database.name, &text);
    let server = server().database_url(&database.url).start().await;
    check_data(&server, &Known::read()).await;
}

async fn check_data(server: &TestServer, known: &Known) {
    let log = server.log();
    assert!(log.contains("migrating the database"), "{log}");
    let admin = server
        .known_user("admin", known.get("admin_password"))
        .await;
    let ann = server.known_user("ann", known.get("ann_password")).await;
    check_identity(&ann, &admin, known).await;
    check_spaces(&ann, known).await;
    check_scripts(&ann).await;
    check_history(&ann, known).await;
    check_sinks(&ann, known).await;
}

async fn check_identity(ann: &TestUser, admin: &TestUser, known: &Known) {
    let me = ann.get("/api/auth/me").await.expect(200).json();
    assert_eq!(me["groups"], json!(["ops"]), "{me}");
    assert_eq!(me["roles"], json!(["auditor", "user"]), "{me}");
    let with = |key: &str| ann.with_token(known.get(key));
    with("ann_token").get("/api/auth/me").await.expect(200);
    with("admin_token").get("/api/users").await.expect(200);
    with("calls_token").get("/api/methods").await.expect(200);
    with("calls_token").get("/api/spaces").await.expect(403);
    with("revoked_token").get("/api/auth/me").await.expect(401);
    let templates = admin.get("/api/templates").await.expect(200).json();
    assert_eq!(templates["templates"][0]["name"], "web", "{templates}");
    let audit = ann.get("/api/audit?limit=100").await.expect(200).json();
    let entries = audit["audit"].as_array().unwrap();
    let is_there = |action: &str| entries.iter().any(|entry| entry["action"] == action);
    assert!(
        is_there("event_sink.dead") && is_there("user.created"),
        "{audit}"
    );
}

async fn check_spaces(ann: &TestUser, known: &Known) {
    let listed = ann.get("/api/spaces").await.expect(200).json();
    assert_eq!(listed["spaces"][0]["id"], known.get("space_id"), "{listed}");
    let space = ann.known_space(&json!({
        "id": known.get("space_id"),
        "name": "lab",
        "agent_token": known.get("agent_token"),
    }));
    let _agent = space.publish(fixture().plain("echo")).await;
    assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
}

async fn check_scripts(ann: &TestUser) {
    let listed = ann.get("/api/scripts").await.expect(200).json();
    let scripts = listed["scripts"].as_array().unwrap();
    assert_eq!(scripts.len(), 2, "{listed}");
    let shout = scripts.iter().find(|script| script["name"] == "shout");
    let path = format!(
        "/api/scripts/{}/run",
        shout.unwrap()["id"].as_str().unwrap()
    );
    let body = json!({"params": {"text": "hello"}});
    let ran = ann.post(&path, body).await.expect(200).json();
    assert_eq!(ran["result"], "HELLO", "{ran}");
}

async fn check_history(ann: &TestUser, known: &Known) {
    let listed = ann.get("/api/events?limit=100").await.expect(200).json();
    let events = listed["events"].as_array().unwrap();
    let find = |id: &Value| events.iter().find(|event| event["event_id"] == *id);
    for (index, id) in known.0["build_events"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
    {
        let event = find(id).unwrap_or_else(|| panic!("{id} of {listed}"));
        assert_eq!(event["event_type"], "custom.build.done");
        assert_eq!(event["data"]["number"], index + 1);
    }
    let note = events
        .iter()
        .find(|event| event["event_type"] == "custom.note");
    assert_eq!(note.unwrap()["data"]["text"], "gr\u{fc}\u{df}e \u{2713}");
    assert!(
        events
            .iter()
            .any(|event| event["event_type"] == "space.created")
    );
}

async fn check_sinks(ann: &TestUser, known: &Known) {
    let listed = ann.get("/api/event-sinks").await.expect(200).json();
    let sinks = listed["event_sinks"].as_array().unwrap();
    let find = |name: &str| {
        let sink = sinks.iter().find(|sink| sink["name"] == name);
        let id = sink.unwrap_or_else(|| panic!("{name} of {listed}"))["id"].as_str();
        format!("/api/event-sinks/{}", id.unwrap())
    };
    let (good, broken) = (find("good"), find("broken"));
    find("short");
    find("off");
    let receiver = TestReceiver::start().await;
    // The secrets of 0.1.0 can be decrypted for the old receivers, which do not answer.
    for sink in [&good, &broken] {
        let tried = ann.post(&format!("{sink}/test"), "{}").await.expect(200);
        let attempt = tried.json()["attempt"].clone();
        assert!(attempt["error"].is_string(), "{attempt}");
        assert!(!attempt.to_string().contains("decrypted"), "{attempt}");
    }
    // Secrets stay with their receivers, so they are given again for the new one.
    let point_to = |sink: String, path: &str, secret: &str, headers: Value| {
        let url = receiver.url(path);
        let body = json!({"webhook": {"url": url, "secret": secret, "headers": headers}});
        async move { ann.patch(&sink, body).await.expect(200) }
    };
    let headers = json!({"authorization": "Bearer of-the-receiver", "x-team": null});
    let body = json!({"webhook": {"url": receiver.url("/good")}});
    let refused = ann.patch(&good, body).await.expect(400);
    assert_eq!(refused.code(), "secret_required", "{}", refused.text());
    point_to(good.clone(), "/good", known.get("good_secret"), headers).await;
    point_to(
        broken.clone(),
        "/broken",
        known.get("broken_secret"),
        json!({}),
    )
    .await;

    // A dead delivery is sent again.
    let deliveries = ann.get(&format!("{broken}/deliveries")).await.expect(200);
    let deliveries = deliveries.json();
    let dead = deliveries["deliveries"].as_array().unwrap();
    assert_eq!(dead.len(), 3, "{deliveries}");
    assert!(dead.iter().all(|delivery| delivery["state"] == "dead"));
    let first = &known.0["build_events"][0];
    let delivery = dead.iter().find(|delivery| delivery["event_id"] == *first);
    let delivery = delivery.unwrap();
    assert_eq!(delivery["attempts"].as_array().map(Vec::len), Some(3));
    let resend = format!("{broken}/deliveries/{}/resend", delivery["n"]);
    ann.post(&resend, json!({})).await.expect(200);
    let again = receiver.wait_for("/broken", 1, SOON).await.remove(0);
    assert_eq!(again.header("x-service-event-id"), first.as_str().unwrap());
    assert_signed(&again, known.get("broken_secret"));

    // The old sink sends a new event.
    let body = json!({"type": "after.upgrade", "payload": {}});
    ann.post("/api/events/emit", body).await.expect(202);
    let new = receiver.wait_for("/good", 1, SOON).await.remove(0);
    assert_eq!(new.header("authorization"), "Bearer of-the-receiver");
    assert_signed(&new, known.get("good_secret"));
}

fn assert_signed(received: &Received, secret: &str) {
    let secret = STANDARD
        .decode(secret.trim_start_matches("whsec_"))
        .unwrap();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
    let tag = hmac::sign(&key, &received.body);
    let hex: String = tag
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(
        received.header("x-service-signature"),
        format!("sha256={hex}")
    );
}

const NEWER: &str =
    "INSERT INTO schema_migrations (version, name, applied_at) VALUES (999, 'later', 0)";

/// Checks that an older server does not start, and that its message names both versions and the
/// remedy.
async fn check_refusal(server: &TestServer) {
    let command = server.second_server(&server.data_dir());
    let mut refused = Process::spawn("older server", command);
    assert_eq!(refused.wait_for_exit(SOON).await.code(), Some(1));
    let said = refused.stderr();
    for part in [
        "schema version 999",
        &format!("svc {} supports", env!("CARGO_PKG_VERSION")),
        &format!("up to {}", svc_store::SCHEMA_VERSION),
        "written by svc 9.9.9",
        "a backup that was made before the upgrade",
        "docs/OPERATIONS.md#downgrade",
    ] {
        assert!(said.contains(part), "`{part}` is not in: {said}");
    }
}

#[tokio::test]
async fn a_newer_embedded_database_is_refused() {
    let mut server = TestServer::builder().embedded().start().await;
    let other = "UPDATE meta SET value = '9.9.9' WHERE key = 'svc_version'";
    server.edit_database(&format!("{NEWER}; {other}")).await;
    check_refusal(&server).await;
}

#[tokio::test]
async fn a_newer_database_of_postgresql_is_refused() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let database = postgres.database();
    let mut server = TestServer::builder()
        .database_url(&database.url)
        .start()
        .await;
    server.terminate().await;
    postgres.sql(&database.name, NEWER);
    let other = "UPDATE meta SET value = '9.9.9' WHERE key = 'svc_version'";
    postgres.sql(&database.name, other);
    check_refusal(&server).await;
}
