//! Sign-ins in a zone: begun at one server, completed at another.

use futures_util::future::join_all;
use serde_json::json;
use svc_testkit::{Http, Process, TestPostgres, TestZone};

use super::{Browser, line, local};
use crate::judge::install_provider;

#[tokio::test]
async fn a_sign_in_is_completed_once_at_all_servers_of_a_zone() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let Some(command) = install_provider("broken.mjs") else {
        return;
    };
    let settings = "public_url = \"http://127.0.0.1:12200\"";
    let zone = TestZone::start_with(postgres, 2, |builder| {
        builder
            .config(settings)
            .env("SVC_OIDC_ALLOW", "127.0.0.0/8")
    })
    .await;
    let provider = Process::spawn("provider", command);
    let issuer = line(&provider, 0).await;
    let body = json!({"name": "corp", "issuer": issuer, "client_id": "svc", "create_users": true,
        "required_claims": {"iss": [issuer]}});
    let created = zone.admin(0).post("/api/oidc/providers", &body).await;
    created.expect(201);

    let mut here = Browser::of(zone.server(0));
    let started = here.get("/api/auth/oidc/corp/start").await.expect(303);
    let path = started.header("location").unwrap().to_owned();
    let path = path.strip_prefix(&issuer).unwrap();
    let asked = Http::to_url(&issuer).request("GET", path, &[], "").await;
    let callback = local(asked.expect(302).header("location").unwrap());
    let attempts = (0..16).map(|n| {
        let mut browser = Browser::of(zone.server(n % 2));
        browser.cookies = here.cookies.clone();
        let callback = callback.clone();
        async move {
            let answer = browser.get(&callback).await;
            (answer.status, browser)
        }
    });
    let mut done = join_all(attempts).await;
    done.retain(|(status, _)| *status == 303);
    assert_eq!(done.len(), 1, "exactly one attempt signs in");
    let (_, signed_in) = done.remove(0);
    for member in 0..2 {
        let mut browser = Browser::of(zone.server(member));
        browser.cookies = signed_in.cookies.clone();
        let me = browser.get("/api/auth/me").await.expect(200).json();
        assert_eq!(me["username"], "johndoe");
    }
}
