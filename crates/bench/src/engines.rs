//! Compares the embedded database with PostgreSQL: emits and deliveries per second. The databases
//! alternate within one run on one machine. PostgreSQL runs with `fsync`, so that it is as durable
//! as the embedded database.

use anyhow::Context;
use svc_testkit::{TestPostgres, TestServer, TestUser, TestZone};

use crate::events;

const ROUNDS: usize = 3;
/// The number of servers of the larger zone.
const SERVERS: usize = 3;

/// The results of one database setup.
struct EngineResults {
    name: &'static str,
    emits: Vec<f64>,
    deliveries: Vec<f64>,
}

impl EngineResults {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            emits: Vec::new(),
            deliveries: Vec::new(),
        }
    }

    async fn measure(
        &mut self,
        servers: &[&TestServer],
        round: usize,
        (clients, receivers): (usize, usize),
    ) -> anyhow::Result<()> {
        let emitter = servers[0].user(&format!("e{round}")).await;
        let emitters = at_each(&emitter, servers);
        self.emits
            .push(events::emits(&emitters, clients).await?.rate);
        let owner = servers[0].user(&format!("d{round}")).await;
        let owners = at_each(&owner, servers);
        let delivered =
            events::deliveries(&owners, clients, receivers, events::DRAIN_LIMIT).await?;
        self.deliveries.push(delivered.rate);
        Ok(())
    }
}

fn at_each(user: &TestUser, servers: &[&TestServer]) -> Vec<TestUser> {
    servers.iter().map(|server| user.at(server)).collect()
}

pub async fn run(clients: usize, receivers: usize) -> anyhow::Result<()> {
    let postgres = TestPostgres::own_durable().context("this benchmark requires PostgreSQL")?;
    let configure = |builder: svc_testkit::TestServerBuilder| {
        builder
            .allow_loopback_webhooks()
            .config_table("events", "emits_per_second = 1000000")
    };
    let embedded = configure(TestServer::builder()).start().await;
    let single = TestZone::start_with(&postgres, 1, configure).await;
    let zone = TestZone::start_with(&postgres, SERVERS, configure).await;
    let members: Vec<_> = (0..SERVERS).map(|member| zone.server(member)).collect();
    let mut results = [
        EngineResults::new("embedded"),
        EngineResults::new("PostgreSQL, 1 server"),
        EngineResults::new("PostgreSQL, 3 servers"),
    ];
    let load = (clients, receivers);
    for round in 0..ROUNDS {
        results[0].measure(&[&embedded], round, load).await?;
        results[1].measure(&[single.server(0)], round, load).await?;
        results[2].measure(&members, round, load).await?;
    }
    let base = (median(&results[0].emits), median(&results[0].deliveries));
    println!(
        "{clients} clients, {receivers} receivers, medians of {ROUNDS} rounds; each round measures every row"
    );
    println!("| | emits/s | of embedded | deliveries/s | of embedded |");
    println!("|---|---|---|---|---|");
    for result in &results {
        let (emits, deliveries) = (median(&result.emits), median(&result.deliveries));
        println!(
            "| {} | {emits:.0} | {:.2} | {deliveries:.0} | {:.2} |",
            result.name,
            emits / base.0,
            deliveries / base.1
        );
    }
    Ok(())
}

fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
