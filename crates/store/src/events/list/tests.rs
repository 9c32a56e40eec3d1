use serde_json::json;
use svc_core::{
    SpaceId, Timestamp, UserId,
    event::{Actor, Event},
    json_text::JsonText,
};
use svc_protocol::api::AuditQuery;
use uuid::Uuid;

use super::*;
use crate::{
    Store, audit,
    dispatch::store_event,
    engines::{TestEngine, on_each_engine},
    events::first_id_at,
    page::PAGE_BYTES_MAX,
};

const ANN: UserId = UserId(Uuid::from_u128(1));
const BEN: UserId = UserId(Uuid::from_u128(2));
const LAB: SpaceId = SpaceId(Uuid::from_u128(3));

/// An event whose id and time are derived from the number.
fn event(number: u32, owner: UserId, event_type: &str) -> Event {
    let at = Timestamp(1_700_000_000_000 + i64::from(number));
    Event {
        id: first_id_at(at),
        r#type: event_type.to_owned(),
        ts: at,
        owner_id: owner,
        space_id: if number.is_multiple_of(5) {
            LAB
        } else {
            SpaceId::NIL
        },
        actor: Actor::system(),
        data: JsonText::from(&json!({})),
        trace: None,
    }
}

async fn insert_all(store: &Store, events: Vec<Event>) {
    let writing = store.write(move |tx| events.iter().try_for_each(|event| store_event(tx, event)));
    writing.await.expect("committed");
}

/// The numbers of the events on all pages of a list.
async fn numbers(store: &Store, filter: &Filter, limit: u32) -> Vec<i64> {
    let (mut cursor, mut numbers) = (None::<String>, Vec::new());
    loop {
        let page = PageRequest::parse(cursor.as_deref(), Some(limit)).expect("valid");
        let filter = filter.clone();
        let page = store.read(move |tx| list(tx, &filter, page)).await;
        let page = page.expect("read");
        let number = |event: &EventRecord| event.event_ts.0 - 1_700_000_000_000;
        numbers.extend(page.items.iter().map(number));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return numbers;
        }
    }
}

fn patterns(text: &str) -> Vec<Pattern> {
    Pattern::parse_list(text).expect("valid")
}

