//! What ends the connection of an app (groups 19 and 20 of the attacks in docs/AUTH.md).

use serde_json::json;
use svc_testkit::TestServer;

use super::{CALLBACK, Flow, edit, text};
use crate::{SOON, mcp::streams::listen};

#[tokio::test]
async fn an_app_may_end_its_own_tokens() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let tokens = flow.connect(&[]).await;
    let (access, refresh) = (
        text(&tokens, "access_token"),
        text(&tokens, "refresh_token"),
    );
    for unknown in ["nonsense", "svc_oat_0123", &flow.user.token] {
        flow.revoke(unknown, &[]).await.expect(200);
    }
    flow.user.get("/api/methods").await.expect(200);
    flow.revoke(access, &[]).await.expect(200);
    flow.ping(access).await.expect(401);
    let renewed = flow.refresh(refresh, &[]).await.expect(200).json();
    let refresh = text(&renewed, "refresh_token");
    flow.revoke(refresh, &[]).await.expect(200);
    flow.ping(text(&renewed, "access_token")).await.expect(401);
    flow.refresh(refresh, &[]).await.expect(400);
    let grants = flow.user.get("/api/oauth/grants").await.expect(200).json();
    assert_eq!(grants["grants"], json!([]));
}

#[tokio::test]
async fn an_app_cannot_end_tokens_of_another_app() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let tokens = flow.connect(&[]).await;
    let other = Flow::new(&server, "ben").await;
    let refused = async |token: &str, fields: &[(&str, &str)], status, code| {
        let answer = flow.revoke(token, fields).await.expect(status);
        assert_eq!(answer.json()["error"], code, "{fields:?}");
    };
    for name in ["access_token", "refresh_token"] {
        let token = text(&tokens, name);
        let foreign = [("client_id", other.client_id.as_str())];
        refused(token, &foreign, 400, "invalid_grant").await;
        refused(token, &[("client_id", "")], 400, "invalid_request").await;
        refused(token, &[("client_id", "nobody")], 401, "invalid_client").await;
    }
    refused(
        "nonsense",
        &[("client_id", "nobody")],
        401,
        "invalid_client",
    )
    .await;
    flow.ping(text(&tokens, "access_token")).await.expect(200);
    flow.refresh(text(&tokens, "refresh_token"), &[])
        .await
        .expect(200);
}

#[tokio::test]
async fn a_confidential_app_needs_its_secret_to_end_tokens() {
    let server = TestServer::start().await;
    let new = json!({"name": "Dashboard", "redirect_uris": [CALLBACK], "confidential": true});
    let app = server.admin().await.post("/api/oauth/clients", new).await;
    let app = app.expect(201).json();
    let secret = [("client_secret", text(&app, "secret"))];
    let mut flow = Flow::new(&server, "ann").await;
    flow.client_id = text(&app, "client_id").to_owned();
    let code = flow.code(&[]).await;
    let tokens = flow.exchange(&code, &secret).await.expect(200).json();
    let (access, refresh) = (
        text(&tokens, "access_token"),
        text(&tokens, "refresh_token"),
    );
    for fields in [&[][..], &[("client_secret", "wrong")]] {
        for token in [access, refresh] {
            let answer = flow.revoke(token, fields).await.expect(401);
            assert_eq!(answer.json()["error"], "invalid_client");
        }
    }
    flow.ping(access).await.expect(200);
    flow.revoke(refresh, &secret).await.expect(200);
    flow.ping(access).await.expect(401);
}

#[tokio::test]
async fn a_user_who_loses_the_permission_or_the_account_loses_the_apps() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let flow = Flow::new(&server, "ann").await;
    let tokens = flow.connect(&[]).await;
    let (access, refresh) = (
        text(&tokens, "access_token"),
        text(&tokens, "refresh_token"),
    );
    let code = flow.code(&[]).await;
    let me = flow.user.get("/api/auth/me").await.expect(200).json();
    let path = format!("/api/users/{}", text(&me, "id"));
    // A missing permission gets 403 without a challenge: another login would not help.
    server.role("caller", &["use_methods"]).await;
    admin
        .patch(&path, json!({"roles": ["caller"]}))
        .await
        .expect(200);
    let denied = flow.ping(access).await.expect(403);
    assert_eq!(denied.code(), "permission_denied");
    assert_eq!(denied.header("www-authenticate"), None);
    admin
        .patch(&path, json!({"roles": ["user"]}))
        .await
        .expect(200);
    flow.ping(access).await.expect(200);
    admin
        .patch(&path, json!({"active": false}))
        .await
        .expect(200);
    flow.ping(access).await.expect(401);
    for answer in [
        flow.refresh(refresh, &[]).await,
        flow.exchange(&code, &[]).await,
    ] {
        let answer = answer.expect(400);
        assert_eq!(answer.json()["error"], "invalid_grant");
        assert!(answer.text().contains("not active"), "{}", answer.text());
    }
    // The refresh token is still valid after the failed attempts.
    admin
        .patch(&path, json!({"active": true}))
        .await
        .expect(200);
    flow.refresh(refresh, &[]).await.expect(200);
    admin.delete(&path).await.expect(204);
    flow.ping(access).await.expect(401);
    flow.refresh(refresh, &[]).await.expect(400);
}

