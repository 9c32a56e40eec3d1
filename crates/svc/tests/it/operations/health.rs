//! `svc server health`.

use serde_json::json;
use svc_testkit::{TestReceiver, TestServer, fixture_file};

#[tokio::test]
async fn health_needs_no_credential_and_exits_with_0_or_1() {
    let mut server = TestServer::start().await;
    let url = server.url().to_owned();
    let check = ["server", "health", "--url", &url];
    let as_json = [&check[..], &["-o", "json"]].concat();
    let said = server.anonymous_cli().run(&check).await.expect(0);
    assert_eq!(said.stdout, format!("{url} is ready\n"));
    assert_eq!(said.stderr, "");
    let said = server.anonymous_cli().run(&as_json);
    let expected = json!({"url": url, "ready": true, "reason": null, "database": null});
    assert_eq!(said.await.expect(0).json(), expected);

    server.terminate().await;
    let said = server.anonymous_cli().run(&check).await.expect(1);
    assert_eq!(said.stdout, "");
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    assert!(said.stderr.contains(&url), "{}", said.stderr);
    let said = server.anonymous_cli().run(&as_json);
    let report = said.await.expect(1).json();
    assert_eq!(report["ready"], false);
    let reason = report["reason"].as_str().unwrap();
    assert!(reason.contains("refused"), "{reason}");
}

#[tokio::test]
async fn health_without_a_url_checks_the_server_of_the_configuration() {
    let server = TestServer::start().await;
    let listen = server.address().to_string();
    let svc = || server.anonymous_cli().env("SVC_LISTEN", &listen);
    svc().run(&["server", "health"]).await.expect(0);
    // A server that listens on every address is found on the loopback address.
    let any = format!("0.0.0.0:{}", server.address().port());
    let said = svc()
        .env("SVC_LISTEN", &any)
        .run(&["server", "health"])
        .await;
    assert_eq!(
        said.expect(0).stdout,
        format!("{} is ready\n", server.url())
    );
    // SVC_URL names another server.
    let other = svc()
        .env("SVC_URL", "http://127.0.0.1:1")
        .run(&["server", "health"]);
    other.await.expect(1);
    let any_port = svc()
        .env("SVC_LISTEN", "127.0.0.1:0")
        .run(&["server", "health"]);
    let said = any_port.await.expect(1);
    assert!(said.stderr.contains("--url"), "{}", said.stderr);
}

#[tokio::test]
async fn health_accepts_the_certificate_of_the_local_server() {
    let (cert, key) = (fixture_file("cert.pem"), fixture_file("key.pem"));
    let server = TestServer::builder()
        .env("SVC_TLS_CERT", cert.to_str().unwrap())
        .env("SVC_TLS_KEY", key.to_str().unwrap())
        .start()
        .await;
    let svc = || server.anonymous_cli();
    let listen = server.url().trim_start_matches("https://").to_owned();
    let own = svc()
        .env("SVC_LISTEN", &listen)
        .env("SVC_TLS_CERT", &cert)
        .env("SVC_TLS_KEY", &key)
        .run(&["server", "health"]);
    own.await.expect(0);
    // If the user names a server with `--url`, its certificate must be trusted.
    let named = svc()
        .run(&["server", "health", "--url", server.url()])
        .await;
    assert!(named.expect(1).stderr.contains("certificate"));
}

#[tokio::test]
async fn health_rejects_answers_of_other_programs_and_waits_for_a_limited_time() {
    let other = TestReceiver::start().await;
    let server = TestServer::start().await;
    let url = other.url("");
    let check = ["server", "health", "--url", &url];
    let said = server.anonymous_cli().run(&check).await.expect(1);
    assert!(
        said.stderr.contains("not in the form of an svc server"),
        "{}",
        said.stderr
    );
    server.freeze();
    let check = ["server", "health", "--url", server.url()];
    let said = server.anonymous_cli().run(&check).await.expect(1);
    assert!(said.stderr.contains("did not answer"), "{}", said.stderr);
    server.thaw();
}
