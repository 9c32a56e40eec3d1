//! One run of the simulation.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_core::space::HealthCheck;
use svc_link::{AnnouncedServers, FrameKind, Goodbye};
use svc_simulation::{Random, Trace};
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{network::Network, server::SimulatedServer};
use crate::{
    backoff::Backoff,
    link::{Link, LinkEnd},
    local_api::tests::servers,
    method_server::simulated::CallEnd,
    policy::Policy,
    registration::{
        RegistrationError,
        simulation::bench::{Bench, CallLimit, draw_patience, register_file},
    },
};

const STEPS: u64 = 60;
/// Both ends notice a silent link within 40 s, four heartbeats. A cut may follow a stall, so a
/// cancelled call must end within twice this time.
const LINK_LOST_MAX: Duration = Duration::from_secs(90);
/// The longest stall of a connection.
const STALL_MAX: Duration = Duration::from_secs(60);
/// After the last stall has ended and dead links were noticed, the agent must be linked and
/// registered within this time. A refused registration is repeated after at most 30 s.
const LINKED_MAX: Duration = Duration::from_secs(60);
/// After that, a call must succeed within this time.
const RECOVERY_MAX: Duration = Duration::from_secs(60);
/// The agent must close its link within this time.
const CLOSE_MAX: Duration = Duration::from_secs(3);

/// A rule that is broken on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The agent does not restore its registration on a new link.
    NotRestored,
    /// The server sends the calls of a lost link again.
    SentAgain,
    NoReconnectDelays,
}

pub struct World {
    random: Random,
    bench: Arc<Bench>,
    server: Arc<SimulatedServer>,
    network: Arc<Network>,
    link: JoinHandle<LinkEnd>,
    finish: CancellationToken,
    /// The registration that the user was last told to be in force.
    acknowledged: Arc<Mutex<Option<u64>>>,
    changes: JoinSet<()>,
    callers: JoinSet<CallEnd>,
    registrations: u64,
    calls: u64,
}

impl World {
    pub async fn run(seed: u64, fault: Option<Fault>) -> Arc<Trace> {
        let mut world = Self::new(seed, fault);
        for _ in 0..STEPS {
            world.step().await;
        }
        world.settle().await;
        Arc::clone(&world.bench.trace)
    }

    fn new(seed: u64, fault: Option<Fault>) -> Self {
        let mut random = Random::new(seed);
        let mut policy = Policy {
            links_max: 1,
            ..Policy::default()
        };
        let promised = policy.clone();
        if fault == Some(Fault::NoReconnectDelays) {
            policy.reconnect_soon = Backoff::from_millis(1, 1);
        }
        let bench = Bench::new(&mut random, policy, None);
        let sends_again = fault == Some(Fault::SentAgain);
        let server = SimulatedServer::new(&bench.ledger, Random::new(random.number()), sends_again);
        let (status, link_status) = (bench.status.clone(), bench.status.subscribe());
        let random_network = Random::new(random.number());
        let network = Network::new(
            &bench.ledger,
            &server,
            link_status,
            promised,
            random_network,
        );
        let network = Arc::new(network);
        let link = Link {
            servers: servers("http://server.test"),
            agent_token: "svc_agt_x".to_owned(),
            instance: "agent".to_owned(),
            policy: Arc::clone(&bench.services.policy),
            outbox: Arc::clone(&bench.services.outbox),
            log: Arc::clone(&bench.services.log),
            registrar: Arc::clone(&bench.registrar),
            status,
            health_check: watch::Sender::new(HealthCheck::default()),
            announced: watch::Sender::new(AnnouncedServers::default()),
            sides: Mutex::default(),
            moves: watch::Sender::default(),
            network: Some(Arc::clone(&network)),
        };
        let finish = CancellationToken::new();
        let registrar = Arc::clone(&bench.registrar);
        if fault != Some(Fault::NotRestored) {
            tokio::spawn(async move { registrar.restore_on_each_link().await });
        }
        Self {
            random,
            server,
            network,
            link: tokio::spawn(link.run(finish.clone())),
            finish,
            bench: Arc::new(bench),
            acknowledged: Arc::default(),
            changes: JoinSet::new(),
            callers: JoinSet::new(),
            registrations: 0,
            calls: 0,
        }
    }

    async fn step(&mut self) {
        match self.random.below(100) {
            0..55 => {
                self.call();
            }
            55..67 => self.register(),
            67..69 => self.unregister(),
            69..90 => self.disturb(),
            _ => {}
        }
        let pause = match self.random.is_chance(5) {
            true => Duration::from_secs(40),
            false => Duration::from_secs(1),
        };
        sleep(self.random.time_below(pause)).await;
    }