/// The list compares only the newest events one by one, and finds older events with an index. This
/// test inserts enough events for both.
async fn filters_find_all_matching_events_however_old(engine: &TestEngine) {
    let store = engine.open().await;
    let kinds = [
        "custom.usual",
        "custom.rare.a",
        "custom.rare.b",
        "space.started",
    ];
    let of = |number: u32| {
        let owner = if number.is_multiple_of(3) { BEN } else { ANN };
        let kind = match number {
            // Rare types occur among the oldest events, and a few among the newest.
            0..=30 => kinds[1 + number as usize % 2],
            3_990.. => kinds[number as usize % 4],
            _ => kinds[0],
        };
        event(number, owner, kind)
    };
    let events: Vec<_> = (0..4_000).map(of).collect();
    insert_all(&store, events.clone()).await;
    let until = Timestamp(1_700_000_000_000 + 20);
    for text in [
        "custom.rare.*",
        "custom.rare.a",
        "custom.rare.a,custom.rare.*,custom.r*",
        "space.*",
        "custom.none",
        "*",
    ] {
        for owner in [None, Some(ANN)] {
            for space in [None, Some(SpaceId::NIL), Some(LAB)] {
                for until in [None, Some(until)] {
                    let filter = Filter {
                        owner,
                        space,
                        patterns: patterns(text),
                        since: None,
                        until,
                        undelivered_by: None,
                    };
                    let expected = events.iter().rev().filter(|event| {
                        owner.is_none_or(|owner| event.owner_id == owner)
                            && space.is_none_or(|space| event.space_id == space)
                            && until.is_none_or(|until| event.ts <= until)
                            && filter.patterns.iter().any(|p| p.matches(&event.r#type))
                    });
                    let expected: Vec<_> = expected
                        .map(|event| event.ts.0 - 1_700_000_000_000)
                        .collect();
                    let limit = if text == "*" { 1_000 } else { 7 };
                    let found = numbers(&store, &filter, limit).await;
                    assert_eq!(found, expected, "{filter:?}");
                }
            }
        }
    }
}

async fn a_page_ends_at_its_byte_limit_and_the_next_page_continues(engine: &TestEngine) {
    let store = engine.open().await;
    let large = |number| Event {
        data: JsonText::from(&json!({"text": "x".repeat(200 * 1024)})),
        ..event(number, ANN, "custom.large")
    };
    insert_all(&store, (0..12).map(large).collect()).await;
    for text in ["*", "custom.*"] {
        let filter = Filter {
            patterns: patterns(text),
            ..Filter::default()
        };
        let one = filter.clone();
        let page = store.read(move |tx| list(tx, &one, PageRequest::default()));
        let page = page.await.expect("read");
        let bytes: usize = page
            .items
            .iter()
            .map(|event| event.data.as_str().len())
            .sum();
        assert!(bytes as u64 <= PAGE_BYTES_MAX, "{bytes}");
        assert_eq!(page.items.len(), 5);
        let all: Vec<_> = (0..12).rev().collect();
        assert_eq!(numbers(&store, &filter, 1_000).await, all);
    }
}

on_each_engine!(
    filters_find_all_matching_events_however_old,
    a_page_ends_at_its_byte_limit_and_the_next_page_continues,
);

async fn explain(store: &Store, sql: String, values: Vec<Value>) -> String {
    let explaining = store.write(move |tx| {
        tx.query(&format!("EXPLAIN QUERY PLAN {sql}"), &values)?
            .iter()
            .map(|row| row.get::<String>("detail"))
            .collect::<Result<Vec<_>, _>>()
    });
    explaining.await.expect("explained").join("\n")
}

/// In a query plan, SEARCH reads a part of a table or index, and SCAN reads all of it.
#[tokio::test]
async fn no_filter_of_the_history_reads_the_whole_table() {
    let store = TestEngine::embedded().open().await;
    let at = Some(Timestamp(1_700_000_000_000));
    for owner in [None, Some(ANN)] {
        for space in [None, Some(SpaceId::NIL), Some(LAB)] {
            for (since, until) in [(None, None), (at, None), (None, at)] {
                let filter = Filter {
                    owner,
                    space,
                    patterns: Vec::new(),
                    since,
                    until,
                    undelivered_by: None,
                };
                let all = (Id(Uuid::nil()), Id(Uuid::max()));
                for order in [Order::NewestFirst, Order::OldestFirst] {
                    let (sql, values) = window::window_sql(&filter, all, order, 10);
                    let plan = explain(&store, sql, values).await;
                    let index = match (space, owner) {
                        (Some(LAB), _) => "events_by_space (space_id=? AND id>? AND id<?)",
                        (_, None) => "(id>? AND id<?)",
                        (_, Some(_)) => "events_by_owner (owner_id=? AND id>? AND id<?)",
                    };
                    assert!(plan.starts_with("SEARCH events USING"), "{plan}");
                    assert!(plan.contains(index), "{filter:?}\n{plan}");
                    assert!(!plan.contains("TEMP B-TREE"), "{filter:?}\n{plan}");
                }
                if space.is_some() {
                    continue;
                }
                let index = match owner {
                    None => "events_by_type (type=? AND id>? AND id<?)",
                    Some(_) => "events_by_owner_and_type (owner_id=? AND type=? AND id>? AND id<?)",
                };
                let (sql, values) = older_sql(&filter, "custom.rare", all.1, 10);
                let plan = explain(&store, sql, values).await;
                assert!(plan.contains(index), "{filter:?}\n{plan}");
                assert!(!plan.contains("TEMP B-TREE"), "{filter:?}\n{plan}");
                let (sql, values) = next_type_sql(&filter, ("custom.", ">="), "custom.");
                let plan = explain(&store, sql, values).await;
                assert!(plan.contains("type>? AND type<?"), "{filter:?}\n{plan}");
                assert!(!plan.contains("TEMP B-TREE"), "{filter:?}\n{plan}");
            }
        }
    }
}

#[tokio::test]
async fn no_filter_of_the_audit_log_reads_the_whole_table() {
    let store = TestEngine::embedded().open().await;
    let some = || Some("x".to_owned());
    let none = AuditQuery::default();
    for (filter, index) in [
        (none.clone(), "(id>? AND id<?)"),
        (
            AuditQuery {
                actor: some(),
                ..none.clone()
            },
            "audit_by_actor",
        ),
        (
            AuditQuery {
                action: some(),
                ..none.clone()
            },
            "audit_by_action",
        ),
        (
            AuditQuery {
                target_id: some(),
                ..none.clone()
            },
            "audit_by_target",
        ),
        (
            AuditQuery {
                target_type: some(),
                ..none.clone()
            },
            "audit_by_target_type",
        ),
        (
            AuditQuery {
                target_type: some(),
                target_id: some(),
                ..none.clone()
            },
            "audit_by_target",
        ),
        (
            AuditQuery {
                since: Some(Timestamp(1_700_000_000_000)),
                ..none.clone()
            },
            "(id>? AND id<?)",
        ),
    ] {
        let (sql, values) = audit::window_sql(&filter, Id(Uuid::max()), 10);
        let plan = explain(&store, sql, values).await;
        assert!(
            plan.contains("SEARCH") && plan.contains(index),
            "{filter:?}\n{plan}"
        );
        assert!(!plan.contains("TEMP B-TREE"), "{filter:?}\n{plan}");
    }
}
