//! Requests about a long history. A statement of `Store::read` that reads all of it exceeds its
//! budget, and the request is answered with 500: see `svc_store::Store::read`.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use svc_core::{Id, UserId};
use svc_store::testing;

use super::{
    super::{
        router::{Route, routes},
        rule::Needs,
    },
    Fixture,
};

/// The number of stored records of each kind. A statement that reads all of them exceeds its budget.
const STORED: u32 = 200_000;

/// Routes whose answers do not end, or that need another service.
const LEFT_OUT: &[&str] = &[
    "/api/events/stream",
    "/api/calls/stream",
    "/mcp",
    "/api/oidc/providers/{id}/check",
];

/// Stores a long history of mallory: events, deliveries of a sink, audit entries, deleted spaces,
/// and many users of mallory's app and provider. Returns the id of an event.
async fn fill(fixture: &Fixture) -> String {
    let mallory = fixture.process("mallory").user.id;
    let admin = fixture.process("admin").user.id;
    let of = |list: &str| fixture.ids[list].clone();
    let (sink, app, provider) = (
        of("/api/event-sinks"),
        of("/api/oauth/clients"),
        of("/api/oidc/providers"),
    );
    let sql = statements(mallory, admin, (&sink, &app, &provider));
    let filling = fixture
        .app
        .store
        .write(move |tx| testing::execute_script(tx, &sql));
    filling.await.expect("filled");
    format!("018bcfe5-0000-7000-8000-{:012x}", 1)
}

fn statements(mallory: UserId, admin: UserId, (sink, app, provider): (&str, &str, &str)) -> String {
    let numbers = format!(
        "WITH RECURSIVE numbers (n) AS (
             SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {STORED})"
    );
    let id = "'018bcfe5-0000-7000-8000-' || printf('%012x', n)";
    let actor = Id(mallory.0);
    [
        format!(
            "INSERT INTO events (id, type, ts, owner_id, space_id, actor, data, seq)
             SELECT {id}, 'custom.x', 1700000000000 + n, '{mallory}',
                 '00000000-0000-0000-0000-000000000000',
                 '{{\"id\":\"{actor}\",\"username\":\"mallory\",\"kind\":\"user\"}}', '{{}}', n + 1000000
             FROM numbers"
        ),
        format!(
            "INSERT INTO deliveries
                 (lane_id, n, event_id, event_type, state, queued_at, finished_at)
             SELECT l.id, n, {id}, 'custom.x', 'delivered', 1, 1
             FROM lanes l, numbers WHERE l.sink_id = '{sink}'"
        ),
        format!(
            "INSERT INTO audit (id, at, actor, action, target_type, target_id, detail)
             SELECT {id}, 1700000000000 + n, 'mallory', 'x.y', 'x', 'x', '{{}}' FROM numbers"
        ),
        format!(
            "INSERT INTO spaces
                 (id, name, owner_id, state, health, runtime, health_check, space_urls, created_at)
             SELECT {id}, 'old', '{mallory}', 'deleted', 'unknown', 'external', '{{}}', '{{}}', 1
             FROM numbers"
        ),
        format!(
            "INSERT INTO oauth_grants
                 (id, user_id, client_id, scopes, resource, redirect_host, created_at, expires_at)
             SELECT {id}, '{mallory}', '{app}', 'mcp', 'x', 'x', 1, 1 FROM numbers"
        ),
        format!(
            "INSERT INTO oidc_identities (id, provider_id, user_id, issuer, sub, created_at)
             SELECT {id}, '{provider}', '{admin}', 'x', {id}, 1 FROM numbers"
        ),
    ]
    .map(|insert| format!("{numbers} {insert};"))
    .join("\n")
        + &format!(
            "UPDATE lanes SET tail = {STORED}, refill_from = 1, refilling = 1 WHERE sink_id = '{sink}';"
        )
}

/// Requests that read the history in another way than a `GET`.
fn reading_posts() -> Vec<(&'static str, Value)> {
    let since = "2020-01-01T00:00:00Z";
    vec![
        (
            "/api/event-sinks/{id}/replay",
            json!({"only": "undelivered", "dry_run": true, "since": since}),
        ),
        (
            "/api/event-sinks/{id}/replay",
            json!({"dry_run": true, "since": since}),
        ),
        (
            "/api/event-sinks/{id}/resend",
            json!({"dead_since": since, "dry_run": true}),
        ),
        (
            "/api/event-sinks/{id}/backtest",
            json!({"since": since, "patterns": ["none.*"]}),
        ),
    ]
}

fn is_read(route: &Route) -> bool {
    route.method == Method::GET && !LEFT_OUT.contains(&route.path)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_small_read_of_any_request_depends_on_the_length_of_the_history() {
    let mut fixture = Fixture::new().await;
    let event = fill(&fixture).await;
    fixture.ids.insert("/api/events", event.clone());
    fixture.ids.insert("/api/calls", event);
    let mut failed = Vec::new();
    for route in routes().iter().filter(|route| is_read(route)) {
        let caller = fixture.mallory(route.rule.needs);
        let (status, answer) = fixture.send(caller, &Method::GET, route.path, "x").await;
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            failed.push(format!("GET {}: {answer}", route.path));
        }
    }
    let caller = fixture.mallory(Needs::Caller);
    for query in [
        "type=none.*",
        "type=none",
        "until=2020-01-01T00:00:00Z",
        "text=none",
    ] {
        let path = format!("/api/events?{query}");
        let (status, answer) = fixture.send(caller.clone(), &Method::GET, &path, "x").await;
        if status != StatusCode::OK {
            failed.push(format!("GET {path}: {status} {answer}"));
        }
    }
    for (path, body) in reading_posts() {
        let (status, answer) = fixture
            .send_body(caller.clone(), &Method::POST, path, body.clone())
            .await;
        if status != StatusCode::OK {
            failed.push(format!("POST {path} {body}: {status} {answer}"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    fixture.close().await;
}
