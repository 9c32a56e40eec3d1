//! What a token reaches (groups 7 to 9 of the attacks in docs/AUTH.md).

use serde_json::json;
use svc_testkit::TestServer;

use super::{Flow, field, fields_of, text};

#[tokio::test]
async fn a_token_reaches_what_the_user_agreed_to_and_nothing_else() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    for (scope, granted) in [
        ("", "mcp"),
        ("openid profile email offline_access", "mcp"),
        ("cli", "mcp"),
        ("mcp:tools", "mcp"),
        ("methods", "methods"),
        ("mcp methods", "methods mcp"),
    ] {
        let tokens = flow.connect(&[("scope", scope)]).await;
        assert_eq!(tokens["scope"], granted, "{scope}");
        let app = flow.user.with_token(text(&tokens, "access_token"));
        let (mcp, methods) = (granted.contains("mcp"), granted.contains("methods"));
        let pinged = flow.ping(&app.token).await;
        assert_eq!(pinged.status, if mcp { 200 } else { 403 }, "{scope}");
        let listed = app.get("/api/methods").await;
        assert_eq!(listed.status, if methods { 200 } else { 403 }, "{scope}");
        for path in [
            "/api/auth/me",
            "/api/tokens",
            "/api/oauth/grants",
            "/api/spaces",
            "/api/events",
        ] {
            app.get(path).await.expect(403);
        }
        app.post("/api/tokens", json!({"name": "x"}))
            .await
            .expect(403);
    }
    // A token in the query is ignored.
    let tokens = flow.connect(&[]).await;
    let path = format!("/mcp?access_token={}", text(&tokens, "access_token"));
    flow.http()
        .request("POST", &path, &[], "{}")
        .await
        .expect(401);
    // A refresh token and a code are not credentials.
    flow.ping(text(&tokens, "refresh_token")).await.expect(401);
    flow.ping(&flow.code(&[]).await).await.expect(401);
}

#[tokio::test]
async fn a_token_is_for_this_server() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let base = server.url();
    for resource in [
        format!("{base}/mcp"),
        format!("{base}/mcp/"),
        format!("{}/mcp", base.to_uppercase()),
        format!("{base}/mcp?tools=search"),
        base.to_owned(),
    ] {
        flow.ask(&[("resource", &resource)]).await;
    }
    for resource in [
        "https://other.example/mcp",
        "nonsense",
        &format!("{base}/other"),
    ] {
        let answer = flow.authorize(&[("resource", resource)]).await.expect(303);
        let told = fields_of(answer.header("location").unwrap());
        assert_eq!(field(&told, "error"), "invalid_target", "{resource}");
    }
    let mcp = format!("{base}/mcp");
    let two = [("resource", mcp.as_str()), ("resource", mcp.as_str())];
    let answer = flow.authorize(&two).await.expect(303);
    let told = fields_of(answer.header("location").unwrap());
    assert_eq!(field(&told, "error"), "invalid_target");
    // A token of another server is not known here.
    let other = TestServer::start().await;
    let foreign = Flow::new(&other, "ann").await.connect(&[]).await;
    flow.ping(text(&foreign, "access_token")).await.expect(401);
}
