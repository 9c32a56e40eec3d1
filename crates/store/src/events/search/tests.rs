use serde_json::json;
use svc_core::{
    SpaceId, Timestamp, UserId,
    event::{Actor, Event},
    json_text::JsonText,
};
use uuid::Uuid;

use super::*;
use crate::{
    dispatch::store_event,
    engines::{TestEngine, on_each_engine},
    events::first_id_at,
};

const ANN: UserId = UserId(Uuid::from_u128(1));
const START: i64 = 1_700_000_000_000;

fn event(number: u32, actor: &str, data: &serde_json::Value) -> Event {
    let at = Timestamp(START + i64::from(number));
    Event {
        id: first_id_at(at),
        r#type: "custom.order".to_owned(),
        ts: at,
        owner_id: ANN,
        space_id: SpaceId::NIL,
        actor: Actor {
            username: actor.to_owned(),
            ..Actor::system()
        },
        data: JsonText::from(data),
        trace: None,
    }
}

/// Stores the events and reads all pages of a search. Returns the numbers of the events that were
/// found, and the number of requests.
async fn find_all(engine: &TestEngine, events: Vec<Event>, wanted: Search) -> (Vec<i64>, u32) {
    let store = engine.open().await;
    let writing = store.write(move |tx| events.iter().try_for_each(|event| store_event(tx, event)));
    writing.await.expect("committed");
    let (mut cursor, mut numbers, mut requests) = (None::<String>, Vec::new(), 0);
    loop {
        let page = PageRequest::parse(cursor.as_deref(), Some(2)).expect("valid");
        let wanted = wanted.clone();
        let found = store
            .read(move |tx| search(tx, &Filter::default(), &wanted, page))
            .await
            .expect("read");
        requests += 1;
        numbers.extend(found.items.iter().map(|event| event.event_ts.0 - START));
        cursor = found.next_cursor;
        if cursor.is_none() {
            return (numbers, requests);
        }
    }
}

async fn a_search_finds_actors_and_parts_of_payloads(engine: &TestEngine) {
    let events = (0..10).map(|number| {
        let actor = if number % 2 == 0 { "ann" } else { "ben" };
        event(
            number,
            actor,
            &json!({"order": format!("A-{number}"), "city": "Köln"}),
        )
    });
    let wanted = Search {
        actor: Some("ben".to_owned()),
        text: Some("KÖLN".to_owned()),
    };
    let (numbers, _) = find_all(engine, events.collect(), wanted).await;
    assert_eq!(numbers, [9, 7, 5, 3, 1]);
}

/// The only matching event is older than the events that one request reads.
async fn a_request_reads_a_limited_number_of_events_and_the_next_one_goes_on(engine: &TestEngine) {
    let events = (0..EVENTS_MAX + 10).map(|number| {
        let order = if number == 0 { "rare" } else { "usual" };
        event(number, "ann", &json!({"order": order}))
    });
    let wanted = Search {
        text: Some("rare".to_owned()),
        ..Search::default()
    };
    let (numbers, requests) = find_all(engine, events.collect(), wanted).await;
    assert_eq!((numbers, requests), (vec![0], 2));
}

async fn a_request_reads_a_limited_number_of_bytes(engine: &TestEngine) {
    let filling = "x".repeat(250_000);
    let events = (0..50).map(|number| event(number, "ann", &json!({"text": &filling})));
    let wanted = Search {
        text: Some("absent".to_owned()),
        ..Search::default()
    };
    let (numbers, requests) = find_all(engine, events.collect(), wanted).await;
    assert_eq!((numbers, requests), (vec![], 2));
}

on_each_engine!(
    a_search_finds_actors_and_parts_of_payloads,
    a_request_reads_a_limited_number_of_events_and_the_next_one_goes_on,
    a_request_reads_a_limited_number_of_bytes,
);
