//! OAuth at several servers, and after `kill -9` (groups 5, 6 and 24 of the attacks in
//! docs/AUTH.md).

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use svc_testkit::{TestPostgres, TestServer, TestZone};

use super::{Flow, form, ping, text};

/// A revocation is in effect everywhere within this time. More than a second, because the machine
/// may be busy.
const EFFECT_MAX: Duration = Duration::from_secs(15);

/// The servers share one public address, as behind a load balancer.
async fn zone(postgres: &TestPostgres) -> TestZone {
    let settings = "public_url = \"http://127.0.0.1:12200\"";
    TestZone::start_with(postgres, 2, |builder| builder.config(settings)).await
}

#[tokio::test]
async fn codes_and_tokens_are_valid_at_every_server_and_each_code_once() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = zone(postgres).await;
    let here = Flow::new(zone.server(0), "ann").await;
    let there = Flow {
        cookie: here.cookie.clone(),
        client_id: here.client_id.clone(),
        user: here.user.at(zone.server(1)),
    };
    let code = here.code(&[]).await;
    let flows = [&here, &there];
    let exchanges = join_all((0..16).map(|n| flows[n % 2].exchange(&code, &[]))).await;
    assert_eq!(
        exchanges
            .iter()
            .filter(|answer| answer.status == 200)
            .count(),
        1
    );

    let code = here.code(&[]).await;
    let tokens = there.exchange(&code, &[]).await.expect(200).json();
    for flow in flows {
        flow.ping(text(&tokens, "access_token")).await.expect(200);
    }
    let renewed = here
        .refresh(text(&tokens, "refresh_token"), &[])
        .await
        .expect(200)
        .json();
    there.ping(text(&renewed, "access_token")).await.expect(200);
    // A question that begins at one server is answered at the other.
    let request = here.ask(&[]).await;
    there.decide(&request, true).await.expect(200);

    let grants = here.user.get("/api/oauth/grants").await.expect(200).json();
    let path = format!("/api/oauth/grants/{}", text(&grants["grants"][0], "id"));
    here.user.delete(&path).await.expect(204);
    let ended = Instant::now();
    while ping(&there.http(), text(&renewed, "access_token"))
        .await
        .status
        != 401
    {
        assert!(
            ended.elapsed() < EFFECT_MAX,
            "the other server still accepts the token"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_machine_gets_one_token_of_many_polls_at_two_servers() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = zone(postgres).await;
    let here = Flow::new(zone.server(0), "ann").await;
    let servers = [zone.server(0).http(), zone.server(1).http()];
    let fields = [("client_id", "svc-cli"), ("machine", "laptop")];
    let started = form(&servers[0], "/device_authorization", fields).await;
    let started = started.expect(200).json();
    let path = format!("/api/oauth/devices/{}", text(&started, "user_code"));
    let approved = here.page("POST", &path, json!({"approve": true})).await;
    approved.expect(204);
    let poll = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("client_id", "svc-cli"),
        ("device_code", text(&started, "device_code")),
    ];
    let polls = join_all((0..16).map(|n| form(&servers[n % 2], "/token", poll))).await;
    let good = polls.iter().filter(|answer| answer.status == 200);
    assert_eq!(good.count(), 1);
    let tokens = here.user.get("/api/tokens").await.expect(200).text();
    assert_eq!(tokens.matches("cli@laptop").count(), 1, "{tokens}");
}

#[tokio::test]
async fn renewals_at_two_servers_at_once_do_not_end_the_grant() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = zone(postgres).await;
    let here = Flow::new(zone.server(0), "ann").await;
    let tokens = here.connect(&[]).await;
    let servers = [zone.server(0).http(), zone.server(1).http()];
    let fields = [
        ("grant_type", "refresh_token"),
        ("client_id", here.client_id.as_str()),
        ("refresh_token", text(&tokens, "refresh_token")),
    ];
    let renewals = join_all((0..8).map(|n| form(&servers[n % 2], "/token", fields))).await;
    for renewed in renewals {
        let renewed = renewed.expect(200).json();
        for server in &servers {
            let pinged = ping(server, text(&renewed, "access_token")).await;
            pinged.expect(200);
        }
    }
}

#[tokio::test]
async fn a_crash_between_two_steps_leaves_no_partial_grant() {
    let mut server = TestServer::start().await;
    let flow = Flow::new(&server, "ann").await;
    let request = flow.ask(&[]).await;
    server.kill9();
    server.start_again().await;
    let path = format!("/api/oauth/requests/{request}");
    let decided = flow.page("POST", &path, json!({"approve": true})).await;
    let decided = decided.expect(200).json();
    let code = super::field(&super::fields_of(text(&decided, "redirect_to")), "code");
    let none = flow.user.get("/api/oauth/grants").await.expect(200).json();
    assert_eq!(none["grants"], json!([]), "a code is not a grant");
    server.kill9();
    server.start_again().await;
    let tokens = flow.exchange(&code, &[]).await.expect(200).json();
    server.kill9();
    server.start_again().await;
    flow.ping(text(&tokens, "access_token")).await.expect(200);
    flow.refresh(text(&tokens, "refresh_token"), &[])
        .await
        .expect(200);
}
