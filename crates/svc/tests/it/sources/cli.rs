//! `svc source` and `svc schedule`.

use serde_json::json;
use svc_testkit::TestServer;

use super::events_of;

#[tokio::test]
async fn a_source_is_created_tested_and_removed_by_commands() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let cli = || server.cli(&ann);
    let created = cli()
        .run(&[
            "source", "create", "github", "--verify", "github", "-o", "json",
        ])
        .await;
    let created = created.expect(0).json();
    assert!(
        created["url"].as_str().unwrap().starts_with(server.url()),
        "{created}"
    );
    let listed = cli().run(&["source", "list"]).await.expect(0).stdout;
    assert!(listed.contains("github"), "{listed}");
    let header = "X-GitHub-Event: push";
    let dry = cli()
        .run(&["source", "test", "github", "--header", header, "--dry-run"])
        .await;
    let dry = dry.expect(0).stdout;
    assert!(dry.contains("source.github.push"), "{dry}");
    assert_eq!(events_of(&ann).await.len(), 0);
    let body = r#"{"ref":"main"}"#;
    cli()
        .run(&[
            "source", "test", "github", "--header", header, "--body", body,
        ])
        .await
        .expect(0);
    assert_eq!(events_of(&ann).await[0]["data"]["ref"], "main");
    let updated = cli()
        .run(&["source", "update", "github", "--type-body", "ref"])
        .await
        .expect(0);
    assert!(
        updated.stdout.contains(r#"{"body":"ref"}"#),
        "{}",
        updated.stdout
    );
    let rotated = cli().run(&["source", "rotate", "github"]).await.expect(0);
    assert_eq!(rotated.stdout.trim().len(), 72, "{}", rotated.stdout);
    let rotated = cli()
        .run(&["source", "rotate", "github", "--url"])
        .await
        .expect(0);
    assert!(
        rotated.stdout.contains("/in/svc_src_"),
        "{}",
        rotated.stdout
    );
    let requests = cli().run(&["source", "requests", "github"]).await.expect(0);
    assert!(
        requests.stderr.contains("no requests"),
        "{}",
        requests.stderr
    );
    cli().run(&["source", "rm", "github"]).await.expect(0);
    cli().run(&["source", "get", "github"]).await.expect(5);
}

#[tokio::test]
async fn a_schedule_is_created_previewed_run_and_removed_by_commands() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let cli = || server.cli(&ann);
    let created = cli()
        .run(&[
            "schedule",
            "create",
            "yearly",
            "--cron",
            "0 2 1 1 *",
            "--timezone",
            "Europe/Berlin",
            "--payload",
            r#"{"job":"backup"}"#,
            "-o",
            "json",
        ])
        .await
        .expect(0)
        .json();
    assert_eq!(created["payload"], json!({"job": "backup"}));
    let next = cli()
        .run(&["schedule", "next", "yearly", "--count", "2", "-o", "json"])
        .await;
    let next = next.expect(0).json();
    assert_eq!(next["runs"][0], created["next_at"]);
    let preview = cli()
        .run(&["schedule", "next", "--cron", "0 0 1 * *"])
        .await
        .expect(0);
    assert_eq!(
        preview.stdout.matches("-01T00:00:00.000Z").count(),
        5,
        "{}",
        preview.stdout
    );
    let id = cli()
        .run(&["schedule", "run", "yearly"])
        .await
        .expect(0)
        .stdout;
    assert_eq!(events_of(&ann).await[0]["event_id"], id.trim());
    cli()
        .run(&[
            "schedule",
            "update",
            "yearly",
            "--missed",
            "skip",
            "--inactive",
        ])
        .await
        .expect(0);
    let shown = cli()
        .run(&["schedule", "get", "yearly", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(
        (&shown["missed"], &shown["active"]),
        (&json!("skip"), &json!(false))
    );
    let refused = cli()
        .run(&["schedule", "create", "x", "--cron", "every day"])
        .await;
    assert!(refused.expect(6).stderr.contains("every day"));
    cli().run(&["schedule", "rm", "yearly"]).await.expect(0);
}
