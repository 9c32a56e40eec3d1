//! Signing in, and what is said to who cannot.

use serde_json::json;

use super::{
    flow::{credentials, run},
    install::Browser,
    site::server,
};

#[tokio::test]
async fn a_wrong_password_is_said_and_too_many_have_to_wait() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let ben = server.user("ben").await;
    let facts = json!({"ann": credentials(&ann), "ben": credentials(&ben)});
    run(&browser, "sign-in", &server, &facts).await;
}
