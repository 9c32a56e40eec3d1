//! The user's answer to the consent question (groups 14, 16 and 19 of the attacks in docs/AUTH.md).

use serde_json::json;
use svc_testkit::TestServer;

use super::{Flow, edit, field, fields_of, text};

#[tokio::test]
async fn only_the_browser_that_was_asked_can_answer_and_only_once() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let request = flow.ask(&[]).await;
    let path = format!("/api/oauth/requests/{request}");
    // Refused: another session of the same user, another user, and a token.
    let mut other = Flow::of(&server, flow.user.clone()).await;
    other.page("GET", &path, json!({})).await.expect(404);
    other
        .page("POST", &path, json!({"approve": true}))
        .await
        .expect(404);
    let mallory = Flow::new(&server, "mallory").await;
    mallory
        .page("POST", &path, json!({"approve": true}))
        .await
        .expect(404);
    let by_token = flow
        .user
        .post(&path, json!({"approve": true}))
        .await
        .expect(403);
    assert_eq!(by_token.code(), "session_required");
    // A page of another site is refused.
    let headers = [
        ("cookie", flow.cookie.as_str()),
        ("content-type", "application/json"),
        ("origin", "https://evil.test"),
        ("sec-fetch-site", "cross-site"),
    ];
    let body = json!({"approve": true}).to_string();
    let foreign = flow.http().request("POST", &path, &headers, body).await;
    assert_eq!(foreign.expect(403).code(), "foreign_origin");
    flow.decide(&request, true).await.expect(200);
    flow.page("POST", &path, json!({"approve": true}))
        .await
        .expect(404);
    flow.page("GET", &path, json!({})).await.expect(404);
    // A question that is asked without a session belongs to the first session that reads it.
    let cookie = std::mem::take(&mut other.cookie);
    let request = other.ask(&[]).await;
    other.cookie = cookie;
    let path = format!("/api/oauth/requests/{request}");
    other.page("GET", &path, json!({})).await.expect(200);
    flow.page("POST", &path, json!({"approve": true}))
        .await
        .expect(404);
    // After the logout, the next session that reads the question may answer it.
    other
        .page("POST", "/api/auth/logout", json!({}))
        .await
        .expect(204);
    other
        .page("POST", &path, json!({"approve": true}))
        .await
        .expect(401);
    flow.decide(&request, false).await.expect(200);
}

#[tokio::test]
async fn two_tabs_of_a_browser_are_asked_and_answered_separately() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let first = flow.ask(&[("state", "first"), ("scope", "methods")]).await;
    let second = flow.ask(&[("state", "second")]).await;
    for (request, state, scope) in [(second, "second", "mcp"), (first, "first", "methods")] {
        let decided = flow.decide(&request, true).await.expect(200).json();
        let told = fields_of(text(&decided, "redirect_to"));
        assert_eq!(field(&told, "state"), state);
        let tokens = flow.exchange(&field(&told, "code"), &[]).await;
        assert_eq!(tokens.expect(200).json()["scope"], scope);
    }
}

#[tokio::test]
async fn no_other_site_can_show_the_question_in_a_frame() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let request = flow.ask(&[]).await;
    let path = format!("/connect?request={request}");
    let headers = [("cookie", flow.cookie.as_str()), ("accept", "text/html")];
    let page = flow.http().request("GET", &path, &headers, "").await;
    let page = page.expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
}

#[tokio::test]
async fn a_denial_is_sent_to_the_app_and_an_expired_question_cannot_be_answered() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let request = flow.ask(&[]).await;
    let denied = flow.decide(&request, false).await.expect(200).json();
    let told = fields_of(text(&denied, "redirect_to"));
    assert_eq!(field(&told, "error"), "access_denied");
    assert_eq!(field(&told, "state"), "st/ate");
    assert_eq!(field(&told, "iss"), server.url());
    let request = flow.ask(&[]).await;
    edit(&mut server, "UPDATE oauth_consents SET expires_at = 1").await;
    flow.decide(&request, true).await.expect(404);
    flow.page("GET", "/api/oauth/requests/nonsense", json!({}))
        .await
        .expect(404);
}

#[tokio::test]
async fn a_user_without_the_permission_sees_the_reason_and_cannot_agree() {
    let server = TestServer::start().await;
    server.role("caller", &["use_methods"]).await;
    let ben = server.user_with("ben", &["caller"], &[]).await;
    let flow = Flow::of(&server, ben).await;
    let request = flow.ask(&[]).await;
    let path = format!("/api/oauth/requests/{request}");
    let shown = flow.page("GET", &path, json!({})).await.expect(200).json();
    assert_eq!(shown["missing_permission"], "use_mcp");
    let refused = flow.page("POST", &path, json!({"approve": true})).await;
    assert_eq!(refused.expect(403).code(), "permission_denied");
    // The question is still open: the user can decline.
    flow.decide(&request, false).await.expect(200);
}
