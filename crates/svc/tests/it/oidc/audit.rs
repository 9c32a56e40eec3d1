//! The audit entries about sign-ins with a provider.

use expect_test::expect_file;
use serde_json::{Value, json};

use super::{Site, at_provider};
use crate::audit::AuditLog;

#[tokio::test]
async fn sign_ins_and_links() {
    let Some(site) = Site::start(json!({"open": true})).await else {
        return;
    };
    let user = site.server.user("ben").await;
    let cookie = user.login().await;
    let log = AuditLog::begin(&site.admin).await;
    let (browser, _) = site.sign_in("ann").await;
    let sid = super::logout::provider_session(&site, &browser).await;
    site.tell("/test/logout", json!({"sub": "ann", "sid": sid}))
        .await;

    let mut browser = site.browser();
    let (name, value) = cookie.split_once('=').unwrap();
    browser.cookies.insert(name.to_owned(), value.to_owned());
    let proof = json!({"password": user.password});
    let path = "/api/auth/oidc/corp/link";
    let started = browser.send("POST", path, proof.clone()).await.expect(200);
    let url = started.json()["redirect_to"].as_str().unwrap().to_owned();
    let callback = at_provider(&site, &url, "ben-at-corp").await;
    browser.get(&callback).await.expect(303);
    let linked = browser
        .send("GET", "/api/auth/identities", Value::Null)
        .await;
    let linked = linked.expect(200).json();
    let id = linked["identities"][0]["id"].as_str().unwrap();
    let path = format!("/api/auth/identities/{id}/remove");
    browser.send("POST", &path, proof).await.expect(204);
    log.check(expect_file!["../audit/providers.txt"]).await;
}
