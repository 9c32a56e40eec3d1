//! `overflow = "hold"` in a zone. A receiver is away while servers are killed, or frozen longer
//! than their leases. The receiver gets every event later, some perhaps more than once. Without the
//! repetitions, the events are in order.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use svc_testkit::{
    Received, Reply, TestPostgres, TestReceiver, TestServerBuilder, TestUser, TestZone, eventually,
};
use tokio::time::timeout;

use super::{at_each, reaching_tests};
use crate::events::{
    crash::{first_arrivals, ids},
    hold::{holding_webhook, rounds},
};

const SERVERS: usize = 3;
const EMITTERS: usize = 3;
const PER_ROUND: usize = 300;
const LEASE: Duration = Duration::from_secs(4);
/// How long a server stays frozen: longer than its lease plus the time between two renewals.
const FROZEN: Duration = Duration::from_millis(5_600);
/// How long an emitter waits for a response before it tries another server.
const PATIENCE: Duration = Duration::from_secs(2);

fn short_lease(builder: TestServerBuilder) -> TestServerBuilder {
    let seconds = LEASE.as_secs().to_string();
    reaching_tests(builder).env("SVC_LEASE_SECONDS", &seconds)
}

/// One client: emits events in order, and repeats each emit with the same key until a server
/// acknowledges it.
async fn run_client(
    at: Vec<TestUser>,
    client: usize,
    next: Arc<AtomicUsize>,
    total: usize,
) -> Vec<String> {
    let (mut sent, mut tries) = (Vec::new(), client);
    while next.fetch_add(1, Ordering::SeqCst) < total {
        let n = sent.len();
        let key = format!("hold-{client}-{n}");
        let body = json!({"type": "hold.x", "payload": {"client": client, "n": n}});
        let id = loop {
            tries += 1;
            let user = &at[tries % SERVERS];
            if let Ok(Ok(answer)) = timeout(PATIENCE, user.emit_with_key(&key, &body)).await
                && answer.status == 202
            {
                break answer.json()["event_id"].as_str().unwrap().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        sent.push(id);
    }
    sent
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_lane_survives_kills_and_freezes_of_the_servers_of_a_zone() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let (rounds, total) = (rounds(), rounds() * PER_ROUND);
    let mut zone = TestZone::start_with(postgres, SERVERS, short_lease).await;
    let receiver = TestReceiver::start().await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, SERVERS).await;
    let sink = holding_webhook(&ann, "away", "custom.hold.*", &receiver.url("/hook")).await;
    let next = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..EMITTERS)
        .map(|client| tokio::spawn(run_client(at.clone(), client, Arc::clone(&next), total)))
        .collect();
    for round in 0..rounds {
        let is_away = round % 4 != 3;
        receiver.set(
            "/hook",
            match is_away {
                true => Reply::Hang,
                false => Reply::Status(200),
            },
        );
        let goal = (round * total / rounds).saturating_sub(EMITTERS);
        eventually("events are emitted", 4 * crate::SOON, || async {
            next.load(Ordering::SeqCst) >= goal
        })
        .await;
        let member = round % SERVERS;
        match round % 2 {
            0 => {
                zone.freeze(member);
                tokio::time::sleep(FROZEN).await;
                zone.thaw(member);
            }
            _ => {
                zone.kill(member);
                zone.restart(member).await;
            }
        }
    }
    let mut expected = Vec::new();
    for client in clients {
        expected.push(client.await.unwrap());
    }
    receiver.set("/hook", Reply::Status(200));
    eventually("all events arrive", Duration::from_secs(300), || async {
        let record = sink.record().await;
        record["queue_depth"] == 0 && record["held"] == false
    })
    .await;
    let arrived = first_arrivals(receiver.received("/hook"));
    assert_eq!(
        arrived.len(),
        total,
        "every acknowledged event, and no other"
    );
    for (client, expected) in expected.iter().enumerate() {
        let of_client = |one: &&Received| one.json()["data"]["client"] == client;
        let of_client: Vec<_> = arrived.iter().filter(of_client).cloned().collect();
        assert_eq!(
            &ids(&of_client),
            expected,
            "client {client} is out of order"
        );
    }
    // Each event was queued once.
    let deliveries = sink.deliveries().await;
    assert_eq!(deliveries.len(), total);
    let admin = zone.admin(0);
    for lost in ["event_sink.dropped", "event_sink.lost", "event_sink.dead"] {
        assert_eq!(
            admin.audit_entries(lost).await,
            Vec::<Value>::new(),
            "{lost}"
        );
    }
}
