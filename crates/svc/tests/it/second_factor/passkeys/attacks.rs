//! Wrong answers to challenges.

use serde_json::json;

use super::{Authenticator, Keyed, ask, begin, complete, named_server, send, text, with_token};

#[tokio::test]
async fn an_answer_is_valid_once() {
    let server = named_server().start().await;
    let mut ann = Keyed::new(server.user("ann").await).await;
    let http = server.http();
    let options = ask(&http, json!({})).await.expect(200).json();
    let answer = ann.key.get(&options);
    send(&http, answer.clone()).await.expect(200);
    let replayed = send(&http, answer).await.expect(409);
    assert_eq!(replayed.code(), "challenge_ended");
    // Refused too: a new answer to the used challenge, and a challenge that the server never made.
    let again = send(&http, ann.key.get(&options)).await.expect(409);
    assert_eq!(again.code(), "challenge_ended");
    let invented = ann.key.get(&json!({"challenge": "AAAAAAAAAAAAAAAAAAAAAA"}));
    let invented = send(&http, invented).await.expect(409);
    assert_eq!(invented.code(), "challenge_ended");
}

#[tokio::test]
async fn an_expired_challenge_is_refused() {
    let mut server = named_server().start().await;
    let mut ann = Keyed::new(server.user("ann").await).await;
    let options = ask(&server.http(), json!({})).await.expect(200).json();
    server
        .edit_database("UPDATE passkey_challenges SET expires_at = 1000")
        .await;
    server.start_again().await;
    let late = send(&server.http(), ann.key.get(&options)).await;
    assert_eq!(late.expect(409).code(), "challenge_ended");
}

#[tokio::test]
async fn an_answer_of_another_site_or_another_kind_is_refused() {
    let server = named_server().start().await;
    let mut ann = Keyed::new(server.user("ann").await).await;
    let http = server.http();
    for origin in [
        "https://evil.example",
        "https://svc.example:8443",
        "http://svc.example",
    ] {
        ann.key.origin = origin.to_owned();
        let refused = ann.sign_in().await.expect(403);
        assert_eq!(refused.code(), "passkey_refused");
        let detail = refused.json()["detail"].to_string();
        assert!(detail.contains(origin), "{detail}");
        let options = begin(&ann.user).await.expect(200).json();
        let mut other = Authenticator::new();
        other.origin = origin.to_owned();
        let added = ann
            .user
            .post("/api/auth/passkeys", other.create(&options, "x"));
        assert_eq!(added.await.expect(403).code(), "passkey_refused");
    }
    ann.key.origin = super::super::authenticator::ORIGIN.to_owned();
    ann.key.rp_id = "evil.example".to_owned();
    let refused = ann.sign_in().await.expect(403);
    assert_eq!(refused.code(), "passkey_refused");
    ann.key.rp_id = "svc.example".to_owned();
    // The answer to a setup is not accepted as a login.
    let options = ask(&http, json!({})).await.expect(200).json();
    let mut answer = ann.key.get(&options);
    answer["client_data"] = ann.key.create(&options, "x")["client_data"].clone();
    let refused = send(&http, answer).await.expect(403);
    assert_eq!(refused.code(), "passkey_refused");
    ann.sign_in().await.expect(200);
}

#[tokio::test]
async fn a_challenge_of_another_user_or_purpose_is_refused() {
    let server = named_server().start().await;
    let mut ann = Keyed::new(server.user("ann").await).await;
    let mut ben = Keyed::new(server.user("ben").await).await;
    let http = server.http();
    let token = super::super::pending(&ann.user).await;
    let options = ask(&http, json!({"token": token})).await.expect(200).json();
    // At Ann's login: Ben's passkey with Ann's challenge, and Ann's passkey with Ben's challenge.
    let refused = send(&http, with_token(ben.key.get(&options), &token)).await;
    assert_eq!(refused.expect(403).code(), "unknown_passkey");
    let of_ben = super::super::pending(&ben.user).await;
    let his = ask(&http, json!({"token": of_ben}))
        .await
        .expect(200)
        .json();
    let refused = send(&http, with_token(ann.key.get(&his), &token)).await;
    assert_eq!(refused.expect(409).code(), "challenge_ended");
    // A challenge for the second step is refused at a login without a password, and the reverse.
    let refused = send(&http, ann.key.get(&options)).await;
    assert_eq!(refused.expect(409).code(), "challenge_ended");
    let alone = ask(&http, json!({})).await.expect(200).json();
    let refused = send(&http, with_token(ann.key.get(&alone), &token)).await;
    assert_eq!(refused.expect(409).code(), "challenge_ended");
    // Ben cannot use the challenge of Ann's setup.
    let setup = begin(&ann.user).await.expect(200).json();
    let stolen = Authenticator::new().create(&setup, "x");
    let stolen = ben.user.post("/api/auth/passkeys", stolen).await;
    assert_eq!(stolen.expect(409).code(), "challenge_ended");
    // A passkey that names another user.
    let options = ask(&http, json!({})).await.expect(200).json();
    let mut answer = ben.key.get(&options);
    let handle = text(&begin(&ann.user).await.expect(200).json()["user_id"]).to_owned();
    answer["user_handle"] = json!(handle);
    let refused = send(&http, answer).await.expect(403);
    assert_eq!(refused.code(), "unknown_passkey");
}

