//! `svc event`, `svc events`, `svc sink` (spec 4.3).

use serde_json::{Value, json};
use svc_testkit::{Reply, TestReceiver, TestServer, TestServerBuilder, get_eventually};

use crate::SOON;

fn open() -> TestServerBuilder {
    TestServer::builder()
        .allow_loopback_webhooks()
        .retries(0.2, 0.2)
}

#[tokio::test]
async fn s4_3_event_prints_the_id_and_reads_its_payload_from_argument_or_stdin() {
    let server = open().start().await;
    let ann = server.user("ann").await;
    let payload = async |id: &str| -> Value {
        let path = format!("/api/events/{}", id.trim());
        let record = ann.get(&path).await.expect(200).json();
        assert_eq!(record["event_type"], "custom.space.created");
        record["data"].clone()
    };
    let kind = "space.created";
    let out = server
        .cli(&ann)
        .run(&["event", kind, r#"{"a":1}"#])
        .await
        .expect(0);
    assert_eq!(out.stdout.lines().count(), 1);
    assert_eq!(payload(&out.stdout).await, json!({"a": 1}));
    let out = server
        .cli(&ann)
        .input(r#"{"b":2}"#)
        .run(&["event", kind])
        .await
        .expect(0);
    assert_eq!(payload(&out.stdout).await, json!({"b": 2}));
    let out = server
        .cli(&ann)
        .input(r#"{"c":3}"#)
        .run(&["event", kind, "-"])
        .await
        .expect(0);
    assert_eq!(payload(&out.stdout).await, json!({"c": 3}));
    let out = server.cli(&ann).run(&["event", kind]).await.expect(0);
    assert_eq!(payload(&out.stdout).await, json!({}));
    // `list` is an event type here: no type is parsed as a subcommand.
    server.cli(&ann).run(&["event", "list"]).await.expect(0);
    let args = ["event", "paid", "{}", "--idempotency-key", "k1"];
    let first = server.cli(&ann).run(&args).await.expect(0).stdout;
    let again = server.cli(&ann).run(&args).await.expect(0).stdout;
    assert_eq!(first, again);
}

#[tokio::test]
async fn s4_3_invalid_events_are_usage_errors_before_any_request() {
    let server = open().start().await;
    let ann = server.user("ann").await;
    for bad in ["{", "[]", "1", "\"x\"", "null"] {
        let out = server.cli(&ann).run(&["event", "a", bad]).await.expect(2);
        assert!(out.stdout.is_empty());
        assert!(!out.stderr.is_empty());
    }
    server.cli(&ann).run(&["event"]).await.expect(2);
    let out = server.cli(&ann).run(&["event", "a b", "{}"]).await;
    assert!(matches!(out.code, 2 | 6), "{out:?}");
    assert!(out.stderr.contains("a b"), "{}", out.stderr);
    assert!(ann.list("/api/events", "events").await.is_empty());
}

#[tokio::test]
async fn s4_3_s6_2_event_inside_a_space_goes_through_the_agent() {
    let server = open().start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let space_of = async |id: &str| -> Value {
        let path = format!("/api/events/{}", id.trim());
        ann.get(&path).await.expect(200).json()["space_id"].clone()
    };
    let out = agent.cli().run(&["event", "x", "{}"]).await.expect(0);
    assert_eq!(space_of(&out.stdout).await, space.id);
    let out = agent
        .cli()
        .run(&["event", "x", "--via", "agent"])
        .await
        .expect(0);
    assert_eq!(space_of(&out.stdout).await, space.id);
    let direct = server.cli(&ann).folder(space.folder());
    let out = direct
        .run(&["event", "x", "--via", "server"])
        .await
        .expect(0);
    assert_eq!(
        space_of(&out.stdout).await,
        "00000000-0000-0000-0000-000000000000"
    );
    let out = server
        .cli(&ann)
        .run(&["event", "x", "--via", "agent"])
        .await;
    assert_ne!(out.code, 0, "there is no agent here: {out:?}");
}

#[tokio::test]
async fn s4_3_events_are_listed_shown_and_followed() {
    let server = open().start().await;
    let ann = server.user("ann").await;
    let a = ann.emit("a.one", json!({"n": 1})).await;
    let b = ann.emit("b.two", json!({})).await;
    let cli = || server.cli(&ann);
    let list = cli()
        .run(&["events", "list", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(list["events"][0]["event_id"], b);
    let out = cli()
        .run(&["events", "list", "--type", "custom.a.*"])
        .await
        .expect(0);
    assert!(out.stdout.contains("custom.a.one") && !out.stdout.contains("custom.b.two"));
    let shown = cli()
        .run(&["events", "get", &a, "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(shown["data"], json!({"n": 1}));
    let missing = "00000000-0000-0000-0000-000000000000";
    cli().run(&["events", "get", missing]).await.expect(5);
    // `tail` prints new events line by line.
    let mut command = std::process::Command::new(svc_testkit::svc_program());
    command
        .args(["events", "tail", "--pattern", "custom.t.*", "-o", "json"])
        .env("HOME", server.home())
        .env("SVC_URL", server.url())
        .env("SVC_TOKEN", &ann.token)
        .current_dir(server.home())
        .stdin(std::process::Stdio::null());
    let mut tail = svc_testkit::Process::spawn("tail", command);
    let line = get_eventually("the tail shows an event", SOON, || async {
        ann.emit("t.x", json!({"n": 7})).await;
        ann.emit("u.x", json!({})).await;
        tail.stdout().first().cloned()
    })
    .await;
    let event: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(event["event_type"], "custom.t.x");
    assert_eq!(event["data"], json!({"n": 7}));
    assert!(tail.stdout().iter().all(|line| line.contains("custom.t.x")));
    tail.interrupt();
    tail.wait_for_exit(SOON).await;
}

#[tokio::test]
async fn s4_3_past_events_are_searched_by_time_actor_and_text() {
    let server = open().start().await;
    let ann = server.user("ann").await;
    ann.emit("order.shipped", json!({"order": "A-17"})).await;
    ann.emit("order.shipped", json!({"order": "B-4"})).await;
    let list = async |options: &[&str]| {
        let args = [&["events", "list", "-o", "json"], options].concat();
        let found = server.cli(&ann).run(&args).await.expect(0).json();
        let events = found["events"].as_array().unwrap().clone();
        let orders = events
            .iter()
            .filter_map(|event| event["data"]["order"].as_str());
        orders.map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(list(&["--text", "a-17"]).await, ["A-17"]);
    assert_eq!(
        list(&["--since", "1h", "--actor", "ann"]).await,
        ["B-4", "A-17"]
    );
    assert_eq!(list(&["--actor", "ben"]).await, [""; 0]);
    assert_eq!(list(&["--until", "1h"]).await, [""; 0]);
    for bad in [["--since", "yesterday"], ["--text", ""]] {
        let args = [&["events", "list"], &bad[..]].concat();
        let out = server.cli(&ann).run(&args).await.expect(2);
        assert!(out.stderr.contains("a time looks like") || out.stderr.contains("1 to 200 bytes"));
    }
}

#[tokio::test]
async fn s4_3_sinks_are_created_changed_and_removed() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let cli = || server.cli(&ann);
    let url = receiver.url("/hook");
    let template = r#"{"t": "${{ event.type }}"}"#;
    std::fs::write(server.home().join("body.tmpl"), template).unwrap();
    let created = cli()
        .run(&[
            "sink",
            "create",
            "hook",
            "--type",
            "webhook",
            "--patterns",
            "custom.a.*, custom.b",
            "--url",
            &url,
            "--header",
            "X-Team: tea",
            "--body-template",
            "@body.tmpl",
            "--description",
            "Hooks",
            "-o",
            "json",
        ])
        .await
        .expect(0)
        .json();
    assert_eq!(created["patterns"], json!(["custom.a.*", "custom.b"]));
    assert!(
        created["webhook"]["secret"]
            .as_str()
            .unwrap()
            .starts_with("whsec_")
    );
    assert_eq!(created["webhook"]["headers"], json!({"X-Team": "********"}));
    let out = cli().run(&["sink", "list"]).await.expect(0);
    assert!(out.stdout.contains("hook"), "{}", out.stdout);
    assert!(!out.stdout.contains("whsec_"));
    let shown = cli()
        .run(&["sink", "get", "hook", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(shown["id"], created["id"]);
    assert_eq!(shown["description"], "Hooks");
    let out = cli()
        .run(&["sink", "test", "hook", "--dry-run", "--type", "custom.b"])
        .await
        .expect(0);
    assert!(
        out.stdout.contains(r#"{"t": "custom.b"}"#),
        "{}",
        out.stdout
    );
    assert_eq!(receiver.count("/hook"), 0);
    cli().run(&["sink", "test", "hook"]).await.expect(0);
    assert_eq!(receiver.count("/hook"), 1);
    assert_eq!(receiver.received("/hook")[0].header("x-team"), "tea");
    // Disable the sink, then enable it again.
    cli().run(&["sink", "disable", "hook"]).await.expect(0);
    cli().run(&["event", "b"]).await.expect(0);
    cli().run(&["sink", "enable", "hook"]).await.expect(0);
    cli().run(&["event", "a.x"]).await.expect(0);
    receiver.wait_for("/hook", 2, SOON).await;
    cli()
        .run(&["sink", "update", "hook", "--patterns", "custom.c"])
        .await
        .expect(0);
    let shown = cli()
        .run(&["sink", "get", "hook", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(shown["patterns"], json!(["custom.c"]));
    let out = cli()
        .run(&["sink", "rotate-secret", "hook"])
        .await
        .expect(0);
    assert!(out.stdout.contains("whsec_"), "{}", out.stdout);
    cli().run(&["sink", "rm", "hook"]).await.expect(0);
    cli().run(&["sink", "get", "hook"]).await.expect(5);
    let bad = [
        "sink",
        "create",
        "x",
        "--type",
        "webhook",
        "--patterns",
        "*.x",
        "--url",
        &url,
    ];
    let out = cli().run(&bad).await.expect(2);
    assert!(out.stderr.contains("*.x"), "{}", out.stderr);
    let script = ["sink", "create", "x", "--type", "script", "--patterns", "*"];
    assert_ne!(cli().run(&script).await.code, 0);
}

#[tokio::test]
async fn s4_3_deliveries_are_shown_and_sent_again() {
    let server = open().start().await;
    let receiver = TestReceiver::start().await;
    let ann = server.user("ann").await;
    let cli = || server.cli(&ann);
    receiver.set("/hook", Reply::Body(500, "out of tea".to_owned()));
    let sink = ann
        .webhook("hook", "custom.*", &receiver.url("/hook"))
        .await;
    ann.emit("a", json!({})).await;
    sink.wait_for("dead", 1, SOON).await;
    let out = cli().run(&["sink", "deliveries", "hook"]).await.expect(0);
    assert!(
        out.stdout.contains("dead") && out.stdout.contains("500"),
        "{}",
        out.stdout
    );
    let list = [
        "sink",
        "deliveries",
        "hook",
        "--state",
        "dead",
        "-o",
        "json",
    ];
    let list = cli().run(&list).await.expect(0).json();
    assert_eq!(list["deliveries"][0]["attempts"][0]["output"], "out of tea");
    receiver.set("/hook", Reply::Status(200));
    cli().run(&["sink", "resend", "hook", "1"]).await.expect(0);
    sink.wait_for("delivered", 1, SOON).await;
    cli().run(&["sink", "replay", "hook"]).await.expect(0);
    sink.wait_for("delivered", 2, SOON).await;
    cli().run(&["sink", "resend", "hook", "99"]).await.expect(5);
    assert_eq!(receiver.wait_for("/hook", 5, SOON).await.len(), 5);
}
