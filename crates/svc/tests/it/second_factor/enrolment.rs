//! Setting up, changing and removing an authenticator app.

use serde_json::json;
use svc_core::totp::code_of;
use svc_testkit::TestServer;

use super::{
    Protected,
    authenticator::{Authenticator, encode},
    begin, confirm, current_step, log_in, text,
};

#[tokio::test]
async fn an_app_is_used_only_after_its_first_code() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let refused = ann
        .post("/api/auth/totp", json!({"password": "wrong password"}))
        .await;
    assert_eq!(refused.expect(403).code(), "wrong_password");
    let refused = confirm(&ann, "123456").await.expect(409);
    assert_eq!(refused.code(), "no_enrolment");

    let shown = ann
        .post("/api/auth/totp", json!({"password": ann.password}))
        .await
        .expect(200)
        .json();
    let (secret, uri) = (text(&shown["secret"]), text(&shown["uri"]));
    assert!(uri.starts_with("otpauth://totp/svc:ann?secret="), "{uri}");
    assert!(uri.contains(secret), "{uri}");
    let svg = text(&shown["qr_svg"]);
    assert!(svg.contains("<svg") && !svg.contains(secret), "{svg}");
    let secret = super::decode_base32(secret);
    assert_eq!(secret.len(), 20);

    // After a crash between the two steps of the setup, the login is unchanged, and the setup can
    // continue.
    server.kill9();
    server.start_again().await;
    ann.login().await;
    let far_off = code_of(&secret, current_step() - 10);
    let refused = confirm(&ann, &far_off).await.expect(403);
    assert_eq!(refused.code(), "wrong_code");
    confirm(&ann, &code_of(&secret, current_step()))
        .await
        .expect(200);
    // A crash right after the second step loses nothing.
    server.kill9();
    server.start_again().await;
    super::pending(&ann).await;
    let state = ann.get("/api/auth/second-factor").await.expect(200).json();
    assert_eq!(state["recovery_codes_left"], 10);
    assert!(state["totp_since"].is_string(), "{state}");
    let admin = server.admin().await;
    let user = admin.get(&format!("/api/users/{}", ann.id)).await;
    assert_eq!(user.expect(200).json()["second_factor"], true);
    let refused = confirm(&ann, &code_of(&secret, current_step())).await;
    assert_eq!(refused.expect(409).code(), "no_enrolment", "used up");
}

#[tokio::test]
async fn a_stolen_session_cannot_change_how_a_user_signs_in() {
    let server = TestServer::builder().config("public_url = \"https://svc.example\"");
    let server = server.start().await;
    let ann = server.user("ann").await;
    let cookie = ann.login().await;
    let ann = Protected::new(ann).await;
    let stolen = [("cookie", cookie.as_str())];
    let guess = json!({"password": "a guess of the thief"});
    for path in [
        "/api/auth/totp",
        "/api/auth/totp/remove",
        "/api/auth/recovery-codes",
        "/api/auth/passkeys/begin",
    ] {
        for (proof, status) in [(json!({}), 400), (guess.clone(), 403)] {
            let http = ann.user.http();
            super::post(&http, path, &stolen, proof)
                .await
                .expect(status);
        }
    }
    let change = json!({"current_password": "a guess", "new_password": "known to the thief"});
    let http = ann.user.http();
    let refused = super::post(&http, "/api/auth/password", &stolen, change).await;
    assert_eq!(refused.expect(403).code(), "wrong_password");
    // The setups above were refused, so the thief has no setup to complete.
    let code = json!({"code": ann.next_code()});
    let refused = super::post(&http, "/api/auth/totp/confirm", &stolen, code).await;
    assert_eq!(refused.expect(409).code(), "no_enrolment");
    let invented = json!({"challenge": encode(&[7; 32])});
    let passkey = Authenticator::new().create(&invented, "Thief");
    let refused = super::post(&http, "/api/auth/passkeys", &stolen, passkey).await;
    assert_eq!(refused.expect(409).code(), "challenge_ended");
    let token = ann.pending().await;
    ann.try_code(&token, &ann.next_code()).await.expect(200);
}

#[tokio::test]
async fn a_new_password_ends_a_setup_that_began_with_the_old_one() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let admin = server.admin().await;
    for by_admin in [false, true] {
        let secret = begin(&ann).await;
        let (old, new) = (&ann.password, &ann.password);
        if by_admin {
            let user = format!("/api/users/{}", ann.id);
            admin
                .patch(&user, json!({ "password": new }))
                .await
                .expect(200);
        } else {
            let body = json!({"current_password": old, "new_password": new});
            ann.post("/api/auth/password", body).await.expect(204);
        }
        let refused = confirm(&ann, &code_of(&secret, current_step())).await;
        assert_eq!(refused.expect(409).code(), "no_enrolment", "{by_admin}");
    }
}

