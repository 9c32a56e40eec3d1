//! Apps that connect by OAuth: the consent page, logins of machines with a code, and the lists of
//! connected apps.

use serde_json::{Value, json};
use svc_testkit::TestServer;

use super::{
    flow::{credentials, run},
    install::Browser,
    site::server,
};

/// Ann manages users, Ben is an ordinary user, and `nobody` has no permissions.
async fn people(server: &TestServer) -> Value {
    let ann = server.user_with("ann", &["admin"], &[]).await;
    let ben = server.user("ben").await;
    let nobody = server.user_with("nobody", &[], &[]).await;
    json!({
        "ann": credentials(&ann), "ben": credentials(&ben), "ben_id": ben.id,
        "nobody": credentials(&nobody),
    })
}

#[tokio::test]
async fn an_app_is_connected_after_the_user_agreed() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    run(&browser, "consent", &server, &people(&server).await).await;
}

#[tokio::test]
async fn a_machine_is_signed_in_by_its_code() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    run(&browser, "device", &server, &people(&server).await).await;
}

#[tokio::test]
async fn connected_apps_are_listed_disconnected_and_blocked() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    run(&browser, "apps", &server, &people(&server).await).await;
}
