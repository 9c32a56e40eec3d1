//! `svc doctor`.

use serde_json::Value;
use svc_testkit::{Cli, TempDir, TestServer, TestUser, eventually, fixture, fixture_file};

use crate::SOON;

const JSON: &[&str] = &["doctor", "-o", "json"];

/// `name status detail` of each check, over all groups.
fn checks(report: &Value) -> Vec<(String, String, String)> {
    let groups = report["groups"].as_array().expect("groups");
    let checks = groups
        .iter()
        .flat_map(|group| group["checks"].as_array().expect("checks"));
    let text = |check: &Value, member: &str| check[member].as_str().unwrap_or_default().to_owned();
    checks
        .map(|check| {
            (
                text(check, "name"),
                text(check, "status"),
                text(check, "detail"),
            )
        })
        .collect()
}

fn status_of(report: &Value, name: &str) -> String {
    let found = checks(report).into_iter().find(|check| check.0 == name);
    found
        .unwrap_or_else(|| panic!("no check `{name}`: {report}"))
        .1
}

#[tokio::test]
async fn an_administrator_sees_the_checks_of_the_server() {
    let server = TestServer::start().await;
    let admin: TestUser = server.admin().await;
    let report = server.cli(&admin).run(JSON).await.expect(0).json();
    assert_eq!(report["ok"], true, "{report}");
    for name in [
        "credential",
        "clock",
        "version",
        "public URL",
        "database",
        "disk",
    ] {
        assert_ne!(status_of(&report, name), "error", "{name}: {report}");
    }
    assert_eq!(status_of(&report, "clock"), "ok");
    assert_eq!(status_of(&report, "agent"), "skipped");
    let shown = server.cli(&admin).run(&["doctor"]).await.expect(0);
    let text = &shown.stdout;
    assert!(text.contains(&format!("server {}", server.url())), "{text}");
    assert!(text.contains("free at"), "{text}");
}

#[tokio::test]
async fn the_checks_of_the_server_need_view_audit() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let report = server.cli(&ann).run(JSON).await.expect(0).json();
    assert_eq!(status_of(&report, "credential"), "ok");
    assert_eq!(status_of(&report, "server itself"), "skipped");
    assert!(!report.to_string().contains("free at"), "{report}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_an_error_with_advice() {
    let home = TempDir::new().unwrap();
    let svc = Cli::new(home.path())
        .env("SVC_URL", "http://127.0.0.1:9")
        .env("SVC_TOKEN", "svc_pat_any");
    let shown = svc.run(&["doctor"]).await.expect(1);
    let text = &shown.stdout;
    assert!(text.contains("cannot reach `http://127.0.0.1:9`"), "{text}");
    assert!(text.contains("-> is the server running?"), "{text}");
    assert!(text.contains("1 error, 0 warnings"), "{text}");
}

#[tokio::test]
async fn the_check_of_a_certificate_shows_its_end_and_fails_if_it_is_not_trusted() {
    let [cert, key, ca] =
        ["cert.pem", "key.pem", "ca.pem"].map(|name| fixture_file(name).display().to_string());
    let server = TestServer::builder()
        .args(&["--tls-cert", &cert, "--tls-key", &key])
        .start()
        .await;
    let home = TempDir::new().unwrap();
    let svc = || {
        Cli::new(home.path())
            .env("SVC_URL", server.url())
            .env("SVC_TOKEN", "svc_pat_any")
    };
    let trusted = svc()
        .env("SSL_CERT_FILE", &ca)
        .run(JSON)
        .await
        .expect(1)
        .json();
    let certificate = checks(&trusted)
        .into_iter()
        .find(|check| check.0 == "certificate");
    let (_, status, detail) = certificate.expect("a check of the certificate");
    assert_ne!(status, "error", "{detail}");
    assert!(detail.starts_with("trusted, valid until 2"), "{detail}");
    // The token is not valid, but the certificate is trusted.
    assert_eq!(status_of(&trusted, "connection"), "error");
    let untrusted = svc().run(JSON).await.expect(1).json();
    assert_eq!(status_of(&untrusted, "certificate"), "error", "{untrusted}");
}

#[tokio::test]
async fn an_agent_shows_its_link_and_its_method_server() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("echo").plain("crash")).await;
    let report = agent.cli().run(JSON).await.expect(0).json();
    for name in ["agent", "link", "method server", "registration"] {
        assert_eq!(status_of(&report, name), "ok", "{name}: {report}");
    }
    // Without a server, the check of the link fails.
    server.terminate().await;
    eventually("the link is an error", SOON, async || {
        let report = agent.cli().run(JSON).await.json();
        status_of(&report, "link") == "error"
    })
    .await;
}
