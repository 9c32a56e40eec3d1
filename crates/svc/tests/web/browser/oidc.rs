//! Sign-in with an OpenID Connect provider, through the provider's own pages.

use serde_json::json;
use svc_testkit::{Process, get_eventually};

use super::{
    SOON,
    flow::{credentials, run},
    install::Browser,
    site::server,
};
use crate::judge::install_provider;

#[tokio::test]
async fn users_sign_in_with_a_provider_and_link_their_accounts() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let Some(mut command) = install_provider("provider.mjs") else {
        return;
    };
    let server = server().env("SVC_OIDC_ALLOW", "127.0.0.0/8").start().await;
    let base = format!("{}/api/auth/oidc/corp", server.url());
    command
        .env("REDIRECT_URI", format!("{base}/callback"))
        .env("LOGOUT_URI", format!("{base}/backchannel-logout"));
    let provider = Process::spawn("provider", command);
    let issuer = get_eventually("the provider starts", SOON * 3, || async {
        provider.stdout().first().cloned()
    })
    .await;
    let ann = server.user_with("ann", &["admin"], &[]).await;
    let facts = json!({
        "ann": credentials(&ann), "issuer": issuer, "secret": "a secret of the client: %+&",
    });
    run(&browser, "oidc", &server, &facts).await;
}