#[tokio::test]
async fn an_abandoned_setup_expires() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let secret = begin(&ann).await;
    server
        .edit_database("UPDATE totp_enrolments SET expires_at = 1000")
        .await;
    server.start_again().await;
    let refused = confirm(&ann, &code_of(&secret, current_step())).await;
    assert_eq!(refused.expect(409).code(), "no_enrolment");
    ann.login().await;
}

#[tokio::test]
async fn a_new_app_replaces_the_old_one_with_its_first_code() {
    let server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let new = begin(&ann.user).await;
    let token = ann.pending().await;
    ann.try_code(&token, &ann.next_code()).await.expect(200);

    let token = ann.pending().await;
    let codes = confirm(&ann.user, &code_of(&new, current_step())).await;
    let codes = codes.expect(200).json();
    // The change ends logins that wait for a code of the old app.
    ann.try_code(&token, &ann.recovery_codes[0])
        .await
        .expect(401);
    let token = ann.pending().await;
    ann.try_code(&token, &ann.recovery_codes[0])
        .await
        .expect(403);
    let code = text(&codes["recovery_codes"][0]);
    ann.try_code(&token, code).await.expect(200);
}

#[tokio::test]
async fn the_password_removes_the_app_and_renews_recovery_codes() {
    let server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let (wrong, right) = (
        json!({"password": "wrong password"}),
        json!({"password": ann.user.password}),
    );
    for path in ["/api/auth/totp/remove", "/api/auth/recovery-codes"] {
        let refused = ann.user.post(path, &wrong).await.expect(403);
        assert_eq!(refused.code(), "wrong_password");
    }
    let renewed = ann.user.post("/api/auth/recovery-codes", &right).await;
    let renewed = renewed.expect(200).json();
    let token = ann.pending().await;
    ann.try_code(&token, &ann.recovery_codes[0])
        .await
        .expect(403);
    ann.try_code(&token, text(&renewed["recovery_codes"][9]))
        .await
        .expect(200);

    ann.user
        .post("/api/auth/totp/remove", &right)
        .await
        .expect(204);
    ann.user.login().await;
    for path in ["/api/auth/totp/remove", "/api/auth/recovery-codes"] {
        let refused = ann.user.post(path, &right).await.expect(409);
        assert_eq!(refused.code(), "no_second_factor");
    }
    let state = ann.user.get("/api/auth/second-factor").await.expect(200);
    assert_eq!(state.json()["recovery_codes_left"], 0);
    let actions = server.admin().await.audit_actions().await;
    for action in [
        "second_factor.added",
        "second_factor.recovery_codes_renewed",
        "second_factor.recovery_code_used",
        "second_factor.removed",
    ] {
        let entry = ("ann".to_owned(), action.to_owned());
        assert!(actions.contains(&entry), "{action}: {actions:?}");
    }
}

#[tokio::test]
async fn a_user_with_fewer_permissions_cannot_reset_the_second_factor_of_another() {
    let server = TestServer::start().await;
    server.role("helpdesk", &["manage_users"]).await;
    let helper = server.user_with("helper", &["helpdesk"], &[]).await;
    let ann = Protected::new(server.user_with("ann", &["helpdesk"], &[]).await).await;
    let boss = Protected::new(server.user_with("boss", &["admin"], &[]).await).await;
    let path = |user: &Protected| format!("/api/users/{}/second-factor", user.user.id);
    let refused = helper.delete(&path(&boss)).await.expect(403);
    assert_eq!(refused.code(), "exceeds_own_power");
    boss.pending().await;
    let own = ann.user.delete(&path(&ann)).await.expect(409);
    assert_eq!(own.code(), "own_account");
    let nobody = server.user("nobody").await;
    nobody.delete(&path(&ann)).await.expect(403);

    let token = ann.pending().await;
    helper.delete(&path(&ann)).await.expect(204);
    ann.try_code(&token, &ann.next_code()).await.expect(401);
    let login = log_in(&server.http(), &ann.user).await.expect(200);
    assert_eq!(login.json()["username"], "ann");
    let actions = server.admin().await.audit_actions().await;
    let entry = ("helper".to_owned(), "second_factor.reset".to_owned());
    assert!(actions.contains(&entry), "{actions:?}");
}
