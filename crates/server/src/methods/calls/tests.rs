//! A simulation of calls: agents lose their links and come back, refuse calls, answer late or
//! report interrupted calls, while callers call, time out and give up.
//!
//! The registry, the links with their queues and tables, and the routing are those of the product.
//! Agents and their method servers are simulated. The tests check four promises. A call is sent to
//! at most one method server, and at most once. If an error says that nothing was sent, this is
//! true. Every call ends in time. In the end, no registration is lost, and no call counts as in
//! flight.

mod agent;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use svc_core::{
    Permission, Permissions, QuotaOverrides, Quotas, SpaceId, SpaceName, Timestamp, UserId,
    UserName, journal::CallVia, registration::Registration, visibility::Viewer,
};
use svc_link::SpaceIdentity;
use svc_protocol::jsonrpc::RpcError;
use svc_simulation::{Random, Run, Trace, check_is_found, check_is_repeatable, check_promises};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use uuid::Uuid;

use self::agent::SimulatedAgent;
use super::{
    CallFacts, Reply,
    attempt::{CANCEL_ANSWER_MAX, Route, try_providers},
};
use crate::{
    identity::{Caller, User},
    live::{Availability, LiveSpace},
    methods::{
        provider::Provider,
        registry::{Definition, PickError, Publication, Registry},
    },
};

pub(super) const METHOD: &str = "a.b";
const TIMEOUT: Duration = Duration::from_secs(5);
const STEPS: u64 = 60;
pub(super) const OWNER: UserId = UserId(Uuid::from_u128(7));

/// How often method servers executed each call, by the number of the call.
#[derive(Default)]
struct Executions(Mutex<HashMap<u64, u32>>);

impl Executions {
    fn add(&self, call: u64) {
        *self.0.lock().entry(call).or_default() += 1;
    }

    fn of(&self, call: u64) -> u32 {
        self.0.lock().get(&call).copied().unwrap_or_default()
    }
}

struct SimulatedRoute<'a> {
    registry: &'a Registry,
    call: &'a CallFacts<'a>,
}

impl Route for SimulatedRoute<'_> {
    fn call(&self) -> &CallFacts<'_> {
        self.call
    }

    fn pick(&self, tried: &[Arc<Provider>]) -> Result<Arc<Provider>, PickError> {
        self.registry.pick(viewer(), OWNER, METHOD, tried)
    }

    fn left(&self, _: &Provider) {}
}

struct World {
    random: Random,
    trace: Arc<Trace>,
    registry: Arc<Registry>,
    executions: Arc<Executions>,
    agents: Vec<Arc<SimulatedAgent>>,
    /// `concurrent` or `serial`.
    mode: &'static str,
    generation: u32,
    callers: JoinSet<(u64, Option<Result<Reply, RpcError>>)>,
    calls: u64,
}

impl World {
    async fn run(seed: u64, agents_lie: bool) -> Arc<Trace> {
        let mut world = Self::new(seed, agents_lie);
        for agent in 0..world.agents.len() {
            world.connect(agent);
        }
        for _ in 0..STEPS {
            world.step().await;
        }
        world.settle().await;
        world.trace
    }

    fn new(seed: u64, agents_lie: bool) -> Self {
        let mut random = Random::new(seed);
        let (trace, executions) = (Arc::new(Trace::begin()), Arc::new(Executions::default()));
        let count = 1 + random.index(3);
        let agents = (0..count).map(|number| {
            Arc::new(SimulatedAgent {
                live: Arc::new(live_space(number)),
                trace: trace.clone(),
                executions: executions.clone(),
                random: Mutex::new(Random::new(random.number())),
                lies: agents_lie,
            })
        });
        Self {
            agents: agents.collect(),
            mode: ["concurrent", "serial"][random.index(2)],
            random,
            trace,
            registry: Arc::default(),
            executions,
            generation: 0,
            callers: JoinSet::new(),
            calls: 0,
        }
    }

    async fn step(&mut self) {
        let agent = self.random.index(self.agents.len());
        match self.random.below(100) {
            0..60 => self.call(),
            60..75 => self.agents[agent].lose_link(),
            75..92 => self.connect(agent),
            _ => {
                let states = [Availability::Ready, Availability::Restarting];
                let state = states[self.random.index(2)];
                let live = &self.agents[agent].live;
                if live.link().is_some() {
                    live.set_availability(state);
                }
            }
        }
        sleep(self.random.time_below(Duration::from_millis(400))).await;
    }

    /// Links an agent and repeats its registration. A link that still exists is replaced.
    fn connect(&mut self, agent: usize) {
        self.trace.note(&format!("agent {agent} links"));
        self.generation += 1;
        let agent = &self.agents[agent];
        agent.link(Caller::process(Arc::new(owner())));
        let publication = publication(&agent.live, self.mode, self.generation);
        let published = self.registry.publish(&publication, 1_000, |_| {});
        published.expect("equal definitions do not conflict");
        agent.live.set_availability(Availability::Ready);
    }

