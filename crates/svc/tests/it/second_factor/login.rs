//! Logins in two steps (group 25 of the attacks in docs/AUTH.md).

use serde_json::json;
use svc_core::totp::code_of;
use svc_testkit::TestServer;

use super::{Protected, complete, cookie_of, get_with_cookie, text};

#[tokio::test]
async fn a_login_needs_the_password_and_then_a_code_that_was_not_used() {
    let server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let token = ann.pending().await;
    let used = code_of(&ann.secret, ann.step);
    let refused = ann.try_code(&token, &used).await.expect(403);
    assert_eq!(
        refused.code(),
        "wrong_code",
        "the code of the setup is used up"
    );
    let code = ann.next_code();
    let session = ann.try_code(&token, &code).await.expect(200);
    assert_eq!(session.json()["username"], "ann");
    let me = get_with_cookie(&server.http(), "/api/auth/me", &cookie_of(&session)).await;
    assert_eq!(me.expect(200).json()["credential"], "session");

    // Refused: the completed login, the used code, and a code of an earlier step.
    let again = ann.try_code(&token, &code).await.expect(401);
    assert_eq!(again.code(), "login_ended");
    let token = ann.pending().await;
    for code in [code, used] {
        ann.try_code(&token, &code).await.expect(403);
    }
    let actions = server.admin().await.audit_actions().await;
    let failed = ("ann".to_owned(), "second_factor.failed".to_owned());
    assert_eq!(actions.iter().filter(|entry| **entry == failed).count(), 3);
}

/// The tests of `svc_core::totp` check differences of 31 and 61 s.
#[tokio::test]
async fn a_clock_that_is_a_step_ahead_is_accepted_and_one_that_is_far_off_is_not() {
    let server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let token = ann.pending().await;
    let accepted = [ann.step, ann.step + 1, ann.step + 2].map(|step| code_of(&ann.secret, step));
    for off in [-20, -2, 4, 20] {
        let code = code_of(&ann.secret, ann.step + off);
        if !accepted.contains(&code) {
            ann.try_code(&token, &code).await.expect(403);
        }
    }
    ann.try_code(&token, &ann.next_code()).await.expect(200);
}

#[tokio::test]
async fn a_pending_login_opens_nothing() {
    let server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let (http, token) = (server.http(), ann.pending().await);
    let bearer = format!("Bearer {token}");
    for path in ["/api/auth/me", "/api/methods", "/api/auth/second-factor"] {
        let headers = [("authorization", bearer.as_str())];
        http.request("GET", path, &headers, "").await.expect(401);
        for name in ["svc_session", "__Host-svc_session"] {
            let cookie = format!("{name}={token}");
            get_with_cookie(&http, path, &cookie).await.expect(401);
        }
        let query = format!("{path}?token={token}");
        http.request("GET", &query, &[], "").await.expect(401);
    }
    let state = get_with_cookie(&http, "/api/auth/state", &format!("svc_session={token}")).await;
    assert_eq!(state.expect(200).json()["me"], json!(null));
    // Other credentials do not complete a login.
    for other in [ann.user.token.as_str(), "", "svc_lgn_0"] {
        let refused = complete(&http, other, &ann.next_code()).await.expect(401);
        assert_eq!(refused.code(), "login_ended");
    }
}

#[tokio::test]
async fn a_login_allows_five_codes_and_malformed_texts_do_not_count() {
    let server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let token = ann.pending().await;
    for malformed in ["", "12345", "not a code", &"1".repeat(5_000)] {
        let refused = ann.try_code(&token, malformed).await.expect(400);
        assert_eq!(refused.code(), "invalid_code", "{malformed}");
    }
    for _ in 0..5 {
        ann.try_code(&token, &ann.wrong_code()).await.expect(403);
    }
    let right = ann.try_code(&token, &ann.next_code()).await.expect(401);
    assert_eq!(right.code(), "login_ended");
    let token = ann.pending().await;
    ann.try_code(&token, &ann.next_code()).await.expect(200);
}

