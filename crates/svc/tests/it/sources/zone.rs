//! Sources and schedules of a zone of servers.

use std::collections::BTreeMap;

use serde_json::json;
use svc_core::source::settings::VerifyType;
use svc_testkit::{TestPostgres, TestZone, eventually};

use super::{Sender, events_of};
use crate::SOON;

const SCHEDULES: usize = 60;
const ROUNDS: usize = 4;

#[tokio::test]
async fn a_source_works_at_every_server_and_a_delivery_makes_one_event() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let here = Sender::of_type(&ann, VerifyType::Standard).await;
    let there = Sender {
        user: ann.at(zone.server(1)),
        ..Sender::of_type(&ann, VerifyType::None).await
    };
    // The other server knows a new source at once.
    there.send("", &[], "{}").await.expect(202);
    let first = here.send("msg_1", &[], "{}").await.expect(202).json();
    let elsewhere = Sender {
        user: ann.at(zone.server(1)),
        id: here.id.clone(),
        path: here.path.clone(),
        secret: here.secret.clone(),
        verification: here.verification.clone(),
    };
    assert_eq!(
        elsewhere.send("msg_1", &[], "{}").await.expect(202).json(),
        first
    );
    // A deletion is in effect everywhere.
    ann.delete(&format!("/api/sources/{}", here.id))
        .await
        .expect(204);
    eventually("the URL ends at the other server", SOON, || async {
        elsewhere.send("msg_2", &[], "{}").await.status == 404
    })
    .await;
}

/// In each round all runs are due at the same time, and one of the three servers is killed near
/// that time.
#[tokio::test]
async fn each_run_has_one_event_although_servers_are_killed() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start(postgres, 3).await;
    let ann = zone.server(0).user("ann").await;
    for n in 0..SCHEDULES {
        let body = json!({"name": format!("s{n}"), "cron": "0 0 1 1 *", "missed": "once"});
        ann.post("/api/schedules", body).await.expect(201);
    }
    let mut expected = 0;
    for round in 0..ROUNDS {
        let reader = ann.at(zone.server(0));
        let before = events_of(&reader).await.len();
        let due = svc_clock::now().0 + 700;
        let database = zone.database().name.clone();
        // The new schedule makes the servers read all schedules again.
        postgres.sql(&database, &format!("UPDATE schedules SET next_at = {due}"));
        let trigger = json!({"name": format!("t{round}"), "cron": "0 0 1 1 *"});
        ann.at(zone.server(0))
            .post("/api/schedules", trigger)
            .await
            .expect(201);
        expected += SCHEDULES + round;
        let killed = 1 + round % 2;
        eventually("a run of the round", SOON, || async {
            events_of(&reader).await.len() > before
        })
        .await;
        zone.kill(killed);
        eventually("all runs of the round", SOON, || async {
            events_of(&reader).await.len() >= expected
        })
        .await;
        zone.restart(killed).await;
    }
    let events = events_of(&ann.at(zone.server(0))).await;
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for event in &events {
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let key = (
            text(&event["event_type"]),
            text(&event["data"]["scheduled_at"]),
        );
        *counts.entry(key).or_default() += 1;
    }
    assert_eq!(events.len(), expected);
    assert!(counts.values().all(|&count| count == 1), "{counts:?}");
}
