//! Secrets are never stored in clear text or logged (group 27 of the attacks in docs/AUTH.md).

use svc_testkit::TestServer;

use super::{Flow, text};

#[tokio::test]
async fn tokens_and_codes_are_stored_as_hashes_and_never_logged() {
    let mut server = TestServer::builder().env("SVC_LOG", "trace").start().await;
    let flow = Flow::new(&server, "ann").await;
    let code = flow.code(&[]).await;
    let tokens = flow.exchange(&code, &[]).await.expect(200).json();
    let (access, refresh) = (
        text(&tokens, "access_token"),
        text(&tokens, "refresh_token"),
    );
    flow.ping(access).await.expect(200);
    flow.exchange(&code, &[("code_verifier", &"y".repeat(43))])
        .await
        .expect(400);
    let audit = server
        .admin()
        .await
        .get("/api/audit")
        .await
        .expect(200)
        .text();
    server.terminate().await;
    let mut places = vec![("the log", server.log()), ("the audit log", audit)];
    for entry in std::fs::read_dir(server.data_dir()).unwrap().flatten() {
        if let Ok(bytes) = std::fs::read(entry.path()) {
            places.push(("a file", String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    for (place, contents) in places {
        for secret in [&code, access, refresh, super::VERIFIER] {
            assert!(!contents.contains(secret), "{place} holds a secret");
        }
    }
}

#[tokio::test]
async fn tokens_of_apps_are_not_valid_after_a_restored_backup() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let tokens = flow.connect(&[]).await;
    let (used, unused) = (flow.code(&[]).await, flow.code(&[]).await);
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("svc.backup");
    let (file, data) = (backup.to_str().unwrap(), server.data_dir());
    let data = data.to_str().unwrap();
    let create = ["backup", "create", file, "--data-dir", data];
    server.anonymous_cli().run(&create).await.expect(0);
    flow.exchange(&used, &[]).await.expect(200);
    let refresh_token = text(&tokens, "refresh_token");
    flow.revoke(refresh_token, &[]).await.expect(200);
    server.terminate().await;
    let restore = ["backup", "restore", file, "--data-dir", data, "--force"];
    server.anonymous_cli().run(&restore).await.expect(0);
    server.start_again().await;
    // API tokens are valid after the restore; tokens of apps are not.
    flow.user.get("/api/methods").await.expect(200);
    flow.ping(text(&tokens, "access_token")).await.expect(401);
    flow.refresh(refresh_token, &[]).await.expect(400);
    for code in [used, unused] {
        flow.exchange(&code, &[]).await.expect(400);
    }
}
