//! The condition in SQL and the function of `core` decide the same about varied lanes.

use std::collections::BTreeSet;

use svc_core::{EventId, SinkId, Timestamp, UserId, pattern::Pattern};
use svc_protocol::api::{SinkPause, SinkType, WebhookConfig};
use uuid::Uuid;

use super::*;
use crate::{
    engines::{TestEngine, on_each_engine},
    lanes::{self, FeedSelection, NewFeed},
    records,
    sinks::{self, SinkConfig},
};

const ANN: UserId = UserId(Uuid::from_u128(1));
const SINKS: u128 = 50;

/// Numbers that vary, and are the same in every run.
struct Numbers(u64);

impl Numbers {
    /// True once in `times` times.
    fn is_chosen(&mut self, times: u64) -> bool {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33).is_multiple_of(times)
    }
}

fn sink(number: u128, numbers: &mut Numbers) -> SinkRow {
    let paused = numbers.is_chosen(10);
    SinkRow {
        id: SinkId(Uuid::from_u128(number)),
        owner_key: ANN.to_string(),
        owner_id: ANN,
        name: format!("sink {number}"),
        description: String::new(),
        patterns: Pattern::parse_list("custom.*").expect("valid"),
        kind: SinkType::Webhook,
        active: !paused && !numbers.is_chosen(8),
        config: SinkConfig::Webhook(WebhookConfig {
            url: "https://example.org".to_owned(),
            ..WebhookConfig::default()
        }),
        policy: Default::default(),
        paused: paused.then(|| SinkPause {
            at: Timestamp(1),
            reason: "it fails".to_owned(),
            until_corrected: false,
        }),
        secret: None,
        previous_secret: None,
        previous_until: None,
        sealed_headers: None,
        sealed_client_key: None,
        created_at: Timestamp(0),
    }
}

fn insert_delivery(
    tx: &mut Tx<'_>,
    lane: LaneId,
    (n, state): (u64, &str),
    finished_at: Option<Timestamp>,
) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO deliveries (lane_id, n, event_id, event_type, state, queued_at, finished_at)
         VALUES (?1, ?2, ?3, 'custom.x', ?4, 0, ?5)",
        values![lane, n, EventId(Uuid::now_v7()), state, finished_at],
    )
}

/// Gives the lane of a sink a past: dropped events, dead deliveries, failed attempts, feeds.
fn fill(tx: &mut Tx<'_>, sink: SinkId, numbers: &mut Numbers) -> Result<(), StoreError> {
    let lane: LaneId = tx.get("SELECT id FROM lanes WHERE sink_id = ?1", values![sink])?;
    let keyed = numbers.is_chosen(3);
    let failures = u32::from(numbers.is_chosen(6));
    let dropped = u64::from(numbers.is_chosen(4));
    let recovered = dropped * u64::from(numbers.is_chosen(2));
    tx.execute(
        "UPDATE lanes SET keyed = ?2, failures = ?3, dropped = ?4, recovered = ?5, tail = 3
         WHERE id = ?1",
        values![lane, keyed, failures, dropped, recovered],
    )?;
    if numbers.is_chosen(4) {
        insert_delivery(tx, lane, (1, "dead"), Some(Timestamp(5)))?;
        if numbers.is_chosen(2) {
            let sql = "UPDATE deliveries SET resent_as = 3 WHERE lane_id = ?1 AND n = 1";
            tx.execute(sql, values![lane])?;
        }
    }
    if numbers.is_chosen(2) {
        let state = match numbers.is_chosen(3) {
            true => "dead",
            false => "delivered",
        };
        insert_delivery(tx, lane, (2, state), Some(Timestamp(10)))?;
    }
    if numbers.is_chosen(2) {
        insert_delivery(tx, lane, (3, "pending"), None)?;
        let failures = u32::from(numbers.is_chosen(4));
        let sql = "UPDATE deliveries SET failures = ?2 WHERE lane_id = ?1 AND n = 3";
        tx.execute(sql, values![lane, failures])?;
    }
    for started_at in [Timestamp(7), Timestamp(10)] {
        if numbers.is_chosen(4) {
            let feed = NewFeed {
                selection: FeedSelection::Deliveries { numbers: vec![1] },
                position: "0".to_owned(),
                total: 1,
                started_at,
            };
            lanes::add_feed(tx, lane, &feed)?;
        }
    }
    Ok(())
}

async fn the_condition_in_sql_is_the_function_of_core(engine: &TestEngine) {
    let store = engine.open().await;
    let fill_all = |tx: &mut Tx<'_>| {
        let mut numbers = Numbers(7);
        for number in 1..=SINKS {
            let sink = sink(number, &mut numbers);
            sinks::insert(tx, &sink)?;
            fill(tx, sink.id, &mut numbers)?;
        }
        Ok(())
    };
    store.write(fill_all).await.expect("filled");
    let find = |tx: &mut Tx<'_>| {
        let by_sql: Vec<SinkId> = tx.list(
            &format!(
                "SELECT s.id FROM event_sinks s JOIN lanes l ON l.sink_id = s.id WHERE {}",
                needs_attention()
            ),
            &[],
        )?;
        let mut by_function = BTreeSet::new();
        for number in 1..=SINKS {
            let id = SinkId(Uuid::from_u128(number));
            let sink: SinkRow = records::find(tx, id)?.expect("inserted");
            if sinks::status(tx, id)?.needs_attention(&sink) {
                by_function.insert(id);
            }
        }
        Ok((by_sql.into_iter().collect::<BTreeSet<_>>(), by_function))
    };
    let (by_sql, by_function) = store.read(find).await.expect("read");
    assert_eq!(by_sql, by_function);
    assert!((10..=40).contains(&by_sql.len()), "{}", by_sql.len());
}

on_each_engine!(the_condition_in_sql_is_the_function_of_core);
