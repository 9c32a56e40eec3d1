//! The whole flow of an app that has only the address of `/mcp`: it connects, renews its token and
//! is disconnected.

use serde_json::json;
use svc_testkit::TestServer;

use super::{CALLBACK, Flow, field, text};

#[tokio::test]
async fn an_app_connects_by_address_renews_its_token_and_is_disconnected() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    // The refusal names the document from which the app finds the endpoints.
    let refused = flow
        .http()
        .request("POST", "/mcp", &[], "{}")
        .await
        .expect(401);
    let challenge = refused.header("www-authenticate").unwrap();
    let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", server.url());
    assert_eq!(
        challenge,
        format!(r#"Bearer realm="svc", resource_metadata="{metadata}", scope="mcp""#)
    );

    let request = flow.ask(&[]).await;
    let path = format!("/api/oauth/requests/{request}");
    let shown = flow.page("GET", &path, json!({})).await.expect(200).json();
    assert_eq!(shown["app"]["name"], "Probe");
    assert_eq!(shown["app"]["kind"], "registered");
    assert_eq!(shown["redirect_host"], "127.0.0.1");
    assert_eq!(shown["redirect_is_local"], true);
    assert_eq!(shown["scopes"], json!(["mcp"]));
    assert_eq!(shown["missing_permission"], json!(null));
    let decided = flow.decide(&request, true).await.expect(200).json();
    let target = text(&decided, "redirect_to");
    assert!(
        target.starts_with(&format!("{CALLBACK}?code=svc_oac_")),
        "{target}"
    );
    let fields = super::fields_of(target);
    assert_eq!(field(&fields, "state"), "st/ate");
    assert_eq!(field(&fields, "iss"), server.url());

    let answer = flow
        .exchange(&field(&fields, "code"), &[])
        .await
        .expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let tokens = answer.json();
    assert_eq!(tokens["token_type"], "Bearer");
    assert_eq!(tokens["scope"], "mcp");
    assert_eq!(tokens["expires_in"], 3_600);
    flow.ping(text(&tokens, "access_token")).await.expect(200);

    let renewed = flow.refresh(text(&tokens, "refresh_token"), &[]).await;
    let renewed = renewed.expect(200).json();
    assert_ne!(renewed["refresh_token"], tokens["refresh_token"]);
    flow.ping(text(&renewed, "access_token")).await.expect(200);

    let grants = flow.user.get("/api/oauth/grants").await.expect(200).json();
    let grant = &grants["grants"][0];
    assert_eq!(grants["grants"].as_array().unwrap().len(), 1);
    assert_eq!(grant["app"]["name"], "Probe");
    assert_eq!(grant["username"], "ann");
    let path = format!("/api/oauth/grants/{}", text(grant, "id"));
    let ben = server.user("ben").await;
    ben.delete(&path).await.expect(404);
    flow.user.delete(&path).await.expect(204);
    let ended = flow.ping(text(&renewed, "access_token")).await.expect(401);
    let challenge = ended.header("www-authenticate").unwrap();
    assert!(
        challenge.contains(r#"error="invalid_token""#),
        "{challenge}"
    );
    assert!(challenge.contains(&metadata), "{challenge}");
    let refused = flow.refresh(text(&renewed, "refresh_token"), &[]).await;
    assert_eq!(refused.expect(400).json()["error"], "invalid_grant");
}
