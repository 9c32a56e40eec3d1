//! Changes of a user are bounded: requests per second, and bytes of audit entries per day.

use serde_json::json;
use svc_testkit::{TestServer, TestUser, get_eventually};

use crate::SOON;

fn patterns(first: usize) -> Vec<String> {
    let letter = char::from(b'a' + u8::try_from(first % 26).unwrap());
    (0..100)
        .map(|n| format!("{letter}{n}.{}", "q".repeat(100)))
        .collect()
}

#[tokio::test]
async fn changes_beyond_the_audit_budget_of_a_day_are_refused() {
    let server = TestServer::builder()
        .config_table("quotas", "audit_bytes = 20000")
        .start()
        .await;
    let (mallory, bob) = (server.user("mallory").await, server.user("bob").await);
    let sink = json!({
        "name": "h", "patterns": patterns(0), "type": "webhook",
        "webhook": {"url": "http://127.0.0.1:9/"},
    });
    let sink = mallory
        .post("/api/event-sinks", sink)
        .await
        .expect(201)
        .json();
    let path = format!("/api/event-sinks/{}", sink["id"].as_str().unwrap());
    let mut accepted = 0;
    let refused = loop {
        let body =
            json!({"description": format!("d{accepted}"), "patterns": patterns(accepted + 1)});
        let answer = mallory.patch(&path, body).await;
        if answer.status != 200 {
            break answer.expect(429);
        }
        accepted += 1;
        assert!(accepted < 100, "no change is refused");
    };
    assert!(accepted > 10, "{accepted} changes were accepted");
    assert_eq!(refused.code(), "quota_exceeded");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=86_401).contains(&wait), "{wait} seconds");
    let problem = refused.json();
    assert_eq!(
        (&problem["limit"], &problem["setting"]),
        (&json!(20_000), &json!("quotas.audit_bytes"))
    );
    // No change without its entry: the refused change was not made.
    let stored = mallory.get(&path).await.expect(200).json();
    assert_eq!(stored["description"], format!("d{}", accepted - 1));
    let quota = mallory.quota("audit_bytes").await;
    assert!(
        (15_000..=20_000).contains(&quota["used"].as_u64().unwrap()),
        "{quota}"
    );
    assert_eq!(quota["limit"], 20_000);
    // An entry has the changed members only, and a large member is cut.
    let entries = server
        .admin()
        .await
        .get("/api/audit?action=event_sink.updated")
        .await;
    let entries = entries.expect(200).json();
    let entries = entries["audit"].as_array().unwrap();
    assert_eq!(entries.len(), accepted);
    for entry in entries {
        let detail = &entry["detail"];
        assert!(detail.to_string().len() <= 2 * 1024, "{detail}");
        assert_eq!(
            (&detail["name"], &detail["cut"]),
            (&json!("h"), &json!(true))
        );
        assert_eq!(detail.get("url"), None, "{detail}");
        assert!(detail["description"].is_string(), "{detail}");
    }
    // Other users are not affected, and deletions are never refused.
    let token = bob.post("/api/tokens", json!({"name": "t"})).await;
    token.expect(201);
    mallory
        .post("/api/tokens", json!({"name": "t"}))
        .await
        .expect(429);
    mallory.delete(&path).await.expect(204);
    // An administrator may raise the limit of one user.
    let user = format!("/api/users/{}", mallory.id);
    let quotas = json!({"quotas": {"audit_bytes": 1_000_000}});
    server.admin().await.patch(&user, quotas).await.expect(200);
    mallory
        .post("/api/tokens", json!({"name": "t"}))
        .await
        .expect(201);
}

#[tokio::test]
async fn changes_per_second_of_a_user_are_limited() {
    let server = TestServer::builder()
        .env("SVC_CHANGES_PER_SECOND", "2")
        .start()
        .await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let create = async |user: &TestUser, n: usize| {
        user.post("/api/spaces", json!({"name": format!("s{n}")}))
            .await
    };
    let mut n = 0;
    let refused = loop {
        let answer = create(&ann, n).await;
        if answer.status != 201 {
            break answer.expect(429);
        }
        n += 1;
        assert!(n < 100, "no change is refused");
    };
    // After a pause, the changes of 20 seconds may come at once. The token of the user was one.
    assert!(n >= 39, "only {n} changes were accepted");
    assert_eq!(refused.code(), "rate_limited");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=2).contains(&wait), "{wait} seconds");
    let problem = refused.json();
    assert_eq!(problem["setting"], "server.changes_per_second");
    assert_eq!(problem["limit"], 2);
    // Reads and emits are no changes, and other users have limits of their own.
    for _ in 0..30 {
        ann.get("/api/spaces").await.expect(200);
        ann.emit("a", json!({})).await;
    }
    create(&bob, 0).await.expect(201);
    // Administrators may import users.
    let admin = server.admin().await;
    for n in 0..30 {
        let body = json!({"name": format!("g{n}")});
        admin.post("/api/groups", body).await.expect(201);
    }
    // The command line waits and tries again.
    for n in 100..104 {
        let made = server
            .cli(&ann)
            .run(&["space", "create", &format!("s{n}")])
            .await;
        made.expect(0);
    }
    get_eventually("a change is accepted again", SOON, || async {
        (create(&ann, 1_000).await.status == 201).then_some(())
    })
    .await;
}
