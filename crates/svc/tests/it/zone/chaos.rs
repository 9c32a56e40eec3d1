//! Servers of a zone are killed and frozen at random, and the database crashes and fails over,
//! while events are emitted and methods are called at all servers. No acknowledged event is lost
//! or stored twice, first arrivals are in order, and no call is made twice. `SVC_ZONE_ROUNDS` sets
//! the number of rounds. With the same `SVC_ZONE_SEED`, a run chooses the same servers again.

mod calls;

use std::time::{Duration, Instant};

use svc_testkit::{TestPostgres, TestServerBuilder, TestZone};

use self::calls::Calls;
use super::{
    at_each, reaching_tests,
    traffic::{COUNT_EVENTS, Dice, Traffic},
};

const SERVERS: usize = 3;
/// How long a server may hold a lane without renewing its lease.
const LEASE: Duration = Duration::from_secs(4);
/// How long a server stays frozen: longer than its lease plus the time between two renewals.
const FROZEN: Duration = Duration::from_millis(5_600);

/// What happens in one round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Harm {
    Kill,
    Freeze,
    CrashDatabase,
    FailOver,
}

impl Harm {
    const ALL: [Self; 4] = [
        Self::Kill,
        Self::Freeze,
        Self::CrashDatabase,
        Self::FailOver,
    ];
}

/// The number of rounds: 16, or the value of `SVC_ZONE_ROUNDS`.
fn rounds() -> usize {
    let rounds = std::env::var("SVC_ZONE_ROUNDS").ok();
    rounds.map_or(16, |rounds| rounds.parse().unwrap())
}

/// The database server that accepts writes, and its synchronous standby. They use the same two
/// ports after every failover.
struct Databases {
    primary: TestPostgres,
    standby: TestPostgres,
}

impl Databases {
    fn start() -> Option<Self> {
        let primary = TestPostgres::own()?;
        let standby = primary.synchronous_standby();
        Some(Self { primary, standby })
    }

    fn crash(&mut self) {
        self.primary.crash();
        self.primary.start();
    }

    /// Kills the primary, promotes the standby, and starts another standby.
    fn fail_over(mut self) -> Self {
        self.primary.kill9();
        let standby = self.standby.take_over(self.primary);
        Self {
            primary: self.standby,
            standby,
        }
    }
}

/// Does harm to a server or to the database, and waits until the server or the database is back.
async fn round(
    harm: Harm,
    zone: &mut TestZone,
    databases: Databases,
    dice: &mut Dice,
) -> Databases {
    let member = dice.roll(SERVERS);
    let mut databases = databases;
    match harm {
        Harm::Kill => {
            zone.kill(member);
            zone.restart(member).await;
        }
        Harm::Freeze => {
            zone.freeze(member);
            tokio::time::sleep(FROZEN).await;
            zone.thaw(member);
        }
        Harm::CrashDatabase => tokio::task::block_in_place(|| databases.crash()),
        Harm::FailOver => databases = tokio::task::block_in_place(|| databases.fail_over()),
    }
    databases
}

fn short_lease(builder: TestServerBuilder) -> TestServerBuilder {
    let seconds = LEASE.as_secs().to_string();
    reaching_tests(builder)
        .announced()
        .env("SVC_LEASE_SECONDS", &seconds)
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_5_no_acknowledged_event_is_lost_through_rounds_of_kills_freezes_and_failovers() {
    let Some(mut databases) = Databases::start() else {
        return;
    };
    let seed = std::env::var("SVC_ZONE_SEED").ok();
    let seed = seed.map_or_else(|| getrandom::u64().unwrap(), |seed| seed.parse().unwrap());
    println!("SVC_ZONE_SEED={seed}");
    let database = databases.primary.database().at_both(&databases.standby);
    let mut zone = TestZone::start_on(database, SERVERS, short_lease).await;
    let bob = zone.server(0).user("bob").await;
    let calls = Calls::start(&at_each(&zone, &bob, SERVERS).await).await;
    let traffic = Traffic::start(&zone, seed).await;
    let mut dice = Dice::new(seed);
    let mut freezes = 0;
    for number in 0..rounds() {
        traffic.go_on().await;
        calls.go_on().await;
        let harm = Harm::ALL[number % Harm::ALL.len()];
        freezes += usize::from(harm == Harm::Freeze);
        let begun = Instant::now();
        databases = round(harm, &mut zone, databases, &mut dice).await;
        println!("round {number}: {harm:?}, back after {:?}", begun.elapsed());
    }
    traffic.go_on().await;
    calls.end().await;
    // A server that was frozen during an attempt finishes the attempt after another server has
    // taken over the lane. So each freeze may cause two attempts of a lane at the same time.
    let total = traffic.end(freezes).await;
    // One event per key, even if killed or frozen servers received the request too.
    let stored = databases.primary.sql(&zone.database().name, COUNT_EVENTS);
    assert_eq!(stored, total.to_string(), "one event for each key");
}
