//! The limits of a method server apply to all links of its agent together, and users take turns
//! across all these links. The quota of methods also counts methods of spaces whose home is another
//! server.

use super::*;

#[tokio::test]
async fn s4_1_serial_and_max_in_flight_hold_over_the_links_of_three_servers() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_announced(postgres, SERVERS).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, SERVERS).await;
    let space = at[0].space("lab").await;
    let agent = space.agent().await;
    let methods = || fixture().plain("sleep").plain("count");
    for (round, registration, peak) in [
        (0, methods().serial(), 1),
        (1, methods().max_in_flight(2), 2),
        (2, methods(), 12),
    ] {
        let ready = format!("ready{round}");
        let registration = registration.with(method(&ready, "echo"));
        agent.register(registration).await.expect(0);
        wait_until_answered(&at, &ready).await;
        let params = json!({"ms": 100, "until": format!("go{round}")});
        let calls: Vec<_> = (0..12)
            .map(|n| at[n % SERVERS].start_call("sleep", params.clone()))
            .collect();
        eventually("the agent has all calls", SOON, || async {
            let status = agent.status().await["method_server"].clone();
            let count = |key: &str| status[key].as_u64().unwrap_or_default();
            count("in_flight") + count("queued") == 12
        })
        .await;
        space.write(&format!("go{round}"), "");
        for call in calls {
            assert_eq!(result(&call.await.unwrap())["slept"], 100);
        }
        let count = at[0].call("count", json!({})).await;
        let found = result(&count)["peak"].as_u64().unwrap();
        match round {
            // Without a limit, calls of all servers run at once.
            2 => assert!(found > 2 && found <= peak, "{found}"),
            _ => assert_eq!(found, peak),
        }
    }
}

/// Calls of one user that wait for the method server.
const WAITING: usize = 20;

#[tokio::test]
async fn users_take_turns_over_the_links_of_two_servers() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_announced(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let bob = zone.server(0).user("bob").await;
    let at = at_each(&zone, &ann, 2).await;
    let bob_at = at_each(&zone, &bob, 2).await;
    let space = at[0].space("lab").await;
    let shared = method("sleep", "sleep").shared();
    let _agent = space.publish(fixture().serial().with(shared)).await;
    wait_until_answered(&bob_at, "user.ann.sleep").await;
    // One call holds the method server, and Ann's other calls wait for it at both servers.
    let holding = at[0].start_call("sleep", json!({"ms": 10, "until": "go"}));
    at[0].wait_for_in_flight("sleep", 1).await;
    let waiting: Vec<_> = (0..WAITING)
        .map(|n| at[n % 2].start_call("sleep", json!({"ms": 200})))
        .collect();
    at[0]
        .wait_for_in_flight("sleep", 1 + WAITING as u64 / 2)
        .await;
    at[1].wait_for_in_flight("sleep", WAITING as u64 / 2).await;
    let bobs = bob_at[1].start_call("user.ann.sleep", json!({"ms": 1}));
    let at_second = 1 + WAITING as u64 / 2;
    at[1].wait_for_in_flight("sleep", at_second).await;
    space.write("go", "");
    assert_eq!(result(&bobs.await.unwrap())["slept"], 1);
    let done = waiting.iter().filter(|call| call.is_finished()).count();
    assert!(done < WAITING, "Bob waited for all calls of Ann");
    println!("{done} calls of Ann were answered before that of Bob");
    for call in waiting.into_iter().chain([holding]) {
        result(&call.await.unwrap());
    }
}

#[tokio::test]
async fn the_quota_of_methods_holds_for_spaces_with_homes_at_different_servers() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_with(postgres, 2, |builder| {
        builder.announced().config_table("quotas", "methods = 3")
    })
    .await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let first = at[0].space("first").await;
    let first_agent = first.publish(fixture().plain("echo").plain("pid")).await;
    wait_until_answered(&at, "pid").await;
    let second = linking_to(zone.server(1), at[1].space("second").await);
    let agent = second.agent().await;
    assert_eq!(second.record().await["node_id"], id_of(&zone, 1).await);
    let two = fixture().plain("line").plain("count");
    let refused = agent.register(two.clone()).await;
    assert!(
        refused.stderr.contains("quotas.methods"),
        "{}",
        refused.stderr
    );
    refused.expect(6);
    // `echo` counts once, although both spaces publish it.
    let shared = fixture().plain("echo").plain("line");
    agent.register(shared).await.expect(0);
    wait_until_answered(&at, "line").await;
    first_agent
        .register(fixture().plain("echo"))
        .await
        .expect(0);
    eventually("the quota has room at the other server", SOON, || async {
        agent.register(two.clone().plain("echo")).await.code == 0
    })
    .await;
}
