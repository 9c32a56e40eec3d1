//! A server that hangs while it delivers, and goes on when its lane is somebody else's.

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::{
    Reply, TestPostgres, TestReceiver, TestServerBuilder, TestUser, TestZone, get_eventually,
};

use super::{at_each, reaching_tests};
use crate::SOON;

/// How long a server may hold a lane without a sign of life.
const LEASE: Duration = Duration::from_secs(2);

fn short_lease(builder: TestServerBuilder) -> TestServerBuilder {
    let seconds = LEASE.as_secs().to_string();
    reaching_tests(builder).env("SVC_LEASE_SECONDS", &seconds)
}

/// The member that delivers from a lane just now.
async fn holder(zone: &TestZone, admin: &TestUser) -> usize {
    get_eventually("a server has the lane", SOON, || async {
        let listed = admin.get("/api/servers").await.expect(200).json();
        let servers = listed["servers"].as_array().cloned().unwrap_or_default();
        let holding = servers.iter().find(|server| server["leases"] == 1)?;
        (0..2).find(|&member| holding["url"] == zone.server(member).url())
    })
    .await
}

fn attempts(delivery: &Value) -> usize {
    delivery["attempts"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_frozen_servers_late_finish_is_refused_by_its_fence() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start_with(postgres, 2, short_lease).await;
    let database = zone.database().name.clone();
    let receiver = TestReceiver::start().await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    receiver.set("/hook", Reply::Hang);
    let sink = ann
        .webhook("hook", "custom.a", &receiver.url("/hook"))
        .await;
    let first = ann.emit("a", json!({"n": 1})).await;
    receiver.wait_for("/hook", 1, SOON).await;
    let frozen = holder(&zone, zone.admin(0)).await;
    let other = 1 - frozen;
    let seen_by_other = svc_testkit::TestSink {
        owner: at[other].clone(),
        ..sink.clone()
    };
    let lane = || {
        let sql = format!(
            "SELECT depth, tail, starts, fence FROM lanes WHERE sink_id = '{}'",
            sink.id
        );
        postgres.sql(&database, &sql)
    };
    assert_eq!(lane(), "1|1|1|1");
    zone.freeze(frozen);
    // The lease runs out, and the other one makes the same delivery.
    let received = receiver.wait_for("/hook", 2, LEASE + SOON).await;
    for request in &received {
        assert_eq!(request.header("x-service-event-id"), first);
    }
    // The answer to the frozen one waits in its socket.
    receiver.set("/hook", Reply::Status(200));
    let delivered = seen_by_other.wait_for("delivered", 1, SOON).await;
    assert_eq!(attempts(&delivered[0]), 1);
    // The next delivery is under way when the frozen server goes on.
    receiver.set("/hook", Reply::Hang);
    let second = at[other].emit("a", json!({"n": 2})).await;
    receiver.wait_for("/hook", 3, SOON).await;
    let before = lane();
    zone.thaw(frozen);
    let lost = "a lane was lost while delivering";
    let process = zone.server_mut(frozen).process();
    process.wait_for_log(lost, 2 * SOON).await;
    let deliveries = seen_by_other.deliveries().await;
    assert_eq!(deliveries[0]["state"], "delivered");
    assert_eq!(attempts(&deliveries[0]), 1, "{deliveries:?}");
    assert_eq!(deliveries[1]["state"], "pending");
    assert_eq!(deliveries[1]["event_id"], second);
    assert_eq!(attempts(&deliveries[1]), 0, "{deliveries:?}");
    assert_eq!(lane(), before, "nothing was written");
    assert_eq!(seen_by_other.record().await["queue_depth"], 1);
    // Still the other one's.
    receiver.set("/hook", Reply::Status(200));
    let delivered = seen_by_other.wait_for("delivered", 2, SOON).await;
    assert_eq!(attempts(&delivered[1]), 1);
    assert_eq!(receiver.count("/hook"), 3, "no third time, no second time");
    assert!(lane().starts_with("0|2|0|"), "{}", lane());
}
