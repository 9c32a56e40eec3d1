//! One measured case: a kind of request to one of the servers.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use super::{
    cores::Cores,
    exchange::{self, Exchange},
    load::{self, Slice},
    processes,
};

const SLICE: Duration = Duration::from_millis(250);
/// How long system calls are counted.
const COUNTING: Duration = Duration::from_millis(1_500);

/// A server, and the processes that handle its calls.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    pub token: String,
    /// The process that serves HTTP comes first.
    pub processes: Vec<u32>,
}

pub struct Case {
    pub name: String,
    pub target: Target,
    pub connections: usize,
    pub exchange: Exchange,
    pub counts_system_calls: bool,
}

impl Case {
    pub async fn new(
        name: &str,
        target: &Target,
        connections: usize,
        body: String,
    ) -> anyhow::Result<Self> {
        let request = exchange::request(&target.token, &body);
        let mut stream = TcpStream::connect(target.address).await?;
        stream.write_all(&request).await?;
        let mut buffer = Vec::new();
        let place = load::read_answer(&mut stream, &mut buffer).await?;
        let exchange = Exchange::learn(request, &body, &buffer[place])
            .with_context(|| format!("case `{name}`"))?;
        Ok(Self {
            name: name.to_owned(),
            target: target.clone(),
            connections,
            exchange,
            counts_system_calls: false,
        })
    }

    pub fn counting_system_calls(mut self) -> Self {
        self.counts_system_calls = true;
        self
    }

    pub async fn slice(&self, cores: &Cores) -> anyhow::Result<Slice> {
        // With one connection, every step waits for the step before it, and the cores could halt in
        // between. With many connections, the cores are always busy.
        let awake = (self.connections == 1).then(|| cores.keep_awake());
        let _awake = awake.transpose()?;
        let before = processes::cpu_times(&self.target.processes)?;
        let (mut times, spent) = self.load(SLICE).await?;
        let after = processes::cpu_times(&self.target.processes)?;
        times.sort_unstable();
        let calls = times.len() * self.exchange.calls;
        let per_call = |(after, before): (&Duration, &Duration)| {
            micros(after.saturating_sub(*before)) / calls as f64
        };
        let at = |percent: usize| times.get(times.len() * percent / 100).copied();
        Ok(Slice {
            calls,
            seconds: spent.as_secs_f64(),
            p50: micros(at(50).context("no answer in a slice")?),
            p99: micros(at(99).context("no answer in a slice")?),
            cpu: after.iter().zip(&before).map(per_call).collect(),
        })
    }

    /// The system calls of all processes, divided by the number of method calls; `None` if this
    /// machine cannot count them.
    pub async fn system_calls(&self) -> anyhow::Result<Option<f64>> {
        let Some(counter) = processes::Counter::start(&self.target.processes).await? else {
            return Ok(None);
        };
        let (times, _) = self.load(COUNTING).await?;
        let count = counter.stop().await?;
        Ok(Some(
            count as f64 / (times.len() * self.exchange.calls) as f64,
        ))
    }

    async fn load(&self, time: Duration) -> anyhow::Result<(Vec<Duration>, Duration)> {
        let (address, connections) = (self.target.address, self.connections);
        let exchange = self.exchange.clone();
        tokio::task::spawn_blocking(move || load::run(address, &exchange, connections, time))
            .await
            .context("the load generator failed")?
            .with_context(|| format!("case `{}`", self.name))
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
