//! Codes and PKCE (groups 4 and 5 of the attacks in docs/AUTH.md).

use futures_util::future::join_all;
use svc_testkit::TestServer;

use super::{CALLBACK, Flow, VERIFIER, edit, field, fields_of, text};

#[tokio::test]
async fn an_app_must_prove_that_it_sent_the_request() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    for fields in [
        &[("code_challenge", "")][..],
        &[("code_challenge_method", "")],
        &[("code_challenge_method", "plain")],
        &[("code_challenge", "short")],
        &[("code_challenge", ""), ("code_challenge_method", "")],
    ] {
        let answer = flow.authorize(fields).await.expect(303);
        let target = answer.header("location").unwrap();
        assert!(target.starts_with(CALLBACK), "{target}");
        let told = fields_of(target);
        assert_eq!(field(&told, "error"), "invalid_request", "{fields:?}");
        assert_eq!(field(&told, "state"), "st/ate");
        assert_eq!(field(&told, "iss"), server.url());
    }
    let answer = flow
        .authorize(&[("response_type", "token")])
        .await
        .expect(303);
    let told = fields_of(answer.header("location").unwrap());
    assert_eq!(field(&told, "error"), "unsupported_response_type");
    assert_eq!(field(&told, "iss"), server.url());

    // After a failed request the code is still valid.
    let code = flow.code(&[]).await;
    let wrong = "x".repeat(43);
    for (fields, error) in [
        (&[("code_verifier", "")][..], "invalid_request"),
        (&[("code_verifier", wrong.as_str())], "invalid_grant"),
        (&[("code_verifier", "short")], "invalid_grant"),
        (
            &[("redirect_uri", "http://127.0.0.1:1/callback")],
            "invalid_grant",
        ),
        (
            &[("resource", "https://other.example/mcp")],
            "invalid_target",
        ),
        (&[("client_id", "nobody")], "invalid_client"),
        (&[("grant_type", "password")], "unsupported_grant_type"),
        (&[("grant_type", "")], "invalid_request"),
        (&[("code", "svc_oac_0123")], "invalid_grant"),
    ] {
        let answer = flow.exchange(&code, fields).await;
        assert_eq!(answer.json()["error"], error, "{fields:?}");
        assert!([400, 401].contains(&answer.status), "{fields:?}");
    }
    let other = Flow::of(&server, flow.user.clone()).await;
    let stolen = other.exchange(&code, &[]).await.expect(400);
    assert_eq!(stolen.json()["error"], "invalid_grant");
    flow.exchange(&code, &[]).await.expect(200);
    // A JSON body is not a form.
    let headers = [("content-type", "application/json")];
    let body = format!(r#"{{"grant_type":"authorization_code","code_verifier":"{VERIFIER}"}}"#);
    let answer = flow.http().request("POST", "/token", &headers, body).await;
    assert_eq!(answer.expect(400).json()["error"], "invalid_request");
}

#[tokio::test]
async fn a_code_that_is_used_twice_ends_its_grant() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let code = flow.code(&[]).await;
    let tokens = flow.exchange(&code, &[]).await.expect(200).json();
    flow.ping(text(&tokens, "access_token")).await.expect(200);
    let again = flow.exchange(&code, &[]).await.expect(400);
    assert_eq!(again.json()["error"], "invalid_grant");
    flow.ping(text(&tokens, "access_token")).await.expect(401);
    let refresh = flow.refresh(text(&tokens, "refresh_token"), &[]).await;
    assert_eq!(refresh.expect(400).json()["error"], "invalid_grant");
    let audit = server
        .admin()
        .await
        .get("/api/audit?action=oauth.code_reused")
        .await;
    assert_eq!(
        audit.expect(200).json()["audit"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn of_many_exchanges_at_once_exactly_one_succeeds() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let code = flow.code(&[]).await;
    let exchanges = join_all((0..16).map(|_| flow.exchange(&code, &[]))).await;
    let good = exchanges.iter().filter(|answer| answer.status == 200);
    assert_eq!(good.count(), 1);
    assert!(
        exchanges
            .iter()
            .all(|answer| [200, 400].contains(&answer.status))
    );
}

#[tokio::test]
async fn an_expired_code_is_refused() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let code = flow.code(&[]).await;
    edit(&mut server, "UPDATE oauth_codes SET expires_at = 1").await;
    let answer = flow.exchange(&code, &[]).await.expect(400);
    assert_eq!(answer.json()["error"], "invalid_grant");
    assert!(answer.text().contains("expired"), "{}", answer.text());
}
