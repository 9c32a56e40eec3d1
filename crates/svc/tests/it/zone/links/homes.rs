//! Agents move their home to servers that have clearly fewer home links.

use std::sync::Arc;

use super::*;
use crate::zone::callers::Callers;

const AGENTS: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn homes_move_to_a_server_without_any_and_no_call_fails() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start_announced(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let other = id_of(&zone, 1).await;
    zone.server_mut(1).terminate().await;
    let (mut spaces, mut agents) = (Vec::new(), Vec::new());
    for n in 0..AGENTS {
        let space = at[0].space(&format!("s{n}")).await;
        let methods = fixture().with(method(&format!("sleep{n}"), "sleep"));
        agents.push(space.publish(methods).await);
        spaces.push(space);
    }
    // All homes are at the first server when the second starts.
    let load = Arc::new(Callers::default());
    let start = |at: &[TestUser]| -> Vec<_> {
        let start = |n| load.start(n, at, &format!("sleep{}", n % AGENTS));
        (0..2 * AGENTS).map(start).collect()
    };
    let mut callers = start(&at[..1]);
    load.wait_for_calls(50).await;
    zone.restart(1).await;
    for n in 0..AGENTS {
        wait_until_answered(&at, &format!("sleep{n}")).await;
    }
    callers.extend(start(&at));
    eventually("homes are spread", 12 * SOON, || async {
        let mut moved = 0;
        for space in &spaces {
            moved += usize::from(space.record().await["node_id"] == other);
        }
        (2..=AGENTS - 2).contains(&moved)
    })
    .await;
    // Every agent, moved or not, has links to both servers and shows its current home.
    for (agent, space) in agents.iter().zip(&spaces) {
        wait_for_links(agent, 2).await;
        eventually("the agent shows its home", SOON, || async {
            let links = agent.status().await["links"].clone();
            let homes = [&links[0], &links[1]].map(|link| link["is_home"] == true);
            homes == [true, false] && links[0]["server_id"] == space.record().await["node_id"]
        })
        .await;
        assert_eq!(space.state().await, "deployed");
    }
    let moved = get_moved(&spaces, &other).await;
    let more = fixture()
        .with(method(&format!("sleep{moved}"), "sleep"))
        .with(method("after.move", "echo"));
    agents[moved].register(more).await.expect(0);
    wait_until_answered(&at, "after.move").await;
    load.wait_for_calls(500).await;
    let failed = load.end(callers).await;
    assert!(failed.is_empty(), "{failed:?}");
    let stopped = at[0].list("/api/events?type=space.stopped", "events").await;
    assert!(stopped.is_empty(), "{stopped:?}");
}

/// The index of the first space whose home is the server `home`.
async fn get_moved(spaces: &[svc_testkit::TestSpace], home: &Value) -> usize {
    for (n, space) in spaces.iter().enumerate() {
        if space.record().await["node_id"] == *home {
            return n;
        }
    }
    panic!("no home has moved");
}
