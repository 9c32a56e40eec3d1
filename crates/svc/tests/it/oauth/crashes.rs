//! `kill -9` while an app gets or renews its tokens, and between the steps of a login with a code:
//! no crash leaves half a grant (groups 5, 6 and 24 of the attacks in docs/AUTH.md). The module
//! `zone` tests the steps with the consent page.

use serde_json::{Value, json};
use svc_testkit::TestServer;

use super::{Flow, form, text};

async fn crash(server: &mut TestServer) {
    server.kill9();
    server.start_again().await;
}

async fn grants(flow: &Flow) -> Vec<Value> {
    let grants = flow.user.get("/api/oauth/grants").await.expect(200).json();
    grants["grants"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_crash_during_an_exchange_leaves_a_whole_grant_or_none() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    // The server is killed at different points of the exchange.
    for round in 0..12_u64 {
        let code = flow.code(&[]).await;
        let started = {
            let flow = Flow {
                cookie: flow.cookie.clone(),
                client_id: flow.client_id.clone(),
                user: flow.user.clone(),
            };
            let code = code.clone();
            tokio::spawn(async move { flow.exchange(&code, &[]).await.expect(200).json() })
        };
        tokio::time::sleep(std::time::Duration::from_micros(400 * round)).await;
        server.kill9();
        let got = started.await;
        server.start_again().await;
        if let Ok(tokens) = got {
            // The app has its tokens, so the grant survived.
            flow.ping(text(&tokens, "access_token")).await.expect(200);
            assert_eq!(grants(&flow).await.len(), 1, "round {round}");
        }
        // The app sends the code again. If the code was not used before, there is one grant. If it
        // was used, the second use ends the grant.
        let again = flow.exchange(&code, &[]).await;
        match again.status {
            200 => {
                let tokens = again.json();
                assert_eq!(grants(&flow).await.len(), 1, "round {round}");
                flow.ping(text(&tokens, "access_token")).await.expect(200);
                let refresh_token = text(&tokens, "refresh_token");
                flow.revoke(refresh_token, &[]).await.expect(200);
            }
            _ => assert_eq!(again.expect(400).json()["error"], "invalid_grant"),
        }
        assert_eq!(grants(&flow).await, [] as [Value; 0], "round {round}");
    }
}

#[tokio::test]
async fn a_renewal_survives_a_crash() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let first = flow.connect(&[]).await;
    let refresh = text(&first, "refresh_token");
    let second = flow.refresh(refresh, &[]).await.expect(200).json();
    crash(&mut server).await;
    flow.ping(text(&second, "access_token")).await.expect(200);
    // The app did not store the answer, and repeats the renewal.
    let third = flow.refresh(refresh, &[]).await.expect(200).json();
    crash(&mut server).await;
    flow.ping(text(&third, "access_token")).await.expect(200);
    assert_eq!(grants(&flow).await.len(), 1);
}

#[tokio::test]
async fn a_login_with_a_code_survives_a_crash_after_each_step_and_makes_one_token() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let own = async || {
        let tokens = flow.user.get("/api/tokens").await.expect(200).json();
        let tokens = tokens["tokens"].as_array().unwrap().iter();
        let is_new = |token: &&Value| text(token, "name").starts_with("cli@");
        tokens.filter(is_new).count()
    };
    let fields = [("client_id", "svc-cli"), ("machine", "laptop")];
    let started = form(&flow.http(), "/device_authorization", fields).await;
    let started = started.expect(200).json();
    crash(&mut server).await;
    let path = format!("/api/oauth/devices/{}", text(&started, "user_code"));
    flow.page("GET", &path, json!({})).await.expect(200);
    crash(&mut server).await;
    assert_eq!(own().await, 0, "the user has not agreed");
    flow.page("POST", &path, json!({"approve": true}))
        .await
        .expect(204);
    crash(&mut server).await;
    assert_eq!(own().await, 0, "the machine has not asked for the token");
    let poll = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("client_id", "svc-cli"),
        ("device_code", text(&started, "device_code")),
    ];
    let token = form(&flow.http(), "/token", poll).await.expect(200).json();
    crash(&mut server).await;
    let machine = flow.user.with_token(text(&token, "access_token"));
    machine.get("/api/auth/me").await.expect(200);
    let again = form(&flow.http(), "/token", poll).await.expect(400);
    assert_eq!(again.json()["error"], "invalid_grant");
    assert_eq!(own().await, 1);
}
