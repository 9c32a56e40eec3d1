//! Scripts, written and run in the page.

use serde_json::json;

use super::{
    flow::{credentials, run},
    install::Browser,
    site::server,
};

#[tokio::test]
async fn a_script_is_written_corrected_and_run() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let facts = json!({"ann": credentials(&ann)});
    run(&browser, "script", &server, &facts).await;
    let scripts = ann.list("/api/scripts", "scripts").await;
    assert_eq!(scripts[0]["name"], "double");
    assert!(scripts[0]["source"].as_str().unwrap().contains("* 2"));
}
