//! One caller uses only a share of an owner's journal.

use serde_json::json;
use svc_testkit::{TestServer, eventually, fixture, method};

use super::{calls, wait_for};
use crate::SOON;

#[tokio::test]
async fn a_flood_of_one_caller_leaves_the_calls_of_others_in_the_journal() {
    let server = TestServer::builder()
        .config_table("journal", "rows_per_owner = 2000")
        .start()
        .await;
    let (ann, bob, mallory) = (
        server.user("ann").await,
        server.user("bob").await,
        server.user("mallory").await,
    );
    server.role("auditor", &["view_audit"]).await;
    let auditor = server.user_with("ivy", &["auditor"], &[]).await;
    let space = ann.space("lab").await;
    let pay = method("pay.out", "echo")
        .shared()
        .line("journal", r#""payloads""#);
    let registration = fixture().with(pay).with(method("ping", "echo").shared());
    let _agent = space.publish(registration).await;
    bob.call("user.ann.pay.out", json!({"amount": 9_999})).await;
    let call = &wait_for(&ann, "?method=pay.out", 1).await[0];
    let path = format!("/api/calls/{}", call["id"].as_str().unwrap());

    let batch: Vec<_> = (0..1_000)
        .map(|id| json!({"jsonrpc": "2.0", "method": "user.ann.ping", "id": id}))
        .collect();
    let batch = json!(batch).to_string();
    let flood = format!("?caller={}&limit=1000", mallory.id);
    for _ in 0..12 {
        mallory.call_raw(&batch).await.expect(200);
    }
    // The journal is maintained every 10 seconds. Until the flood is removed, every row is listed.
    eventually(
        "the oldest calls of the flood are removed",
        SOON,
        || async {
            let mut count = 0;
            let mut cursor = String::new();
            loop {
                let page = ann.get(&format!("/api/calls{flood}{cursor}")).await;
                let page = page.expect(200).json();
                count += page["calls"].as_array().unwrap().len();
                match page["next_cursor"].as_str() {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => break (1..=6_500).contains(&count),
                }
            }
        },
    )
    .await;
    for reader in [&ann, &bob, &auditor] {
        let found = calls(reader, &format!("?caller={}", bob.id)).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["method"], "pay.out");
        reader.get(&path).await.expect(200);
    }
    for reader in [&ann, &bob] {
        let detail = reader.get(&path).await.expect(200).json();
        assert_eq!(detail["params"], json!({"amount": 9_999}));
    }
}
