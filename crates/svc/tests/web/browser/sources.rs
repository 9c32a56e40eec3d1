//! Sources and schedules, created, tested and removed in their pages.

use serde_json::json;

use super::{
    flow::{credentials, run},
    install::Browser,
    site::server,
};

#[tokio::test]
async fn a_source_and_a_schedule_are_created_tested_and_deleted() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let server = server().start().await;
    let ann = server.user("ann").await;
    let nobody = server.user_with("nobody", &[], &[]).await;
    let facts = json!({"ann": credentials(&ann), "nobody": credentials(&nobody)});
    run(&browser, "sources", &server, &facts).await;
    assert_eq!(ann.list("/api/sources", "sources").await.len(), 0);
    assert_eq!(ann.list("/api/schedules", "schedules").await.len(), 0);
}