#[tokio::test]
async fn a_counter_that_decreases_is_refused_and_audited() {
    let server = named_server().start().await;
    let mut ann = Keyed::new(server.user("ann").await).await;
    ann.key.counter = 10;
    ann.sign_in().await.expect(200);
    for counter in [10, 3] {
        // `get` increments the counter.
        ann.key.counter = counter;
        let refused = ann.sign_in().await.expect(403);
        assert_eq!(refused.code(), "passkey_cloned", "{counter}");
    }
    ann.key.counter = 11;
    ann.sign_in().await.expect(200);
    let actions = server.admin().await.audit_actions().await;
    let entry = (
        "ann".to_owned(),
        "second_factor.counter_went_back".to_owned(),
    );
    let count = actions.iter().filter(|action| **action == entry).count();
    assert_eq!(count, 2, "{actions:?}");
}

#[tokio::test]
async fn without_a_password_the_passkey_must_verify_its_user() {
    let server = named_server().start().await;
    let mut ann = Keyed::new(server.user("ann").await).await;
    ann.key.verifies_user = false;
    let refused = ann.sign_in().await.expect(403);
    assert_eq!(refused.code(), "passkey_refused");
    let detail = refused.json()["detail"].to_string();
    assert!(detail.contains("PIN"), "{detail}");
    // After the password, the passkey need not verify its user.
    let token = super::super::pending(&ann.user).await;
    let options = ask(&server.http(), json!({"token": token})).await;
    let answer = ann.key.get(&options.expect(200).json());
    let session = send(&server.http(), with_token(answer, &token)).await;
    session.expect(200);
}

#[tokio::test]
async fn a_wrong_signature_is_refused_and_counts_as_a_try() {
    let server = named_server().start().await;
    let mut ann = Keyed::new(server.user("ann").await).await;
    let http = server.http();
    // Another key with the same credential id.
    let mut forged = Authenticator::new();
    forged.credential_id.clone_from(&ann.key.credential_id);
    forged.counter = 50;
    let options = ask(&http, json!({})).await.expect(200).json();
    let refused = send(&http, forged.get(&options)).await.expect(403);
    assert_eq!(refused.code(), "passkey_refused");

    let token = super::super::pending(&ann.user).await;
    let options = ask(&http, json!({"token": token})).await.expect(200).json();
    for _ in 0..5 {
        let refused = send(&http, with_token(forged.get(&options), &token)).await;
        assert_eq!(refused.expect(403).code(), "passkey_refused");
    }
    let right = send(&http, with_token(ann.key.get(&options), &token)).await;
    assert_eq!(right.expect(401).code(), "login_ended");
    let code = text(&ann.recovery_codes[0]);
    complete(&http, &token, code).await.expect(401);
    for broken in [
        json!({"credential_id": "", "client_data": "", "authenticator_data": "", "signature": ""}),
        json!({"credential_id": "!", "client_data": "e30", "authenticator_data": "AA", "signature": "%"}),
    ] {
        let refused = send(&http, broken).await.expect(400);
        assert_eq!(refused.code(), "invalid_passkey");
    }
    let inactive = json!({"active": false});
    let path = format!("/api/users/{}", ann.user.id);
    server
        .admin()
        .await
        .patch(&path, inactive)
        .await
        .expect(200);
    let refused = ann.sign_in().await.expect(403);
    assert_eq!(refused.code(), "unknown_passkey");
}
