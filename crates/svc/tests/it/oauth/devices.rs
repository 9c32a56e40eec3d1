//! Logins of machines without a browser (group 24 of the attacks in docs/AUTH.md).

use serde_json::{Value, json};
use svc_testkit::{Answer, Http, TestServer};

use super::{Flow, edit, form, text};

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

async fn start(http: &Http) -> Value {
    let fields = [("client_id", "svc-cli"), ("machine", "laptop")];
    form(http, "/device_authorization", fields)
        .await
        .expect(200)
        .json()
}

async fn poll(http: &Http, started: &Value) -> Answer {
    let fields = [
        ("grant_type", GRANT),
        ("client_id", "svc-cli"),
        ("device_code", text(started, "device_code")),
    ];
    form(http, "/token", fields).await
}

async fn poll_error(http: &Http, started: &Value) -> String {
    let answer = poll(http, started).await;
    text(&answer.expect(400).json(), "error").to_owned()
}

/// Makes the last poll old, so that the next poll is not too early.
const PAST_POLL: &str = "UPDATE oauth_devices SET polled_at = 1";

#[tokio::test]
async fn a_machine_gets_a_token_after_its_user_typed_the_code() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let started = start(&flow.http()).await;
    assert_eq!(started["interval"], 5);
    assert_eq!(
        started["verification_uri"],
        format!("{}/device", server.url())
    );
    let code = text(&started, "user_code");
    assert_eq!(code.len(), 9);
    assert_eq!(
        poll_error(&flow.http(), &started).await,
        "authorization_pending"
    );
    assert_eq!(poll_error(&flow.http(), &started).await, "slow_down");
    let path = format!(
        "/api/oauth/devices/{}",
        code.to_lowercase().replace('-', "")
    );
    let shown = flow.page("GET", &path, json!({})).await.expect(200).json();
    assert_eq!(shown["user_code"], code);
    assert_eq!(shown["address"], "127.0.0.1");
    assert_eq!(shown["app"]["kind"], "builtin");
    // A user who only reads the question has not agreed. A request with a token cannot agree.
    edit(&mut server, PAST_POLL).await;
    assert_eq!(
        poll_error(&flow.http(), &started).await,
        "authorization_pending"
    );
    let by_token = flow.user.post(&path, json!({"approve": true})).await;
    assert_eq!(by_token.expect(403).code(), "session_required");
    flow.page("POST", &path, json!({"approve": true}))
        .await
        .expect(204);
    flow.page("POST", &path, json!({"approve": true}))
        .await
        .expect(404);
    let token = poll(&flow.http(), &started).await.expect(200).json();
    let machine = flow.user.with_token(text(&token, "access_token"));
    machine.get("/api/auth/me").await.expect(200);
    let tokens = machine.get("/api/tokens").await.expect(200).text();
    assert!(tokens.contains("cli@laptop"), "{tokens}");
    assert_eq!(poll_error(&flow.http(), &started).await, "invalid_grant");
}

#[tokio::test]
async fn a_login_that_is_declined_or_too_old_gets_nothing() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let started = start(&flow.http()).await;
    let path = format!("/api/oauth/devices/{}", text(&started, "user_code"));
    flow.page("POST", &path, json!({"approve": false}))
        .await
        .expect(204);
    assert_eq!(poll_error(&flow.http(), &started).await, "access_denied");
    let started = start(&flow.http()).await;
    let path = format!("/api/oauth/devices/{}", text(&started, "user_code"));
    edit(&mut server, "UPDATE oauth_devices SET expires_at = 1").await;
    flow.page("POST", &path, json!({"approve": true}))
        .await
        .expect(404);
    assert_eq!(poll_error(&flow.http(), &started).await, "expired_token");
    let fields = [("client_id", flow.client_id.as_str())];
    let other = form(&flow.http(), "/device_authorization", fields)
        .await
        .expect(400);
    assert_eq!(other.json()["error"], "unauthorized_client");
}

#[tokio::test]
async fn codes_cannot_be_guessed() {
    let server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    start(&flow.http()).await;
    let mut statuses = Vec::new();
    for n in 0..12 {
        let letter = char::from(b"BCDFGHJKLMNP"[n]);
        let path = format!("/api/oauth/devices/BCDFGHJ{letter}");
        statuses.push(flow.page("GET", &path, json!({})).await.status);
    }
    assert_eq!(statuses[..10], [404; 10]);
    assert_eq!(statuses[10..], [429; 2]);
}
