//! `GET /api/calls/summary` and `svc calls summary`.

use futures_util::future::join_all;
use serde_json::{Value, json};
use svc_testkit::{TestAgent, TestServer, TestSpace, TestUser, fixture, method};

use super::{calls, wait_for};

/// The number of recorded calls of [`Shop`].
const CALLS: usize = 9;

/// Calls of several users: `ann` shares `echo` and `fail`, `carl` has methods of his own.
struct Shop {
    server: TestServer,
    ann: TestUser,
    bob: TestUser,
    carl: TestUser,
    /// Has called only a name that does not exist.
    eve: TestUser,
    /// Has `view_audit`.
    auditor: TestUser,
    /// A second token of `bob`.
    second: Value,
    lab: TestSpace,
    _agents: [TestAgent; 2],
}

impl Shop {
    async fn new() -> Self {
        let server = TestServer::start().await;
        server.role("auditor", &["view_audit"]).await;
        let auditor = server.user_with("ivy", &["auditor"], &[]).await;
        let [ann, bob, carl, eve] = [
            server.user("ann").await,
            server.user("bob").await,
            server.user("carl").await,
            server.user("eve").await,
        ];
        let (lab, other) = (ann.space("lab").await, carl.space("other").await);
        let shared = fixture()
            .with(method("echo", "echo").shared())
            .with(method("fail", "fail").shared());
        let agents = [
            lab.publish(shared).await,
            other.publish(fixture().plain("echo")).await,
        ];
        let second = bob.new_token(&["methods"]).await;
        for _ in 0..3 {
            bob.call("user.ann.echo", json!({})).await;
        }
        let refusal = json!({"code": 7, "message": "no"});
        bob.call("user.ann.fail", refusal).await;
        bob.with_token(second["token"].as_str().unwrap())
            .call("user.ann.echo", json!({}))
            .await;
        ann.call("echo", json!({})).await;
        carl.call("echo", json!({})).await;
        carl.call("echo", json!({})).await;
        eve.call("user.ann.nowhere", json!({})).await;
        wait_for(&auditor, "", CALLS).await;
        Self {
            server,
            ann,
            bob,
            carl,
            eve,
            auditor,
            second,
            lab,
            _agents: agents,
        }
    }
}

async fn summary(user: &TestUser, query: &str) -> Value {
    let path = format!("/api/calls/summary?{query}");
    user.get(&path).await.expect(200).json()
}

/// Caller, kind of the credential, calls and failed calls of each group.
fn groups(summary: &Value) -> Vec<(String, String, u64, u64)> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let group = |group: &Value| {
        let number = |key: &str| group[key].as_u64().unwrap();
        (
            text(&group["caller"]),
            text(&group["credential"]["kind"]),
            number("calls"),
            number("failed"),
        )
    };
    let groups = summary["groups"].as_array().unwrap();
    groups.iter().map(group).collect()
}

