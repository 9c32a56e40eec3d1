//! A standby becomes the primary. The servers of the zone find the new primary among the hosts of
//! their database URL, never use the former primary again, and lose no acknowledged event.

use std::time::{Duration, Instant};

use serde_json::json;
use svc_testkit::{Cli, TempDir, TestPostgres, TestZone, eventually, fixture};

use super::{
    answers, at_each,
    load::{self, Load},
    reaching_tests,
};
use crate::SOON;

/// How the primary ends.
#[derive(Clone, Copy)]
enum Loss {
    Killed,
    /// It keeps its connections, accepts new ones and answers nothing.
    Silent,
}

async fn fail_over(loss: Loss) {
    let Some(mut primary) = TestPostgres::own() else {
        return;
    };
    let standby = primary.synchronous_standby();
    // The standby is the first host: the servers must not use it before it is promoted.
    let database = primary.database().at_both(&standby);
    let zone = TestZone::start_on(database, 2, reaching_tests).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let space = at[0].space("lab").await;
    let _agent = space.publish(fixture().plain("echo")).await;
    let load = Load::start(&at).await;
    load.go_on().await;

    match loss {
        Loss::Killed => primary.kill9(),
        Loss::Silent => primary.freeze(),
    }
    // Emits are refused until the standby is promoted.
    load.refused().await;
    standby.promote();
    eventually("a token can be made", 2 * SOON, || async {
        let body = json!({"name": "x"});
        at[0].post("/api/tokens", body).await.status == 201
    })
    .await;
    load.go_on().await;
    if matches!(loss, Loss::Silent) {
        // Connections to the old primary are never used again.
        primary.thaw();
        load.go_on().await;
    }
    let total = load.end().await;
    let sql = |text: &str| standby.sql(&zone.database().name, text);
    assert_eq!(
        sql(load::COUNT_EVENTS),
        total.to_string(),
        "one event for each key"
    );
    assert_eq!(
        sql(load::COUNT_UNDELIVERED),
        "0",
        "no event without its delivery"
    );
    for user in &at[..1] {
        assert!(answers(user, "echo").await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_of_the_primary_the_promoted_standby_has_every_acknowledged_event() {
    fail_over(Loss::Killed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_does_not_respond_is_replaced_by_the_promoted_standby() {
    fail_over(Loss::Silent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_former_primary_that_accepts_writes_is_not_used_again() {
    let Some(primary) = TestPostgres::own() else {
        return;
    };
    let standby = primary.synchronous_standby();
    let database = primary.database().at_both(&standby);
    let zone = TestZone::start_on(database, 1, reaching_tests).await;
    let server = zone.server(0);
    let ann = server.user("ann").await;
    let body = json!({"type": "outage.x", "payload": {}});
    let emit_until = async |key: &str, status: u16| {
        eventually(&format!("the emit gets {status}"), 2 * SOON, || async {
            let answer = ann.emit_with_key(key, &body).await;
            answer.is_ok_and(|answer| answer.status == status)
        })
        .await;
    };
    emit_until("before", 202).await;
    primary.freeze();
    emit_until("outage", 503).await;
    standby.promote();
    emit_until("promoted", 202).await;

    // The former primary comes back, and would acknowledge writes without a standby.
    primary.thaw();
    let name = &zone.database().name;
    primary.sql(name, "ALTER SYSTEM SET synchronous_standby_names = ''");
    primary.sql(name, "SELECT pg_reload_conf()");
    standby.freeze();
    eventually("the former primary is refused", 2 * SOON, || async {
        server.log().contains("former primary")
    })
    .await;
    emit_until("frozen", 503).await;
    standby.thaw();
    emit_until("frozen", 202).await;
    // Repeated emits of the same keys are not stored again.
    for key in ["before", "promoted", "frozen"] {
        emit_until(key, 202).await;
    }
    let stored = standby.sql(name, load::COUNT_EVENTS);
    assert_eq!(stored, "3", "one event for each acknowledged key");
}

#[tokio::test]
async fn a_server_refuses_to_start_on_a_standby() {
    let Some(primary) = TestPostgres::own() else {
        return;
    };
    let standby = primary.synchronous_standby();
    let url = format!("postgres://svc@127.0.0.1:{}/postgres", standby.port());
    let home = TempDir::new().unwrap();
    let refused = Cli::new(home.path())
        .env("SVC_SECRET_KEY", "00".repeat(32))
        .run(&["server", "start", "--database-url", &url])
        .await;
    assert_ne!(refused.code, 0);
    let said = refused.stderr;
    assert!(said.contains("does not allow writes"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_synchronous_standby_is_down_no_emit_is_acknowledged() {
    let Some(primary) = TestPostgres::own() else {
        return;
    };
    let mut standby = primary.synchronous_standby();
    let zone = TestZone::start_on(primary.database(), 1, reaching_tests).await;
    let ann = zone.server(0).user("ann").await;
    let body = json!({"type": "outage.x", "payload": {}});
    ann.emit_with_key("before", &body)
        .await
        .unwrap()
        .expect(202);
    standby.stop();
    let refused_within = async |key: &str| {
        let begun = Instant::now();
        let refused = ann.emit_with_key(key, &body).await.unwrap().expect(503);
        assert_eq!(refused.code(), "database_unavailable");
        assert!(refused.header("retry-after").is_some());
        begun.elapsed()
    };
    let took = refused_within("during").await;
    println!("refused after {took:?}");
    assert!(took < SOON, "{took:?}");
    // Later emits do not wait for the first one. If each of them took 7 s like the first one, all
    // would take 140 s.
    let begun = Instant::now();
    for n in 0..20 {
        refused_within(&format!("during-{n}")).await;
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
    standby.start();
    eventually("the emit is acknowledged", 3 * SOON, || async {
        let repeated = ann.emit_with_key("during", &body).await;
        repeated.is_ok_and(|answer| answer.status == 202)
    })
    .await;
    let stored = primary.sql(&zone.database().name, load::COUNT_EVENTS);
    assert_eq!(stored, "2", "one event for each acknowledged key");
}
