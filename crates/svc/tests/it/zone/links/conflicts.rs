//! D1 over the servers of a zone: several spaces of one owner may publish the same name only with
//! the same definition.

use super::*;

/// The description of a method, as its owner sees it.
async fn description(user: &TestUser, method: &str) -> String {
    let found = user.find_method(method).await.unwrap_or_default();
    found["description"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn d1_a_conflict_with_a_space_of_another_server_is_found_and_can_be_replaced() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_announced(postgres, SERVERS).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, SERVERS).await;
    let described = |text: &str| {
        let conflicting = method("shared.name", "echo").description(text);
        fixture().with(conflicting)
    };
    let first = at[0].space("first").await;
    let both = described("one").with(method("first.only", "echo"));
    let first_agent = first.publish(both).await;
    wait_until_answered(&at, "shared.name").await;
    // The second space has its home at another server.
    let second = linking_to(zone.server(1), at[1].space("second").await);
    let second_agent = second.agent().await;
    wait_for_links(&second_agent, SERVERS).await;
    let refused = second_agent.register(described("two")).await;
    assert!(refused.stderr.contains("shared.name"), "{}", refused.stderr);
    refused.expect(6);
    let replacing = ["--replace-conflicting"];
    second_agent
        .register_with(described("two"), &replacing)
        .await
        .expect(0);
    for user in &at {
        eventually("the second space has the method", SOON, || async {
            description(user, "shared.name").await == "two"
        })
        .await;
        // The first space keeps its other method at every server.
        eventually(
            "the other method of the first space answers",
            SOON,
            || async { answers(user, "first.only").await },
        )
        .await;
    }
    eventually("the first agent has removed the method", SOON, || async {
        first_agent.status().await["methods"] == json!(["first.only"])
    })
    .await;
    // The same definition at two spaces is not a conflict: each server counts both providers.
    let third = at[2].space("third").await;
    let _third = third.publish(described("two")).await;
    for user in &at {
        eventually("two providers", SOON, || async {
            let found = user.find_method("shared.name").await.unwrap_or_default();
            found["provider_count"] == 2
        })
        .await;
    }
}
