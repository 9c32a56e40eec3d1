//! Servers of a zone that are upgraded one after the other, under load.
//!
//! The database gets the schema of a next version while servers of this version run.
//! If `SVC_TEST_PREVIOUS_PROGRAM` names an older build of `svc`, the zone starts with that build
//! instead. The upgraded servers then migrate the database themselves.

use std::{path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use svc_testkit::{
    TestAgent, TestPostgres, TestServerBuilder, TestSpace, TestUser, TestZone, eventually, fixture,
    method, result,
};
use tokio::task::JoinHandle;

use super::{
    at_each,
    callers::Callers,
    linking_to, reaching_tests,
    traffic::{COUNT_EVENTS, Traffic},
};
use crate::SOON;

const SERVERS: usize = 3;
const SPACES: usize = 6;
/// The lock of transactions that write.
const WRITE_LOCK: i64 = 0x0073_7663_0000_0001;

fn previous_program() -> Option<PathBuf> {
    std::env::var_os("SVC_TEST_PREVIOUS_PROGRAM").map(PathBuf::from)
}

fn first_version(builder: TestServerBuilder) -> TestServerBuilder {
    let builder = reaching_tests(builder).announced();
    match previous_program() {
        Some(program) => builder.program(program),
        None => builder,
    }
}

/// Records one more migration, as a newer version would.
fn add_step(postgres: &TestPostgres, database: &str, compatible_since: &str) {
    let newest = "(SELECT MAX(version) FROM schema_migrations)";
    postgres.sql(
        database,
        &format!(
            "INSERT INTO schema_migrations (version, name, applied_at, compatible_since) \
             SELECT {newest} + 1, 'next version', 0, {compatible_since}"
        ),
    );
}

/// Adds a column to every table, and a table, as the migrations of a next version would.
fn migrate_to_next_version(postgres: &TestPostgres, database: &str) {
    let tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'";
    let tables = postgres.sql(database, tables);
    let add = |change: &str| {
        let lock = format!("SELECT pg_advisory_xact_lock({WRITE_LOCK})");
        postgres.sql(database, &format!("BEGIN; {lock}; {change}; COMMIT"));
    };
    for table in tables.lines() {
        add(&format!(
            "ALTER TABLE {table} ADD COLUMN next_version TEXT NOT NULL DEFAULT ''"
        ));
    }
    add("CREATE TABLE next_version (id TEXT PRIMARY KEY)");
    add_step(postgres, database, "MAX(version) FROM schema_migrations");
}

/// Spaces with two methods each. The home of space `n` is the server `n % SERVERS`.
struct Spaces {
    agents: Vec<TestAgent>,
    spaces: Vec<TestSpace>,
}

impl Spaces {
    async fn start(zone: &TestZone, at: &[TestUser]) -> Self {
        let (mut agents, mut spaces) = (Vec::new(), Vec::new());
        for n in 0..SPACES {
            let home = n % SERVERS;
            let space = at[home].space(&format!("s{n}")).await;
            let space = linking_to(zone.server(home), space);
            let methods = fixture()
                .with(method(&name_of(n), "sleep"))
                .with(method(&format!("slow{n}"), "sleep"));
            let agent = space.agent().await;
            agent.register(methods).await.expect(0);
            agents.push(agent);
            spaces.push(space);
        }
        Self { agents, spaces }
    }

    /// Waits until a method of each space answers at the user's server.
    async fn wait_until_linked(&self, user: &TestUser) {
        for n in 0..SPACES {
            eventually("the server has every link", 3 * SOON, || async {
                let called = user.call(&name_of(n), json!({"ms": 1})).await;
                called.get("result").is_some()
            })
            .await;
        }
    }

    /// For each server, the number of agents whose home is this server.
    async fn homes(&self, zone: &TestZone) -> [usize; SERVERS] {
        let mut homes = [0; SERVERS];
        for agent in &self.agents {
            let status = agent.status().await;
            let url = &status["server_url"];
            let member = (0..SERVERS).find(|&member| *url == zone.server(member).url());
            homes[member.expect("a server of the zone")] += 1;
        }
        homes
    }
}

/// Calls the slow method of each space, and waits until all these calls are in flight. Then lets
/// them go on for 3 s.
async fn start_slow_calls(
    user: &TestUser,
    member: usize,
    spaces: &[TestSpace],
) -> Vec<JoinHandle<Value>> {
    let go = format!("go{member}");
    let names = (0..SPACES).map(|n| format!("slow{n}"));
    let params = json!({"ms": 3_000, "until": go});
    let calls = names.map(|name| (user.start_call(&name, params.clone()), name));
    let (calls, names): (Vec<_>, Vec<_>) = calls.unzip();
    for name in names {
        user.wait_for_in_flight(&name, 1).await;
    }
    for space in spaces {
        space.write(&go, "");
    }
    calls
}

fn name_of(space: usize) -> String {
    format!("sleep{space}")
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_upgraded_one_after_the_other_without_a_failed_call() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start_with(postgres, SERVERS, first_version).await;
    let bob = zone.server(0).user("bob").await;
    let at = at_each(&zone, &bob, SERVERS).await;
    let spaces = Spaces::start(&zone, &at).await;
    let traffic = Traffic::start(&zone, 1).await;
    let load = Arc::new(Callers::default());
    for user in &at {
        spaces.wait_until_linked(user).await;
    }
    let start = |n| load.start(n, &at, &name_of(n % SPACES));
    let callers: Vec<_> = (0..2 * SPACES).map(start).collect();
    load.wait_for_calls(200).await;
    if previous_program().is_none() {
        migrate_to_next_version(postgres, &zone.database().name);
        load.wait_for_calls(200).await;
    }
    traffic.go_on().await;
    for (member, user) in at.iter().enumerate() {
        let slow = start_slow_calls(user, member, &spaces.spaces).await;
        load.avoid(member).await;
        zone.server_mut(member).use_built_program();
        zone.restart(member).await;
        for call in slow {
            assert_eq!(result(&call.await.unwrap())["slept"], 3_000);
        }
        spaces.wait_until_linked(user).await;
        traffic.go_on().await;
        let homes = spaces.homes(&zone).await;
        println!("server {member} is upgraded, homes {homes:?}");
    }
    for user in &at {
        spaces.wait_until_linked(user).await;
    }

    // Agents move their home to servers without home links.
    eventually("homes at every server", 12 * SOON, || async {
        spaces.homes(&zone).await.iter().all(|&homes| homes > 0)
    })
    .await;
    println!("homes {:?}", spaces.homes(&zone).await);
    load.wait_for_calls(200).await;
    let failed = load.end(callers).await;
    assert!(failed.is_empty(), "{failed:?}");
    let total = traffic.end(0).await;
    let stored = postgres.sql(&zone.database().name, COUNT_EVENTS);
    assert_eq!(stored, total.to_string(), "one event for each key");
    let stopped = at[0].list("/api/events?type=space.stopped", "events").await;
    assert!(stopped.is_empty(), "{stopped:?}");
    for space in &spaces.spaces {
        assert_eq!(space.state().await, "deployed");
    }
}

#[tokio::test]
async fn servers_stop_if_a_newer_version_makes_the_schema_incompatible() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let mut zone = TestZone::start(postgres, 2).await;
    let database = zone.database().name.clone();
    add_step(postgres, &database, "MAX(version) FROM schema_migrations");
    // A compatible step changes nothing: servers keep running, and can start.
    zone.restart(1).await;
    let log = zone.server(1).log();
    assert!(
        log.contains("a newer svc has migrated the database"),
        "{log}"
    );
    for member in 0..2 {
        zone.admin(member).emit("x", json!({})).await;
    }
    let newer = "MAX(version) + 1 FROM schema_migrations";
    add_step(postgres, &database, newer);
    for member in 0..2 {
        let server = zone.server_mut(member);
        let ended = server.process().wait_for_exit(SOON).await;
        assert_eq!(ended.code(), Some(0));
        let log = server.log();
        assert!(log.contains("which this svc"), "{log}");
        assert!(log.contains("Start the newer svc in its place"), "{log}");
    }
}
