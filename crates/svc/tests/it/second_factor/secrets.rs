//! Secrets are never stored in clear text or logged, and users can log in after the loss of the
//! encryption key (groups 27 and 25 of the attacks in docs/AUTH.md).

use svc_testkit::{Process, TestServer, wait_for_address};

use super::{Protected, complete, text};

#[tokio::test]
async fn secrets_and_codes_are_never_stored_in_clear_text_and_never_logged() {
    let mut server = TestServer::builder().env("SVC_LOG", "trace").start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let token = ann.pending().await;
    ann.try_code(&token, &ann.wrong_code()).await.expect(403);
    ann.try_code(&token, &ann.recovery_codes[0])
        .await
        .expect(200);
    let unused = ann.pending().await;
    let audit = server.admin().await.get("/api/audit").await;
    let audit = audit.expect(200).text();
    server.terminate().await;
    let mut places = vec![
        ("the log", server.log().into_bytes()),
        ("the audit log", audit.into_bytes()),
    ];
    for entry in std::fs::read_dir(server.data_dir()).unwrap().flatten() {
        if let Ok(bytes) = std::fs::read(entry.path()) {
            places.push(("a file", bytes));
        }
    }
    let mut secrets: Vec<Vec<u8>> = vec![ann.secret.clone(), token.into(), unused.into()];
    secrets.push(svc_core::totp::base32(&ann.secret).into());
    for code in &ann.recovery_codes {
        secrets.push(code.clone().into());
        secrets.push(code.replace('-', "").into());
    }
    for (place, contents) in places {
        for secret in &secrets {
            let found = contents
                .windows(secret.len())
                .any(|part| part == secret.as_slice());
            assert!(!found, "{place} holds a secret");
        }
    }
}

#[tokio::test]
async fn after_the_loss_of_the_key_a_user_logs_in_with_a_recovery_code() {
    let mut server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("svc.backup");
    let (file, data) = (backup.to_str().unwrap(), server.data_dir());
    let data_dir = data.to_str().unwrap();
    let create = ["backup", "create", file, "--data-dir", data_dir];
    let token = ann.pending().await;
    server.anonymous_cli().run(&create).await.expect(0);
    server.terminate().await;
    let restore = ["backup", "restore", file, "--data-dir", data_dir, "--force"];
    server.anonymous_cli().run(&restore).await.expect(0);
    std::fs::remove_file(data.join("secret.key")).unwrap();

    let refused = server.second_server(&data).output().unwrap();
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("encrypted with another key"), "{said}");
    assert!(said.contains("recovery code"), "{said}");
    let mut accepting = server.second_server(&data);
    accepting.env("SVC_ACCEPT_NEW_KEY", "1");
    let mut accepting = Process::spawn("accepting server", accepting);
    wait_for_address(&mut accepting).await;
    assert_eq!(accepting.terminate().await.code(), Some(0));
    server.start_again().await;

    let http = server.http();
    // A login that was pending before the restore cannot be completed.
    complete(&http, &token, &ann.next_code()).await.expect(401);
    let token = ann.pending().await;
    let refused = complete(&http, &token, &ann.next_code()).await.expect(409);
    assert_eq!(refused.code(), "second_factor_unreadable");
    let detail = refused.json();
    let detail = text(&detail["detail"]);
    assert!(detail.contains("recovery code"), "{detail}");
    complete(&http, &token, &ann.recovery_codes[0])
        .await
        .expect(200);
    // The app can be set up again. Its secret is then encrypted with the new key.
    Protected::new(ann.user).await;
}