    fn disturb(&mut self) {
        let Some(wire) = self.network.wire() else {
            return;
        };
        match self.random.below(10) {
            0..4 => {
                let bytes = self.random.index(400);
                let is_silent = self.random.is_chance(30);
                self.bench
                    .trace
                    .note(&format!("a cut after {bytes} bytes, silent: {is_silent}"));
                wire.cut_after(bytes, is_silent);
            }
            4..7 => {
                let time = self.random.time_below(STALL_MAX);
                self.bench.trace.note(&format!("a stall of {time:?}"));
                wire.stall(time);
            }
            7 => {
                let time = self.random.time_below(Duration::from_secs(20));
                self.bench
                    .trace
                    .note(&format!("the server is away for {time:?}"));
                self.network.shut(time);
            }
            _ => {
                let reason = [Goodbye::Reconnect, Goodbye::ServerStopping][self.random.index(2)];
                if let Some(home) = self.server.home() {
                    self.bench
                        .trace
                        .note(&format!("the server says {reason:?}"));
                    home.say_goodbye(reason);
                }
            }
        }
    }

    /// Replaces the registration.
    fn register(&mut self) {
        self.registrations += 1;
        let number = self.registrations;
        let file = register_file(number, CallLimit::draw(&mut self.random));
        let (bench, acknowledged) = (Arc::clone(&self.bench), Arc::clone(&self.acknowledged));
        self.changes.spawn(async move {
            let result = bench.registrar.register(file).await;
            note(
                &bench,
                &format!("registration {number}"),
                result.as_ref().err(),
            );
            if result.is_ok() {
                *acknowledged.lock() = Some(number);
            }
        });
    }

    fn unregister(&mut self) {
        let (bench, acknowledged) = (Arc::clone(&self.bench), Arc::clone(&self.acknowledged));
        self.changes.spawn(async move {
            let result = bench.registrar.unregister(None).await;
            note(
                &bench,
                "the removal of the registration",
                result.as_ref().err(),
            );
            if result.is_ok() {
                *acknowledged.lock() = None;
            }
        });
    }

    /// Starts a call, if the server has a registration. Some callers give up before the timeout.
    fn call(&mut self) -> bool {
        let call = self.calls + 1;
        let Some((link, end)) = self.server.call(call, &mut self.random) else {
            return false;
        };
        self.calls = call;
        let patience = draw_patience(&mut self.random);
        let bench = Arc::clone(&self.bench);
        self.callers.spawn(async move {
            bench
                .wait_for_end(call, end, patience, || link.cancel(call), LINK_LOST_MAX)
                .await
        });
        true
    }

    /// Ends all disturbances, and checks the state of agent and server.
    async fn settle(&mut self) {
        self.bench.trace.note("all disturbances end");
        self.bench.programs.calm_down();
        self.server.calm_down();
        self.network.calm_down();
        sleep(STALL_MAX + LINK_LOST_MAX).await;
        while self.changes.join_next().await.is_some() {}
        self.check_linked().await;
        if self.acknowledged.lock().is_none() {
            self.register();
            while self.changes.join_next().await.is_some() {}
            self.check_linked().await;
        }
        while self.callers.join_next().await.is_some() {}
        if !self.bench.trace.is_broken() {
            self.check_recovery().await;
            self.check_goodbye().await;
        }
        self.bench.finish().await;
    }

    /// Waits until agent and server agree on one link and on the acknowledged registration.
    async fn check_linked(&self) {
        let began = Instant::now();
        loop {
            let acknowledged = *self.acknowledged.lock();
            let registered = self.server.registered();
            let is_linked = self.bench.status.borrow().link.is_some();
            let links = self.server.links();
            if is_linked && links == 1 && registered == acknowledged {
                return;
            }
            if began.elapsed() > LINKED_MAX {
                return self.bench.trace.break_promise(format!(
                    "registrations: {acknowledged:?} was acknowledged, the server has \
                     {registered:?}, the agent is linked: {is_linked}, links: {links}"
                ));
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    async fn check_recovery(&mut self) {
        let began = Instant::now();
        loop {
            if self.call() {
                let end = self.callers.join_next().await.expect("a call");
                if end.expect("a caller does not panic") == CallEnd::Answered(FrameKind::Result) {
                    return;
                }
            }
            if began.elapsed() > RECOVERY_MAX {
                let text = format!("in time: no call succeeds within {RECOVERY_MAX:?}");
                return self.bench.trace.break_promise(text);
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Stops the agent, and checks that it says goodbye.
    async fn check_goodbye(&mut self) {
        self.finish.cancel();
        let end = timeout(CLOSE_MAX, &mut self.link).await;
        let is_finished = matches!(end, Ok(Ok(LinkEnd::Finished)));
        // The goodbye may still be on its way.
        sleep(Duration::from_secs(1)).await;
        let goodbye = self.server.goodbye();
        if !is_finished || goodbye != Some(Goodbye::AgentStopping) {
            let text = format!("goodbye: the link ended with {end:?}, the server saw {goodbye:?}");
            self.bench.trace.break_promise(text);
        }
    }
}

fn note(bench: &Bench, what: &str, error: Option<&RegistrationError>) {
    let end = error.map_or_else(|| "succeeded".to_owned(), ToString::to_string);
    bench.trace.note(&format!("{what}: {end}"));
}