    /// Starts a call. Some callers give up before the answer.
    fn call(&mut self) {
        self.calls += 1;
        let (call, registry, trace) = (self.calls, self.registry.clone(), self.trace.clone());
        let patience = match self.random.is_chance(10) {
            true => self.random.time_below(TIMEOUT),
            false => TIMEOUT * 2,
        };
        trace.note(&format!("call {call} begins"));
        self.callers.spawn(async move {
            let arrived = Instant::now();
            let params = call.to_string();
            let facts = CallFacts {
                caller: &Caller::process(Arc::new(owner())),
                arrived,
                method: METHOD,
                params: Some(&params),
                via: CallVia::Api,
                trace: None,
            };
            let route = SimulatedRoute {
                registry: &registry,
                call: &facts,
            };
            let routing = try_providers(route, None);
            let reply = timeout(patience, routing).await.ok();
            let reply = reply.map(|routed| routed.reply);
            trace.note(&format!("call {call} ends: {}", describe(reply.as_ref())));
            if arrived.elapsed() > TIMEOUT + CANCEL_ANSWER_MAX {
                trace.break_promise(format!("in time: call {call} took {:?}", arrived.elapsed()));
            }
            (call, reply)
        });
    }

    /// Waits for all calls and for everything that still runs at agents, and checks the promises.
    async fn settle(&mut self) {
        let mut ended = Vec::new();
        while let Some(call) = self.callers.join_next().await {
            ended.push(call.expect("a caller does not panic"));
        }
        for agent in &self.agents {
            agent.lose_link();
        }
        sleep(TIMEOUT * 10).await;
        for (call, reply) in ended {
            self.check_call(call, reply.as_ref());
        }
        for agent in 0..self.agents.len() {
            self.connect(agent);
        }
        let mut tried = Vec::new();
        while let Ok(provider) = self.registry.pick(viewer(), OWNER, METHOD, &tried) {
            let in_flight = provider.candidate().in_flight;
            if in_flight != 0 {
                let text = format!("slots: {in_flight} calls in flight after all have ended");
                self.trace.break_promise(text);
            }
            tried.push(provider);
        }
        if tried.len() != self.agents.len() {
            let text = format!("registrations: {} of {}", tried.len(), self.agents.len());
            self.trace.break_promise(text);
        }
    }

    fn check_call(&self, call: u64, reply: Option<&Result<Reply, RpcError>>) {
        let executions = self.executions.of(call);
        if executions > 1 {
            let text = format!("at most once: call {call} was executed {executions} times");
            self.trace.break_promise(text);
        }
        let is_true = match reply {
            Some(Ok(Reply::Result(result))) => executions == 1 && *result == call.to_string(),
            Some(Ok(Reply::Error(_))) => executions == 1,
            Some(Err(RpcError::Unavailable | RpcError::TimedOut { sent: false, .. })) => {
                executions == 0
            }
            Some(Err(RpcError::TimedOut { .. } | RpcError::Interrupted)) | None => true,
            Some(Err(_)) => false,
        };
        if !is_true {
            self.trace.break_promise(format!(
                "true answers: call {call} was executed {executions} times and ended: {}",
                describe(reply)
            ));
        }
    }
}

fn describe(reply: Option<&Result<Reply, RpcError>>) -> String {
    match reply {
        None => "the caller gave up".to_owned(),
        Some(Ok(Reply::Result(_))) => "a result".to_owned(),
        Some(Ok(Reply::Error(_))) => "an error of the method".to_owned(),
        Some(Err(error)) => format!("{error:?}"),
    }
}

pub(super) fn live_space(number: usize) -> LiveSpace {
    let identity = SpaceIdentity {
        id: SpaceId(Uuid::from_u128(1 + number as u128)),
        name: SpaceName::parse(&format!("s{number}")).expect("valid"),
        owner: UserName::parse("ann").expect("valid"),
        urls: BTreeMap::new(),
    };
    LiveSpace::new(OWNER, identity)
}

fn owner() -> User {
    User {
        id: OWNER,
        name: UserName::parse("ann").expect("valid"),
        active: true,
        created_at: Timestamp(0),
        permissions: Permissions::of(&[Permission::UseMethods]),
        role_names: Vec::new(),
        groups: Vec::new(),
        group_names: Vec::new(),
        quota_overrides: QuotaOverrides::default(),
        has_second_factor: false,
    }
}

pub(super) fn viewer() -> Viewer<'static> {
    Viewer {
        id: OWNER,
        permissions: Permissions::of(&[Permission::UseMethods]),
        groups: &[],
    }
}

fn publication(space: &Arc<LiveSpace>, mode: &str, generation: u32) -> Publication {
    let document = json!({
        "server": {"command": "x", "mode": mode, "timeout": TIMEOUT.as_secs()},
        "methods": [{"name": METHOD, "local_name": "x", "description": "x", "scope": "private"}],
    });
    publication_of(space, document, generation)
}

pub(super) fn publication_of(
    space: &Arc<LiveSpace>,
    document: Value,
    generation: u32,
) -> Publication {
    let registration: Registration = serde_json::from_value(document).expect("well-formed");
    let checked = registration
        .check(&space.name, &space.identity.owner)
        .expect("a valid registration");
    let methods = checked.methods.into_iter();
    Publication {
        space: Arc::clone(space),
        server: checked.server,
        methods: methods.map(|one| Definition::new(one, None)).collect(),
        generation,
        place: None,
        replace_conflicting: false,
        accepted_elsewhere: false,
        quotas: Quotas::default(),
    }
}

fn simulate(seed: u64) -> Run {
    Run::of(seed, World::run(seed, false))
}

#[test]
fn simulation_keeps_the_promises_of_calls() {
    check_promises("simulation_keeps_the_promises_of_calls", simulate);
}

#[test]
fn simulation_of_calls_depends_on_its_seed_only() {
    check_is_repeatable(simulate);
}

#[test]
fn simulation_finds_agents_that_deny_that_they_sent_a_call() {
    let with_fault = |seed| Run::of(seed, World::run(seed, true));
    check_is_found(&["at most once:", "true answers:"], with_fault, simulate);
}
