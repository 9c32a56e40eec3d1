//! Signing in with a password, a second factor or a passkey, and the messages of failed attempts.

use serde_json::json;

use super::{
    flow::{credentials, run},
    install::Browser,
    site::server,
};

#[tokio::test]
async fn a_wrong_password_is_reported_and_repeated_ones_are_delayed() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let ben = server.user("ben").await;
    let facts = json!({"ann": credentials(&ann), "ben": credentials(&ben)});
    run(&browser, "sign-in", &server, &facts).await;
}

#[tokio::test]
async fn a_second_factor_is_set_up_used_reset_and_required() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user_with("ann", &["admin"], &[]).await;
    let ben = server.user("ben").await;
    let facts = json!({
        "ann": credentials(&ann), "ben": credentials(&ben), "ben_id": ben.id,
    });
    run(&browser, "second-factor", &server, &facts).await;
}

#[tokio::test]
async fn a_passkey_is_added_used_and_removed() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ben = server.user("ben").await;
    run(
        &browser,
        "passkey",
        &server,
        &json!({"ben": credentials(&ben)}),
    )
    .await;
}