fn check(summary: &Value, expected: &[(&str, &str, u64, u64)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|&(caller, kind, calls, failed)| (caller.to_owned(), kind.to_owned(), calls, failed))
        .collect();
    assert_eq!(groups(summary), expected, "{summary}");
    assert_eq!(summary["is_complete"], true, "{summary}");
    assert_eq!(
        (&summary["counted_since"], &summary["other"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn a_summary_counts_only_calls_that_the_reader_sees() {
    let shop = Shop::new().await;
    // The owner sees the callers of her methods, but not their credentials, and no call of a
    // neighbour.
    let of_owner = summary(&shop.ann, "by=caller").await;
    check(&of_owner, &[("bob", "-", 5, 1), ("ann", "-", 1, 0)]);
    let of_owner = summary(&shop.ann, "by=credential").await;
    check(&of_owner, &[("bob", "-", 5, 1), ("ann", "token", 1, 0)]);
    assert_eq!(of_owner["groups"][0]["caller_id"], json!(shop.bob.id));

    // Callers see their own credentials.
    let own = summary(&shop.bob, "by=credential").await;
    check(&own, &[("bob", "token", 4, 1), ("bob", "token", 1, 0)]);
    assert_eq!(own["groups"][1]["credential"]["id"], shop.second["id"]);
    let newest = &calls(&shop.bob, "").await[0];
    assert_eq!(own["groups"][1]["last_at"], newest["at"]);

    // A stranger sees only their own calls.
    check(
        &summary(&shop.carl, "by=caller").await,
        &[("carl", "-", 2, 0)],
    );
    check(
        &summary(&shop.eve, "by=credential").await,
        &[("eve", "token", 1, 1)],
    );
    let stranger = shop.server.user("zoe").await;
    check(&summary(&stranger, "by=credential").await, &[]);

    // A user with `view_audit` sees all calls and credentials.
    let all = summary(&shop.auditor, "by=credential").await;
    assert_eq!(all["groups"].as_array().unwrap().len(), 5);
    assert!(groups(&all).iter().all(|(_, kind, ..)| kind == "token"));
    let of_caller = summary(&shop.auditor, "by=caller&caller=bob").await;
    check(&of_caller, &[("bob", "-", 5, 1)]);
}

#[tokio::test]
async fn a_summary_has_the_filters_of_the_list() {
    let shop = Shop::new().await;
    let by_space = format!("space_id={}", shop.lab.id);
    let filters = [
        "via=api",
        "via=mcp",
        "method=echo",
        "method=user.ann.echo",
        "method=user.ann.fail&outcome=error",
        "owner=ann",
        "owner=carl&caller=carl",
        "caller=nobody",
        "outcome=not_found",
        "code=7",
        "min_duration_ms=60000",
        "since=2001-01-01T00:00:00Z",
        "until=2001-01-01T00:00:00Z",
        by_space.as_str(),
    ];
    let mut counted = 0;
    for user in [&shop.ann, &shop.bob, &shop.carl, &shop.eve, &shop.auditor] {
        for filter in filters {
            let listed = calls(user, &format!("?{filter}")).await.len() as u64;
            for by in ["caller", "credential"] {
                let summary = summary(user, &format!("by={by}&{filter}")).await;
                let sum: u64 = groups(&summary).iter().map(|group| group.2).sum();
                assert_eq!(sum, listed, "{filter} by {}: {summary}", user.name);
                counted += sum;
            }
        }
    }
    assert!(counted > 0);
    // The space filter finds nothing for a caller, who must not learn which space answered.
    check(
        &summary(&shop.bob, &format!("by=caller&{by_space}")).await,
        &[],
    );
}

#[tokio::test]
async fn a_summary_keeps_calls_of_revoked_deactivated_and_deleted_callers() {
    let shop = Shop::new().await;
    let admin = shop.server.admin().await;
    let before = summary(&shop.auditor, "by=credential").await;
    let token = shop.second["id"].as_str().unwrap();
    shop.bob
        .delete(&format!("/api/tokens/{token}"))
        .await
        .expect(204);
    let user = format!("/api/users/{}", shop.bob.id);
    let inactive = json!({"active": false});
    admin.patch(&user, inactive).await.expect(200);
    assert_eq!(summary(&shop.auditor, "by=credential").await, before);
    let rejected = shop.bob.get("/api/calls/summary?by=caller").await;
    rejected.expect(401);

    admin.delete(&user).await.expect(204);
    let left = summary(&shop.ann, "by=caller").await;
    check(&left, &[("-", "-", 5, 1), ("ann", "-", 1, 0)]);
    assert_eq!(left["groups"][0]["caller_id"], json!(shop.bob.id));
}

#[tokio::test]
async fn wrong_summary_requests_are_rejected_and_many_at_once_are_answered() {
    let shop = Shop::new().await;
    for (query, text) in [
        ("", "`by`"),
        ("?by=", "`caller`"),
        ("?by=method", "`credential`"),
        ("?by=Caller", "`caller`"),
        ("?by=caller&by=credential", "`by`"),
        ("?by=caller&since=today", "`today`"),
        ("?by=caller&code=x", "`x`"),
        ("?by=caller&space_id=1", "`space_id`"),
    ] {
        let answer = shop.bob.get(&format!("/api/calls/summary{query}")).await;
        let answer = answer.expect(400);
        assert_eq!(answer.code(), "invalid_query", "{query}");
        assert!(answer.text().contains(text), "{query}: {}", answer.text());
    }
    let anonymous = shop.server.http();
    let anonymous = anonymous.request("GET", "/api/calls/summary?by=caller", &[], "");
    anonymous.await.expect(401);
    // The requests of one user wait for each other, and all of them are answered.
    let flood = (0..60).map(|_| summary(&shop.bob, "by=credential"));
    let (answers, of_other) = tokio::join!(join_all(flood), summary(&shop.carl, "by=caller"));
    check(&of_other, &[("carl", "-", 2, 0)]);
    for answer in answers {
        check(&answer, &[("bob", "token", 4, 1), ("bob", "token", 1, 0)]);
    }
}

#[tokio::test]
async fn the_command_line_shows_summaries() {
    let shop = Shop::new().await;
    let cli = || shop.server.cli(&shop.ann);
    let shown = cli().run(&["calls", "summary", "--since", "7d"]).await;
    let shown = shown.expect(0).stdout;
    let lines: Vec<Vec<_>> = shown
        .lines()
        .map(|line| line.split_whitespace().take(3).collect())
        .collect();
    assert_eq!(
        lines,
        [
            ["CALLER", "CALLS", "FAILED"],
            ["bob", "5", "1"],
            ["ann", "1", "0"]
        ]
    );
    let query = ["--by", "credential", "--caller", "ann"];
    let shown = cli()
        .run(&[&["calls", "summary"][..], &query].concat())
        .await
        .expect(0);
    assert!(shown.stdout.contains("CREDENTIAL"), "{}", shown.stdout);
    assert!(shown.stdout.contains("token "), "{}", shown.stdout);
    assert!(!shown.stdout.contains("bob"), "{}", shown.stdout);
    let json = cli().run(&["calls", "summary", "-o", "json"]).await;
    let json = json.expect(0).json();
    assert_eq!(json, summary(&shop.ann, "by=caller").await);
    let wrong = cli().run(&["calls", "summary", "--by", "method"]).await;
    assert!(wrong.expect(2).stderr.contains("caller, credential"));
}
