use serde_json::{Value, json};
use uuid::Uuid;

use super::*;

const WINDOW: Duration = Duration::from_secs(60);

fn id(number: u128) -> UserId {
    UserId(Uuid::from_u128(number))
}

fn call(owner: u128, method: &str, outcome: &str, ms: f64) -> Call {
    let call = json!({
        "id": Uuid::now_v7(), "at": "2026-11-17T08:00:00.000Z", "caller_id": id(1), "caller": "ann",
        "credential": null, "via": "api", "method": method, "owner_id": id(owner),
        "owner": if owner == 1 { "ann" } else { "ben" }, "space_id": null, "space": null,
        "outcome": outcome, "code": null, "duration_ms": ms, "queue_ms": null, "method_ms": null,
        "params_bytes": 0, "result_bytes": 0, "trace_id": null,
    });
    serde_json::from_value(call).expect("a call")
}

fn method(owner: u128, name: &str, providers: &Value) -> Method {
    let method = json!({
        "name": name, "description": "", "keywords": [], "scope": "shared", "mcp_tool": false,
        "mcp_tool_name": null, "params_schema": null, "result_schema": null, "owner_id": id(owner),
        "owner": if owner == 1 { "ann" } else { "ben" }, "provider_count": 1, "local_name": null,
        "groups": [], "events": [], "event_sinks": [], "providers": providers,
    });
    serde_json::from_value(method).expect("a method")
}

fn now() -> Timestamp {
    Timestamp::parse("2026-11-17T08:00:30.000Z").expect("a time")
}

#[test]
fn calls_count_for_the_method_of_their_owner_and_the_busiest_is_first() {
    let provider =
        json!([{"space_id": Uuid::nil(), "space": "lab", "in_flight": 3, "state": "ready"}]);
    let methods = vec![
        method(1, "total", &provider),
        method(2, "user.ben.total", &json!([])),
    ];
    let mut calls = vec![call(1, "total", "ok", 4.0)];
    calls.extend((1..=3).map(|ms| call(2, "total", "error", f64::from(ms))));
    calls.push(call(1, "missing", "not_found", 1.0));
    let figures = of_methods(id(1), methods, &calls, now(), WINDOW);
    let names: Vec<_> = figures.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["user.ben.total", "missing", "total"]);
    let load = figures[0].load;
    assert_eq!(load.calls_per_second, 3.0 / 60.0);
    assert_eq!(load.failed_per_second, 3.0 / 60.0);
    assert_eq!((load.p50_ms, load.p95_ms), (Some(2.0), Some(3.0)));
    assert_eq!((figures[0].in_flight, figures[0].providers), (None, 1));
    assert_eq!((figures[1].in_flight, figures[1].providers), (None, 0));
    assert_eq!(
        (figures[2].in_flight, figures[2].load.failed_per_second),
        (Some(3), 0.0)
    );
}

#[test]
fn a_full_page_counts_for_the_time_that_it_covers() {
    let calls = vec![call(1, "total", "ok", 1.0); PAGE_MAX as usize];
    let methods = vec![method(1, "total", &json!([]))];
    let figures = of_methods(id(1), methods, &calls, now(), WINDOW);
    // The page is full, so earlier calls may be missing. The oldest call of the page is 30 s old,
    // so the calls count for 30 s and not for the whole window.
    assert_eq!(figures[0].load.calls_per_second, f64::from(PAGE_MAX) / 30.0);
}
