//! A server that hangs or stops while it delivers: another server takes over its lane.

use std::time::Duration;

use serde_json::{Value, json};
use svc_testkit::{
    Reply, TestPostgres, TestReceiver, TestServerBuilder, TestSink, TestUser, TestZone, eventually,
    get_eventually,
};

use super::{at_each, reaching_tests};
use crate::SOON;

/// How long a server may hold a lane without renewing its lease. Long enough for a busy server to
/// renew it in time.
const LEASE: Duration = Duration::from_secs(8);

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

/// One server has sent event 1 and hangs. The other server has sent the event too, and waits for
/// the response.
struct TakenOver {
    zone: TestZone,
    postgres: &'static TestPostgres,
    receiver: TestReceiver,
    frozen: usize,
    /// The user at the running server.
    user: TestUser,
    /// The sink as the running server shows it.
    sink: TestSink,
}

impl TakenOver {
    /// `first` is the response to the server that will be frozen.
    async fn new(postgres: &'static TestPostgres, first: Reply) -> Self {
        let zone = TestZone::start_with(postgres, 2, short_lease).await;
        let receiver = TestReceiver::start().await;
        let ann = zone.server(0).user("ann").await;
        let at = at_each(&zone, &ann, 2).await;
        receiver.set("/hook", first);
        let mut sink = ann
            .webhook("hook", "custom.a", &receiver.url("/hook"))
            .await;
        let id = ann.emit("a", json!({"n": 1})).await;
        receiver.wait_for("/hook", 1, SOON).await;
        let frozen = holder(&zone, zone.admin(0)).await;
        zone.freeze(frozen);
        receiver.set("/hook", Reply::Hang);
        // The lease expires, and the other server makes the same delivery.
        let received = receiver.wait_for("/hook", 2, LEASE + SOON).await;
        for request in &received {
            assert_eq!(request.header("x-service-event-id"), id);
        }
        sink.owner = at[1 - frozen].clone();
        Self {
            user: at[1 - frozen].clone(),
            zone,
            postgres,
            receiver,
            frozen,
            sink,
        }
    }

    /// The row of the lane without its lease.
    fn lane(&self) -> String {
        let sql = format!(
            "SELECT depth, tail, starts, failures, fence FROM lanes WHERE sink_id = '{}'",
            self.sink.id
        );
        self.postgres.sql(&self.zone.database().name, &sql)
    }

    /// Resumes the frozen server, and waits until it has noticed the lost lease.
    async fn thaw(&mut self) {
        self.zone.thaw(self.frozen);
        let process = self.zone.server_mut(self.frozen).process();
        let lost = "a lane was lost while delivering";
        process.wait_for_log(lost, 2 * SOON).await;
    }
}

/// The receiver has responded only to the frozen server. If the frozen server could record this
/// result, it would end the delivery that the other server has in flight.
#[tokio::test]
async fn s6_5_a_late_finish_of_a_frozen_server_is_refused_by_its_fence() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let first = Reply::After(LEASE + Duration::from_secs(1), 200);
    let mut taken_over = TakenOver::new(postgres, first).await;
    eventually("the frozen server is answered", SOON, || async {
        taken_over.receiver.received("/hook")[0].ended.is_some()
    })
    .await;
    let before = taken_over.lane();
    assert_eq!(before, "1|1|2|0|2");
    taken_over.thaw().await;
    let delivery = taken_over.sink.deliveries().await.remove(0);
    assert_eq!(delivery["state"], "pending", "{delivery}");
    assert_eq!(attempts(&delivery), 0, "{delivery}");
    assert_eq!(taken_over.lane(), before, "nothing was written");
    let record = taken_over.sink.record().await;
    assert_eq!(record["queue_depth"], 1);
    // The delivery still belongs to the other server.
    taken_over.receiver.set("/hook", Reply::Status(200));
    let delivered = taken_over.sink.wait_for("delivered", 1, SOON).await;
    assert_eq!(attempts(&delivered[0]), 1);
    assert_eq!(
        taken_over.receiver.count("/hook"),
        2,
        "no server sent the event again"
    );
    assert_eq!(taken_over.lane(), "0|1|0|0|2");
}

/// The other server has finished the delivery, and has the next one in flight.
#[tokio::test]
async fn s6_5_a_frozen_server_does_not_end_later_deliveries() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut taken_over = TakenOver::new(postgres, Reply::Hang).await;
    // The response to the frozen server waits in its socket.
    taken_over.receiver.set("/hook", Reply::Status(200));
    taken_over.sink.wait_for("delivered", 1, SOON).await;
    taken_over.receiver.set("/hook", Reply::Hang);
    let second = taken_over.user.emit("a", json!({"n": 2})).await;
    taken_over.receiver.wait_for("/hook", 3, SOON).await;
    let before = taken_over.lane();
    taken_over.thaw().await;
    let deliveries = taken_over.sink.deliveries().await;
    assert_eq!(deliveries[0]["state"], "delivered");
    assert_eq!(attempts(&deliveries[0]), 1, "{deliveries:?}");
    assert_eq!(deliveries[1]["state"], "pending");
    assert_eq!(deliveries[1]["event_id"], second);
    assert_eq!(attempts(&deliveries[1]), 0, "{deliveries:?}");
    assert_eq!(taken_over.lane(), before, "nothing was written");
    taken_over.receiver.set("/hook", Reply::Status(200));
    let delivered = taken_over.sink.wait_for("delivered", 2, SOON).await;
    assert_eq!(attempts(&delivered[1]), 1);
    assert_eq!(
        taken_over.receiver.count("/hook"),
        3,
        "nothing was sent again"
    );
}

/// A long lease. If a server waited for its end, the test would fail.
const LONG_LEASE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn s6_5_a_server_that_stops_hands_its_lane_over_before_the_lease_expires() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let seconds = LONG_LEASE.as_secs().to_string();
    let long_lease = |builder| reaching_tests(builder).env("SVC_LEASE_SECONDS", &seconds);
    let mut zone = TestZone::start_with(postgres, 2, long_lease).await;
    let receiver = TestReceiver::start().await;
    let ann = zone.server(0).user("ann").await;
    receiver.set("/hook", Reply::Hang);
    let url = receiver.url("/hook");
    ann.webhook("hook", "custom.a", &url).await;
    let id = ann.emit("a", json!({})).await;
    receiver.wait_for("/hook", 1, SOON).await;
    let stopping = holder(&zone, zone.admin(0)).await;
    zone.server(stopping).begin_to_terminate();
    let received = receiver.wait_for("/hook", 2, LONG_LEASE / 2).await;
    assert_eq!(received[1].header("x-service-event-id"), id);
    assert_eq!(holder(&zone, zone.admin(1 - stopping)).await, 1 - stopping);
    receiver.set("/hook", Reply::Status(200));
    let ended = zone.server_mut(stopping).process().wait_for_exit(2 * SOON);
    assert!(ended.await.success());
}
