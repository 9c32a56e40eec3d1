//! One run: servers, receiver and emitters, and the rounds. A round disturbs a server while events
//! are emitted, waits until every queue is empty, and compares what was acknowledged with what
//! arrived.

use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use svc_client::{Client, Error, LoginStep};
use svc_core::{EventId, SinkId};
use svc_protocol::api::{
    DeliveryQuery, DeliveryState, Login, NewSink, NewSpace, NewToken, PatternsInput, Sink,
    SinkOwner, SinkType, Sinks, Space, Token, WebhookConfig,
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    calls::{self, CallTotals, Calls},
    dice::Dice,
    emitters::{self, EMITTERS, EVENT_TYPE},
    harm::Harm,
    ledger::{Finding, FindingKind},
    receiver::Receiver,
    schema::Schema,
    servers::{Server, ServerSettings, free_address},
    shared::Shared,
};
use crate::exit::Failure;

/// How long the servers may take until they acknowledge again, and until every queue is empty.
const PROGRESS_MAX: Duration = Duration::from_secs(60);
/// The pause between two looks at a condition.
const POLL: Duration = Duration::from_millis(3);
/// A wait for emits ends after this many acknowledged emits per emitter, on average over all
/// emitters.
const EMITS: usize = 3;
/// Pages of dead deliveries that are read. Each has 200.
const DEAD_PAGES_MAX: usize = 5;

/// Why a round did not end.
pub enum RoundError {
    /// The run itself cannot go on.
    Failure(Failure),
    /// The servers broke a promise, and no further rounds are possible.
    Broken(FindingKind, String),
}

impl From<Failure> for RoundError {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

pub struct Run {
    pub shared: Arc<Shared>,
    pub(super) settings: ServerSettings,
    pub(super) servers: Vec<Server>,
    pub(super) schema: Option<Schema>,
    harms: Vec<Harm>,
    token: String,
    sinks: Vec<SinkId>,
    pub findings: Vec<Finding>,
    /// Finished rounds of each kind.
    pub done: BTreeMap<Harm, usize>,
    /// The longest time until a few more emits were acknowledged.
    pub longest_wait: Duration,
    receiver: Receiver,
    /// The emitters and the callers.
    tasks: JoinSet<()>,
    calls: Option<Calls>,
}

impl Run {
    /// A run without servers.
    pub fn new(
        shared: Arc<Shared>,
        settings: ServerSettings,
        receiver: Receiver,
        schema: Option<Schema>,
        harms: Vec<Harm>,
    ) -> Self {
        Self {
            shared,
            settings,
            servers: Vec::new(),
            schema,
            harms,
            token: String::new(),
            sinks: Vec::new(),
            findings: Vec::new(),
            done: BTreeMap::new(),
            longest_wait: Duration::ZERO,
            receiver,
            tasks: JoinSet::new(),
            calls: None,
        }
    }

    /// Starts the servers, creates the sinks, and starts the agent, the emitters and the callers.
    pub async fn start(&mut self, servers: usize) -> Result<(), Failure> {
        for number in 0..servers {
            let server = Server::start(&self.settings, number, free_address()?).await?;
            self.shared.add_address(server.address);
            self.servers.push(server);
        }
        self.token = self.create_token().await?;
        self.create_sinks().await?;
        self.start_calls().await?;
        self.tasks = emitters::start(&self.shared, &self.token);
        calls::start_callers(&self.shared, &self.token, &mut self.tasks);
        Ok(())
    }

    pub fn into_schema(self) -> Option<Schema> {
        self.schema
    }

    async fn create_token(&self) -> Result<String, Failure> {
        let login = Login {
            username: "admin".to_owned(),
            password: self.settings.admin_password.clone(),
        };
        let step = self.client(0)?.login(&login).await?;
        let LoginStep::SignedIn(admin) = step else {
            return Err(Failure::failed("a new server asks for a second factor"));
        };
        let new = NewToken {
            name: "prove".to_owned(),
            ..NewToken::default()
        };
        let token: Token = admin.create(&new).await?;
        let missing = || Failure::failed("the server created a token but did not return it");
        token.token.ok_or_else(missing)
    }

