//! A zone whose database sends no notifications, as behind some connection poolers. The servers
//! find changes and events by polling alone.

use svc_testkit::{TestPostgres, TestServerBuilder};

use super::{changes::users_tokens_and_sessions, events::methods_get_events};

fn poll_only(builder: TestServerBuilder) -> TestServerBuilder {
    builder.env("SVC_DATABASE_POLL_ONLY", "true")
}

#[tokio::test]
async fn a_zone_without_notifications_finds_changes() {
    if let Some(postgres) = TestPostgres::find() {
        users_tokens_and_sessions(postgres, poll_only).await;
    }
}

#[tokio::test]
async fn a_zone_without_notifications_delivers_to_methods() {
    if let Some(postgres) = TestPostgres::find() {
        methods_get_events(postgres, poll_only).await;
    }
}
