//! A flood of bad signatures at one source.

use futures_util::{StreamExt, stream};
use serde_json::json;
use svc_core::source::settings::VerifyType;
use svc_testkit::TestServer;

use super::Sender;

#[tokio::test]
async fn a_flood_is_refused_before_its_bodies_are_read_and_stays_bounded() {
    let server = TestServer::start().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let (flooded, other) = (
        Sender::of_type(&ann, VerifyType::Github).await,
        Sender::of_type(&ben, VerifyType::Github).await,
    );
    let headers = [
        ("content-type", "application/json"),
        ("x-hub-signature-256", "sha256=00"),
    ];
    let http = server.http();
    let flood = stream::iter(0..1_000).map(|_| http.request("POST", &flooded.path, &headers, "{}"));
    let statuses: Vec<u16> = flood
        .buffer_unordered(32)
        .map(|answer| answer.status)
        .collect()
        .await;
    let count = |status| statuses.iter().filter(|&&found| found == status).count();
    assert!(count(401) >= 60, "{}", count(401));
    assert!(count(429) >= 800, "{}", count(429));
    assert_eq!(count(401) + count(429), 1_000);
    let answer = http
        .request("POST", &flooded.path, &headers, "{}")
        .await
        .expect(429);
    assert!(answer.header("retry-after").is_some());
    // The list is bounded, the count is exact, and nothing was stored.
    assert_eq!(flooded.requests().await.len(), 50);
    assert_eq!(flooded.record().await["rejected"], json!(1_001));
    assert_eq!(flooded.events().await.len(), 0);
    // The source of another user is not affected, although the requests come from the same address.
    other.send("", &[], "{}").await.expect(202);
}