#[tokio::test]
async fn a_new_password_keeps_apps_and_an_ended_session_answers_no_question() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let tokens = flow.connect(&[]).await;
    let request = flow.ask(&[]).await;
    let elsewhere = Flow {
        cookie: flow.user.login().await,
        client_id: flow.client_id.clone(),
        user: flow.user.clone(),
    };
    let change = json!({"current_password": flow.user.password, "new_password": "a new password"});
    let changed = elsewhere.page("POST", "/api/auth/password", change).await;
    assert!(changed.status < 300, "{}", changed.text());
    flow.decide(&request, true).await.expect(401);
    // The session that was asked has ended, so the user may answer in another one.
    elsewhere.decide(&request, true).await.expect(200);
    flow.ping(text(&tokens, "access_token")).await.expect(200);
}

#[tokio::test]
async fn open_streams_of_an_app_end_with_its_connection() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let tokens = flow.connect(&[]).await;
    let app = flow.user.with_token(text(&tokens, "access_token"));
    let mut stream = listen(&app, "/mcp").await;
    let grants = flow.user.get("/api/oauth/grants").await.expect(200).json();
    let path = format!("/api/oauth/grants/{}", text(&grants["grants"][0], "id"));
    flow.user.delete(&path).await.expect(204);
    let last = stream.next(SOON).await.expect("the end is announced");
    assert!(last.data.contains("complete"), "{}", last.data);
    assert_eq!(stream.next(SOON).await, None);
}

#[tokio::test]
async fn a_manager_of_users_ends_only_connections_of_users_with_fewer_permissions() {
    let server = TestServer::start().await;
    server.role("manager", &["manage_users"]).await;
    let manager = server.user_with("mia", &["manager"], &[]).await;
    let flow = Flow::of(&server, server.admin().await).await;
    let tokens = flow.connect(&[]).await;
    let grants = flow.user.get("/api/oauth/grants").await.expect(200).json();
    let path = format!("/api/oauth/grants/{}", text(&grants["grants"][0], "id"));
    let refused = manager.delete(&path).await.expect(403);
    assert_eq!(refused.code(), "exceeds_own_power");
    flow.ping(text(&tokens, "access_token")).await.expect(200);
}

#[tokio::test]
async fn administrators_see_and_end_the_connections_of_others() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let flow = Flow::new(&server, "ann").await;
    let tokens = flow.connect(&[]).await;
    let me = flow.user.get("/api/auth/me").await.expect(200).json();
    let path = format!("/api/oauth/grants?user={}", text(&me, "id"));
    server.user("ben").await.get(&path).await.expect(403);
    let grants = admin.get(&path).await.expect(200).json();
    let grant = text(&grants["grants"][0], "id").to_owned();
    admin
        .delete(&format!("/api/oauth/grants/{grant}"))
        .await
        .expect(204);
    flow.ping(text(&tokens, "access_token")).await.expect(401);
}

#[tokio::test]
async fn a_new_connection_beyond_a_hundred_replaces_the_oldest() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let first = flow.connect(&[]).await;
    edit(
        &mut server,
        "UPDATE oauth_grants SET created_at = 1, last_used_at = 1;
             WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
             INSERT INTO oauth_grants SELECT printf('01890a5d-ac96-774b-bcce-%012d', i), user_id,
                 client_id, scopes, resource, redirect_host, created_at, 2, expires_at
             FROM oauth_grants, n",
    )
    .await;
    let second = flow.connect(&[]).await;
    flow.ping(text(&first, "access_token")).await.expect(401);
    flow.ping(text(&second, "access_token")).await.expect(200);
    let page = flow
        .user
        .get("/api/oauth/grants?limit=1000")
        .await
        .expect(200)
        .json();
    assert_eq!(page["grants"].as_array().unwrap().len(), 100);
    let page = flow
        .user
        .get("/api/oauth/grants?limit=10")
        .await
        .expect(200)
        .json();
    assert!(page["next_cursor"].is_string());
}
