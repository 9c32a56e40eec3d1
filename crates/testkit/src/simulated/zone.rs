//! Simulated agents of a zone: each has a home link, and a side link to every other announced
//! server.

use std::{
    collections::{HashMap, HashSet},
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use svc_core::ServerId;
use svc_link::{AnnouncedServer, AnnouncedServers, Control, Register, VERSION};
use tokio::{task::JoinSet, time::sleep};

use super::answer;
use crate::raw_link::{RawLink, SIMULATED, simulated_registration};

/// Delay between attempts to make a side link.
const RETRY: Duration = Duration::from_millis(500);

/// Running agents. Dropping this value ends them.
pub struct SimulatedZoneAgents {
    homes: JoinSet<()>,
    sides: Arc<SideCounts>,
}

/// For each server, the number of side links on which it has accepted the registration.
#[derive(Default)]
struct SideCounts(Mutex<HashMap<ServerId, usize>>);

impl SideCounts {
    fn counts(&self) -> MutexGuard<'_, HashMap<ServerId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a side link until this value is dropped.
struct CountedSide {
    counts: Arc<SideCounts>,
    server: ServerId,
}

impl CountedSide {
    fn new(counts: &Arc<SideCounts>, server: ServerId) -> Self {
        *counts.counts().entry(server).or_default() += 1;
        Self {
            counts: Arc::clone(counts),
            server,
        }
    }
}

impl Drop for CountedSide {
    fn drop(&mut self) {
        *self.counts.counts().entry(self.server).or_default() -= 1;
    }
}

/// One agent.
#[derive(Clone)]
struct ZoneAgent {
    token: String,
    home: ServerId,
    register: Register,
    /// From 0 to 1: the part of `spread_millis` that the agent waits before it makes a side link,
    /// so that not all agents make their links at the same time.
    part: f64,
    sides: Arc<SideCounts>,
}

impl SimulatedZoneAgents {
    /// Links one agent per token to these home servers in turn, `at_once` at a time. Each registers
    /// `methods` methods.
    pub async fn link(
        homes: &[SocketAddr],
        agent_tokens: Vec<String>,
        methods: usize,
        at_once: usize,
    ) -> Self {
        let (sides, count) = (Arc::new(SideCounts::default()), agent_tokens.len());
        let mut running = JoinSet::new();
        let mut agents = agent_tokens.into_iter().enumerate();
        loop {
            let group: Vec<_> = agents.by_ref().take(at_once).collect();
            if group.is_empty() {
                let homes = running;
                return Self { homes, sides };
            }
            let mut joining = JoinSet::new();
            for (number, token) in group {
                let (home, sides) = (homes[number % homes.len()], Arc::clone(&sides));
                let part = number as f64 / count as f64;
                joining.spawn(async move { link_home(home, token, methods, part, sides).await });
            }
            for (link, announced, agent) in joining.join_all().await {
                running.spawn(agent.run(link, announced));
            }
        }
    }

    /// The number of side links on which this server has accepted the registration.
    pub fn sides_of(&self, server: ServerId) -> usize {
        let counts = self.sides.counts();
        counts.get(&server).copied().unwrap_or_default()
    }

    /// The number of agents whose home link is up.
    pub fn homes(&mut self) -> usize {
        while self.homes.try_join_next().is_some() {}
        self.homes.len()
    }
}

async fn link_home(
    address: SocketAddr,
    token: String,
    methods: usize,
    part: f64,
    sides: Arc<SideCounts>,
) -> (RawLink, Option<AnnouncedServers>, ZoneAgent) {
    let mut link = RawLink::connect(address, &token).await;
    let welcome = match link.hello(&[VERSION]).await {
        Control::Welcome(welcome) => welcome,
        other => panic!("{other:?}"),
    };
    let registration = simulated_registration(methods);
    let accepted = match link.register(registration.clone()).await {
        Control::Registered(accepted) => accepted,
        other => panic!("{other:?}"),
    };
    let register = Register {
        registration,
        generation: 1,
        replace_conflicting: false,
        place: Some(accepted.place),
        ticket: accepted.ticket,
    };
    let agent = ZoneAgent {
        token,
        home: welcome.server_id,
        register,
        part,
        sides,
    };
    (link, welcome.announced, agent)
}

impl ZoneAgent {
    /// Answers on the home link, and keeps side links, until the home link ends.
    async fn run(self, mut home: RawLink, announced: Option<AnnouncedServers>) {
        let (mut known, mut tasks) = (HashSet::new(), JoinSet::new());
        let mut list = announced;
        loop {
            for server in list.iter().flat_map(|list| &list.servers) {
                if server.id != self.home && known.insert(server.id) {
                    let spread = list.as_ref().map_or(0, |list| list.spread_millis);
                    let delay = Duration::from_millis(spread.into()).mul_f64(self.part);
                    tasks.spawn(self.clone().keep_side(server.clone(), delay));
                }
            }
            list = None;
            let Ok(frame) = home.next().await else { return };
            if let Ok(Control::Servers(servers)) = serde_json::from_slice(&frame.payload) {
                list = Some(servers);
            } else if let Some(answer) = answer(&frame)
                && home.send(&[answer]).await.is_err()
            {
                return;
            }
        }
    }

    async fn keep_side(self, server: AnnouncedServer, mut delay: Duration) {
        loop {
            sleep(delay).await;
            delay = RETRY.mul_f64(0.5 + self.part);
            // Retry after any failure: the server may not be up.
            let _ = self.serve_side(&server).await;
        }
    }

    async fn serve_side(&self, server: &AnnouncedServer) -> Result<(), String> {
        let address = server.url.trim_start_matches("http://");
        let address = address.parse().map_err(|_| "not an address".to_owned())?;
        let mut link = RawLink::try_connect(address, &self.token).await?;
        match link.hello_side(SIMULATED, self.home).await {
            Control::Welcome(_) => {}
            other => return Err(format!("{other:?}")),
        }
        let register = Control::Register(Box::new(self.register.clone()));
        match link.ask(1, &register).await {
            Control::Registered(_) => {}
            other => return Err(format!("{other:?}")),
        }
        let _counted = CountedSide::new(&self.sides, server.id);
        loop {
            let frame = link.next().await?;
            if let Some(answer) = answer(&frame) {
                link.send(&[answer]).await?;
            }
        }
    }
}