    async fn start_calls(&mut self) -> Result<(), Failure> {
        let new = NewSpace {
            name: "prove".to_owned(),
            ..NewSpace::default()
        };
        let space: Space = self.client(0)?.create(&new).await?;
        let token = space.agent_token.unwrap_or_default();
        self.calls = Some(Calls::start(&self.settings, &self.shared, &token)?);
        calls::wait_for_method(&self.shared, &self.token, PROGRESS_MAX).await
    }

    async fn create_sinks(&mut self) -> Result<(), Failure> {
        let names = self.shared.ledger().sinks();
        for name in &names {
            let pattern = match name.strip_prefix('e') {
                Some(number) => format!("custom.{EVENT_TYPE}{number}"),
                None => "custom.prove.*".to_owned(),
            };
            let url = format!("http://{}/{name}", self.receiver.address);
            let new = new_sink(name, pattern, url);
            let sink: Sink = self.client(0)?.create(&new).await?;
            self.sinks.push(sink.id);
        }
        // Each server of a zone must know the token and the sinks.
        let begun = Instant::now();
        for server in 0..self.servers.len() {
            loop {
                let sinks = self.client(server)?.list_all::<Sinks>(&()).await;
                match sinks {
                    Ok(sinks) if sinks.len() == names.len() => break,
                    _ if begun.elapsed() < PROGRESS_MAX => sleep(POLL).await,
                    Ok(sinks) => {
                        let (known, all) = (sinks.len(), names.len());
                        let what = format!("server {server} knows {known} sinks of {all}");
                        return Err(Failure::failed(what));
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    fn client(&self, server: usize) -> Result<Client, Failure> {
        let address = self.servers[server].address;
        emitters::client(address, &self.token).map_err(Failure::failed)
    }

    /// Runs one round. The first is 1. Returns what was done, for the progress.
    pub async fn round(&mut self, number: usize) -> Result<(Harm, String), Failure> {
        let mut dice = Dice::new(self.shared.seed, &[3_000, number]);
        let start = Dice::new(self.shared.seed, &[4_000]).index(self.harms.len());
        let harm = self.harms[(start + number) % self.harms.len()];
        match self.try_round(number, harm, &mut dice).await {
            Ok(what) => {
                *self.done.entry(harm).or_default() += 1;
                Ok((harm, what))
            }
            Err(RoundError::Failure(failure)) => Err(failure),
            Err(RoundError::Broken(kind, what)) => {
                self.findings.push(Finding {
                    kind,
                    round: number,
                    what: what.clone(),
                });
                Ok((harm, what))
            }
        }
    }

    async fn try_round(
        &mut self,
        number: usize,
        harm: Harm,
        dice: &mut Dice,
    ) -> Result<String, RoundError> {
        self.shared.gate.send_replace(true);
        self.wait_for_emits().await?;
        let what = self.disturb(harm, dice).await?;
        self.wait_for_emits().await?;
        self.shared.gate.send_replace(false);
        self.wait_until_quiet().await?;
        let dead = self.find_dead().await?;
        let found = self.shared.ledger().check(number, &dead);
        self.findings.extend(found);
        if let Some(calls) = &mut self.calls {
            let found = calls.check(&self.shared.calls)?.into_iter();
            let round = number;
            let finding = |(kind, what)| Finding { kind, round, what };
            self.findings.extend(found.map(finding));
        }
        Ok(what)
    }

    pub(super) async fn start_again(&mut self, server: usize) -> Result<(), RoundError> {
        let address = self.servers[server].address;
        self.servers[server] = Server::start(&self.settings, server, address).await?;
        Ok(())
    }

    /// Waits until a few more emits are acknowledged.
    pub(super) async fn wait_for_emits(&mut self) -> Result<(), RoundError> {
        let begun = Instant::now();
        let enough = self.shared.acknowledged() + EMITS * EMITTERS;
        while self.shared.acknowledged() < enough {
            if let Some(why) = self.shared.rejection() {
                return Err(RoundError::Broken(FindingKind::Lost, why));
            }
            if begun.elapsed() > PROGRESS_MAX {
                let what = format!("no server acknowledges emits after {PROGRESS_MAX:?}");
                return Err(RoundError::Broken(FindingKind::Stuck, what));
            }
            sleep(POLL).await;
        }
        self.longest_wait = self.longest_wait.max(begun.elapsed());
        Ok(())
    }

    /// Waits until no emit and no call is under way, and every queue is empty.
    async fn wait_until_quiet(&self) -> Result<(), RoundError> {
        let begun = Instant::now();
        loop {
            let queued = match self.shared.busy.load(Ordering::SeqCst) {
                0 => self.queued().await,
                busy => Ok(format!("{busy} emits and calls wait for an answer")),
            };
            let why = match queued {
                Ok(queued) if queued.is_empty() => return Ok(()),
                Ok(queued) => queued,
                Err(error) => error.to_string(),
            };
            if begun.elapsed() > PROGRESS_MAX {
                let what = format!("the queues are not empty after {PROGRESS_MAX:?}: {why}");
                return Err(RoundError::Broken(FindingKind::Stuck, what));
            }
            sleep(POLL).await;
        }
    }

    /// The queues that are not empty.
    async fn queued(&self) -> Result<String, Error> {
        let Ok(client) = self.client(0) else {
            return Ok("no client".to_owned());
        };
        let sinks = client.list_all::<Sinks>(&()).await?;
        let waiting = sinks
            .iter()
            .filter(|sink| sink.queue_depth > 0 || sink.held)
            .map(|sink| format!("{} has {} events", sink.name, sink.queue_depth));
        Ok(waiting.collect::<Vec<_>>().join(", "))
    }

    /// Of the events that a sink did not accept, those that are recorded as `dead`.
    async fn find_dead(&self) -> Result<Vec<(usize, EventId)>, Failure> {
        let missing = self.shared.ledger().not_accepted();
        let mut dead = Vec::new();
        let mut sinks: Vec<usize> = missing.iter().map(|(sink, _)| *sink).collect();
        sinks.dedup();
        for sink in sinks {
            let mut query = DeliveryQuery {
                state: Some(DeliveryState::Dead),
                limit: Some(200),
                ..DeliveryQuery::default()
            };
            for _ in 0..DEAD_PAGES_MAX {
                let page = self.client(0)?.deliveries(self.sinks[sink], &query).await?;
                dead.extend(page.deliveries.iter().map(|one| (sink, one.event_id)));
                if page.next_cursor.is_none() {
                    break;
                }
                query.cursor = page.next_cursor;
            }
        }
        Ok(dead)
    }

    pub fn call_totals(&self) -> CallTotals {
        let totals = |calls: &Calls| calls.totals(&self.shared.calls);
        self.calls.as_ref().map(totals).unwrap_or_default()
    }

    /// Ends the emitters, the callers and all processes.
    pub fn stop(&mut self) {
        self.tasks.abort_all();
        self.calls = None;
        self.servers.clear();
    }
}

fn new_sink(name: &str, pattern: String, url: String) -> NewSink {
    NewSink {
        name: name.to_owned(),
        description: String::new(),
        patterns: PatternsInput::Text(pattern),
        r#type: SinkType::Webhook,
        owner: SinkOwner::User,
        active: true,
        webhook: Some(WebhookConfig {
            url,
            headers: BTreeMap::new(),
            body_template: None,
            format: Default::default(),
            ca: None,
            client_certificate: None,
            client_key: None,
            http2: false,
            secret: None,
        }),
        script: None,
        json_rpc: None,
        delivery: None,
    }
}
