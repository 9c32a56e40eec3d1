//! Events reach a subscribed method through the current home server of its space.

use super::*;
use crate::zone::reaching_tests;

/// Short, so that the queue of a killed server is taken over soon.
fn short_lease(builder: TestServerBuilder) -> TestServerBuilder {
    let builder = reaching_tests(builder).announced();
    builder.env("SVC_LEASE_SECONDS", "2")
}

#[tokio::test]
async fn s6_4_the_next_home_server_continues_the_queue_of_a_subscribed_method() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start_with(postgres, 2, short_lease).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let space = at[0].space("lab").await;
    let subscribed = method("on.order", "push").line("events", r#"["custom.order"]"#);
    let methods = fixture().with(subscribed).plain("pushed");
    let agent = space.publish(methods).await;
    wait_until_answered(&at, "pushed").await;
    let arrived = async || -> Vec<Value> {
        let pushed = at[1].call("pushed", json!({})).await;
        let pushed = pushed["result"].as_array().cloned().unwrap_or_default();
        let payloads = pushed.iter().map(|event| event["data"]["n"].clone());
        let mut payloads: Vec<_> = payloads.collect();
        // A killed server may not have recorded its last delivery, which is then repeated.
        payloads.dedup();
        payloads
    };
    let emit = async |n: u32| {
        let body = json!({"type": "order", "payload": {"n": n}});
        eventually("the event is stored", 2 * SOON, || async {
            let emitted = at[1].emit_with_key(&format!("n{n}"), &body).await;
            emitted.is_ok_and(|answer| answer.status == 202)
        })
        .await;
    };
    emit(0).await;
    eventually("the first event arrives", SOON, || async {
        arrived().await == [0]
    })
    .await;
    // The home server is killed. Then the other server, to which the agent has a side link, becomes
    // the home server.
    zone.kill(0);
    for n in 1..4 {
        emit(n).await;
    }
    eventually("every event arrives", 3 * SOON, || async {
        arrived().await == [0, 1, 2, 3]
    })
    .await;
    let status = agent.status().await;
    assert_eq!(status["server_url"], zone.server(1).url());
}
