//! Renewals (group 6 of the attacks in docs/AUTH.md).

use futures_util::future::join_all;
use svc_testkit::TestServer;

use super::{Flow, edit, text};

#[tokio::test]
async fn a_client_may_repeat_a_renewal_at_once_and_a_later_reuse_ends_the_grant() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let first = flow.connect(&[]).await;
    let token = text(&first, "refresh_token");
    // Three renewals at once: each gets valid tokens.
    let renewals = join_all((0..3).map(|_| flow.refresh(token, &[]))).await;
    let mut newest = String::new();
    for renewed in renewals {
        let renewed = renewed.expect(200).json();
        flow.ping(text(&renewed, "access_token")).await.expect(200);
        newest = text(&renewed, "refresh_token").to_owned();
    }
    // An app that did not get the answer asks again half a minute later.
    let past = |seconds: u32| {
        format!(
            "UPDATE oauth_tokens SET replaced_at = replaced_at - {seconds}000 WHERE replaced_at > 0"
        )
    };
    edit(&mut server, &past(30)).await;
    flow.refresh(token, &[]).await.expect(200);
    let renewed = flow.refresh(&newest, &[]).await.expect(200).json();
    // A later use of the first token means that another program has a copy.
    edit(&mut server, &past(61)).await;
    let copy = flow.refresh(token, &[]).await.expect(400);
    assert_eq!(copy.json()["error"], "invalid_grant");
    flow.ping(text(&renewed, "access_token")).await.expect(401);
    let ended = flow.refresh(text(&renewed, "refresh_token"), &[]).await;
    assert_eq!(ended.expect(400).json()["error"], "invalid_grant");
    let audit = server
        .admin()
        .await
        .get("/api/audit?action=oauth.refresh_reused")
        .await;
    assert_eq!(
        audit.expect(200).json()["audit"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn a_failed_renewal_does_not_invalidate_the_token() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let tokens = flow.connect(&[]).await;
    let token = text(&tokens, "refresh_token");
    let other = Flow::of(&server, flow.user.clone()).await;
    assert_eq!(
        other.refresh(token, &[]).await.expect(400).json()["error"],
        "invalid_grant"
    );
    for (fields, error) in [
        (&[("scope", "mcp methods")][..], "invalid_scope"),
        (&[("scope", "methods")], "invalid_scope"),
        (
            &[("resource", "https://other.example/mcp")],
            "invalid_target",
        ),
        (&[("client_id", "nobody")], "invalid_client"),
        (
            &[("refresh_token", text(&tokens, "access_token"))],
            "invalid_grant",
        ),
    ] {
        let answer = flow.refresh(token, fields).await;
        assert_eq!(answer.json()["error"], error, "{fields:?}");
    }
    let resource = format!("{}/mcp", server.url());
    let fields = [
        ("scope", "mcp offline_access"),
        ("resource", resource.as_str()),
    ];
    let renewed = flow.refresh(token, &fields).await.expect(200).json();
    assert_eq!(renewed["scope"], "mcp");
}

#[tokio::test]
async fn endless_renewals_keep_few_tokens() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let mut tokens = flow.connect(&[]).await;
    for _ in 0..40 {
        let token = text(&tokens, "refresh_token").to_owned();
        tokens = flow.refresh(&token, &[]).await.expect(200).json();
    }
    flow.ping(text(&tokens, "access_token")).await.expect(200);
    // The statements delete all tokens if there are more than 32.
    edit(
        &mut server,
        "CREATE TABLE probe AS SELECT 1 AS x WHERE (SELECT COUNT(*) FROM oauth_tokens) > 32;
             DELETE FROM oauth_tokens WHERE (SELECT COUNT(*) FROM probe) > 0",
    )
    .await;
    flow.ping(text(&tokens, "access_token")).await.expect(200);
}
