//! Roles that require a second factor.

use serde_json::{Value, json};
use svc_core::totp::code_of;
use svc_testkit::{Answer, TestServer, TestUser};

use super::{Protected, cookie_of, current_step, decode_base32, log_in, post, text};

/// A user whose role requires a second factor.
async fn guarded(server: &TestServer, name: &str) -> TestUser {
    let admin = server.admin().await;
    // The user is created before the role requires a second factor, so that the test gets a token.
    let role = server.role(name, &["use_methods", "use_spaces"]).await;
    let user = server.user_with(name, &[name], &[]).await;
    let path = format!("/api/roles/{}", text(&role["id"]));
    let body = json!({"require_second_factor": true});
    let patched = admin.patch(&path, body).await.expect(200).json();
    assert_eq!(patched["require_second_factor"], true);
    user
}

/// A request of a browser.
async fn send(user: &TestUser, cookie: &str, method: &str, path: &str, body: Value) -> Answer {
    let headers = [("cookie", cookie), ("content-type", "application/json")];
    let body = match method {
        "GET" => String::new(),
        _ => body.to_string(),
    };
    user.http().request(method, path, &headers, body).await
}

#[tokio::test]
async fn a_user_without_the_required_factor_may_only_set_one_up() {
    let server = TestServer::start().await;
    let ann = guarded(&server, "ann").await;
    let cookie = cookie_of(&log_in(&server.http(), &ann).await.expect(200));
    let other = cookie_of(&log_in(&server.http(), &ann).await.expect(200));
    let me = send(&ann, &cookie, "GET", "/api/auth/me", json!({})).await;
    assert_eq!(me.expect(200).json()["credential"], "enrolment");
    for (method, path) in [
        ("GET", "/api/methods"),
        ("GET", "/api/spaces"),
        ("GET", "/api/nowhere"),
        ("GET", "/api/auth/sessions"),
        ("POST", "/api/tokens"),
        ("POST", "/api/auth/password"),
        ("POST", "/api/methods/call"),
        ("POST", "/mcp"),
        ("DELETE", "/api/auth/sessions"),
        ("POST", "/api/oauth/devices/BCDFGHJK"),
    ] {
        let refused = send(&ann, &cookie, method, path, json!({"name": "x"})).await;
        let refused = refused.expect(403);
        assert_eq!(refused.code(), "second_factor_required", "{method} {path}");
    }
    // Another site cannot use the session either.
    let headers = [
        ("cookie", cookie.as_str()),
        ("origin", "https://elsewhere.example"),
    ];
    let body = json!({"password": ann.password});
    let foreign = post(&server.http(), "/api/auth/totp", &headers, body.clone()).await;
    assert_eq!(foreign.expect(403).code(), "foreign_origin");

    let shown = send(&ann, &cookie, "POST", "/api/auth/totp", body).await;
    let secret = decode_base32(text(&shown.expect(200).json()["secret"]));
    let code = json!({"code": code_of(&secret, current_step())});
    let confirmed = send(&ann, &cookie, "POST", "/api/auth/totp/confirm", code).await;
    confirmed.expect(200);
    let methods = send(&ann, &cookie, "GET", "/api/methods", json!({})).await;
    methods.expect(200);
    let ended = send(&ann, &other, "GET", "/api/auth/me", json!({})).await;
    ended.expect(401);
}

#[tokio::test]
async fn the_last_required_factor_stays_and_a_reset_leads_to_a_new_setup() {
    let server = TestServer::start().await;
    let ann = Protected::new(guarded(&server, "ann").await).await;
    let body = json!({"password": ann.user.password});
    let refused = ann.user.post("/api/auth/totp/remove", body).await;
    assert_eq!(refused.expect(409).code(), "last_second_factor");
    let token = ann.pending().await;
    let session = ann.try_code(&token, &ann.next_code()).await.expect(200);
    let cookie = cookie_of(&session);
    let methods = send(&ann.user, &cookie, "GET", "/api/methods", json!({})).await;
    methods.expect(200);

    let path = format!("/api/users/{}/second-factor", ann.user.id);
    server.admin().await.delete(&path).await.expect(204);
    let login = log_in(&server.http(), &ann.user).await.expect(200);
    let cookie = cookie_of(&login);
    let methods = send(&ann.user, &cookie, "GET", "/api/methods", json!({})).await;
    methods.expect(403);
    let state = send(
        &ann.user,
        &cookie,
        "GET",
        "/api/auth/second-factor",
        json!({}),
    )
    .await;
    assert_eq!(state.expect(200).json()["required"], true);
}

#[tokio::test]
async fn built_in_roles_can_require_a_second_factor_and_have_no_other_change() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let roles = admin.list("/api/roles", "roles").await;
    let role = roles.iter().find(|role| role["name"] == "admin").unwrap();
    assert_eq!(role["require_second_factor"], false);
    let path = format!("/api/roles/{}", text(&role["id"]));
    for refused in [
        json!({"require_second_factor": true, "name": "boss"}),
        json!({"require_second_factor": true, "permissions": []}),
        json!({}),
    ] {
        let refused = admin.patch(&path, refused).await.expect(409);
        assert_eq!(refused.code(), "builtin_role");
    }
    let body = json!({"require_second_factor": true});
    let changed = admin.patch(&path, body).await.expect(200).json();
    assert_eq!(changed["permissions"], role["permissions"]);
    // Existing sessions and tokens stay valid. The next login must set up a factor.
    admin.get("/api/users").await.expect(200);
    let cookie = cookie_of(&log_in(&server.http(), &admin).await.expect(200));
    let users = send(&admin, &cookie, "GET", "/api/users", json!({})).await;
    assert_eq!(users.expect(403).code(), "second_factor_required");
    let body = json!({"require_second_factor": false});
    admin.patch(&path, body).await.expect(200);
    let cookie = cookie_of(&log_in(&server.http(), &admin).await.expect(200));
    let users = send(&admin, &cookie, "GET", "/api/users", json!({})).await;
    users.expect(200);
}

#[tokio::test]
async fn a_role_can_be_made_with_the_requirement() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let body = json!({"name": "strict", "require_second_factor": true});
    let role = admin.post("/api/roles", body).await.expect(201).json();
    assert_eq!(role["require_second_factor"], true);
    let user = json!({"username": "ann", "password": "password of ann", "roles": ["strict"]});
    admin.post("/api/users", user).await.expect(201);
    let login = server.try_login("ann", "password of ann").await.expect(200);
    let me = super::get_with_cookie(&server.http(), "/api/auth/me", &cookie_of(&login)).await;
    assert_eq!(me.expect(200).json()["credential"], "enrolment");
}