#[tokio::test]
async fn wrong_codes_slow_logins_down_like_wrong_passwords() {
    let server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let mut waits = 0;
    for _ in 0..4 {
        let login = super::log_in(&server.http(), &ann.user).await;
        if login.status == 429 {
            waits += 1;
            break;
        }
        let token = text(&login.json()["second_factor"]["token"]).to_owned();
        for _ in 0..5 {
            let answer = ann.try_code(&token, &ann.wrong_code()).await;
            waits += usize::from(answer.status == 429);
        }
    }
    assert!(waits > 0, "a client can try codes without a limit");
}

#[tokio::test]
async fn a_recovery_code_works_once_in_upper_or_lower_case_and_without_hyphens() {
    let server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    assert_eq!(ann.recovery_codes.len(), 10);
    let code = &ann.recovery_codes[3];
    let typed = code.to_lowercase().replace('-', " ");
    let token = ann.pending().await;
    ann.try_code(&token, &typed).await.expect(200);
    let token = ann.pending().await;
    let again = ann.try_code(&token, code).await.expect(403);
    assert_eq!(again.code(), "wrong_code");
    let left = ann.user.get("/api/auth/second-factor").await.expect(200);
    assert_eq!(left.json()["recovery_codes_left"], 9);
    // A code of another user is refused.
    let bob = Protected::new(server.user("bob").await).await;
    let refused = ann.try_code(&token, &bob.recovery_codes[0]).await;
    refused.expect(403);
    ann.try_code(&token, &ann.recovery_codes[4])
        .await
        .expect(200);
}

#[tokio::test]
async fn a_new_password_a_deactivation_and_five_minutes_end_a_pending_login() {
    let mut server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    let admin = server.admin().await;
    let path = format!("/api/users/{}", ann.user.id);
    let ended = async |token: &str| {
        let refused = ann.try_code(token, &ann.next_code()).await.expect(401);
        assert_eq!(refused.code(), "login_ended");
    };
    let token = ann.pending().await;
    admin
        .patch(&path, json!({"active": false}))
        .await
        .expect(200);
    ended(&token).await;
    admin
        .patch(&path, json!({"active": true}))
        .await
        .expect(200);
    let body = json!({"current_password": ann.user.password, "new_password": "another password"});
    ann.user.post("/api/auth/password", body).await.expect(204);
    ended(&token).await;
    let mut ann = ann;
    ann.user.password = "another password".to_owned();
    let token = ann.pending().await;
    server
        .edit_database("UPDATE pending_logins SET expires_at = 1000")
        .await;
    server.start_again().await;
    let refused = ann.try_code(&token, &ann.next_code()).await.expect(401);
    assert_eq!(refused.code(), "login_ended");
}

#[tokio::test]
async fn after_a_hundred_wrong_codes_in_a_row_only_recovery_codes_are_accepted() {
    let mut server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    server
        .edit_database("UPDATE totp SET wrong_codes = 99")
        .await;
    server.start_again().await;
    let token = ann.pending().await;
    ann.try_code(&token, &ann.wrong_code()).await.expect(403);
    let locked = ann.try_code(&token, &ann.next_code()).await.expect(409);
    assert_eq!(locked.code(), "second_factor_locked");
    ann.try_code(&token, &ann.recovery_codes[0])
        .await
        .expect(200);
}

#[tokio::test]
async fn a_user_has_a_bounded_number_of_pending_logins_and_the_oldest_ends() {
    let server = TestServer::builder()
        .config("login_limit = 1000")
        .start()
        .await;
    let ann = Protected::new(server.user("ann").await).await;
    let first = ann.pending().await;
    for _ in 0..20 {
        ann.pending().await;
    }
    let refused = ann.try_code(&first, &ann.next_code()).await.expect(401);
    assert_eq!(refused.code(), "login_ended");
}

#[tokio::test]
async fn tokens_are_not_asked_for_a_second_factor() {
    let server = TestServer::start().await;
    let ann = Protected::new(server.user("ann").await).await;
    ann.user.get("/api/methods").await.expect(200);
    let token = ann.user.new_token(&["methods"]).await;
    let app = ann.user.with_token(text(&token["token"]));
    app.get("/api/methods").await.expect(200);
}
