//! Connects to the servers, and reconnects after a lost link.
//!
//! [`Link::run`] makes the home link and the side links. Only the home link decides about the state
//! of the space. The side links, to the other servers of the zone, carry calls, the registration
//! and the state of the method server. The rest of the agent uses the [`Outbox`] and watches
//! [`LinkStatus`], the status of the home link. A lost link never affects the method server.

mod connect;
mod home_choice;
mod home_move;
mod reconnect;
mod session;
mod side;
mod sides;

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_client::Target;
use svc_core::{ServerId, space::HealthCheck};
use svc_link::{AnnouncedServers, Goodbye, OpenedLink, OutboxReader, RefusalCode};
use svc_protocol::agent_api::LinkRecord;
use tokio::{
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use self::{
    connect::{ConnectError, ServerIo, connect},
    home_choice::HomeChoice,
    home_move::HomeLink,
    reconnect::ReconnectDelays,
    session::Session,
};
use crate::{
    backoff::jitter, link_status::LinkStatus, log::SpaceLog, outbox::Outbox, policy::Policy,
    registration::Registrar, servers::Servers,
};

/// Why the agent does not connect again.
#[derive(Debug, PartialEq, Eq)]
pub enum LinkEnd {
    /// The agent stops.
    Finished,
    /// Another agent took over the space.
    Replaced,
    /// The server rejected the token, or the space was deleted.
    Credentials(String),
    /// The server refuses this agent, and a retry cannot help.
    Refused(String),
}

pub struct Link {
    pub servers: Arc<Servers>,
    pub agent_token: String,
    /// A random id, new at each start of an agent.
    pub instance: String,
    pub policy: Arc<Policy>,
    pub outbox: Arc<Outbox>,
    pub log: Arc<SpaceLog>,
    pub registrar: Arc<Registrar>,
    pub status: watch::Sender<LinkStatus>,
    pub health_check: watch::Sender<HealthCheck>,
    /// The announced servers of the zone, as the home server last sent them.
    pub announced: watch::Sender<AnnouncedServers>,
    /// The side links that are up.
    pub sides: Mutex<Vec<OpenSide>>,
    /// The last request of the home server: the server to which the agent should move its home.
    pub moves: watch::Sender<Option<ServerId>>,
    /// The simulated network of a test.
    #[cfg(test)]
    pub network: Option<Arc<simulation::Network>>,
}

/// A side link that is up.
pub struct OpenSide {
    pub number: u64,
    pub server: ServerId,
    pub target: Target,
}

/// The next step after a link has ended or a connection attempt has failed.
enum NextStep {
    /// Another server may accept the agent, or the same server may accept it later: at once, or
    /// after the time that it named.
    Retry {
        after: Duration,
    },
    /// The space is stopped. Every server of the zone would refuse the link.
    RetryAfterStop,
    End(LinkEnd),
}

impl NextStep {
    const RETRY: Self = Self::Retry {
        after: Duration::ZERO,
    };
}

impl Link {
    /// Keeps the agent linked until `finish` is cancelled, or until a server refuses or ends the
    /// home link for good.
    pub async fn run(self, finish: CancellationToken) -> LinkEnd {
        let link = Arc::new(self);
        let finish_links = finish.child_token();
        let sides = tokio::spawn(sides::run(Arc::clone(&link), finish_links.clone()));
        let sides = AbortOnDropHandle::new(sides);
        // Home links that the agent has moved away from, while their calls finish.
        let mut left = JoinSet::new();
        let end = link.run_home(&finish_links, &mut left).await;
        finish_links.cancel();
        let closing = async {
            let _ = sides.await;
            while left.join_next().await.is_some() {}
        };
        if timeout(link.policy.shutdown_close, closing).await.is_err() {
            tracing::debug!("a server did not close a link in time");
        }
        end
    }

    /// Makes the home link. If a server fails, tries the next server at once. Waits only after
    /// every server has failed, or while the space is stopped. If a server names a longer wait, the
    /// next round begins after that wait.
    async fn run_home(
        self: &Arc<Self>,
        finish: &CancellationToken,
        left: &mut JoinSet<()>,
    ) -> LinkEnd {
        let mut delays = ReconnectDelays::new(&self.policy);
        let mut choice = HomeChoice::new(&self.servers);
        let mut not_before = Instant::now();
        loop {
            let server = choice.next(&self.servers, &self.linked());
            self.servers.make_current(&server);
            let (mut next, mut up) = self.link_once(&server, finish, left).await;
            while let NextStep::RetryAfterStop = next {
                let delay = jitter(self.policy.space_stopped_retry);
                tokio::select! {
                    biased;
                    () = sleep(delay) => {}
                    () = finish.cancelled() => return LinkEnd::Finished,
                }
                (next, up) = self.link_once(&server, finish, left).await;
            }
            let now = Instant::now();
            // A link that is lost soon after its start counts as a failure. Otherwise an agent
            // would reconnect without a pause to servers that accept the link and then fail.
            if up >= self.policy.reconnect_reset {
                delays = ReconnectDelays::new(&self.policy);
                choice.start_round();
            }
            match next {
                NextStep::End(end) => return end,
                NextStep::Retry { after } => not_before = not_before.max(now + after),
                NextStep::RetryAfterStop => {}
            }
            if choice.fail(&self.servers, &self.linked()) {
                let delay = jitter(delays.next_delay(now));
                let delay = delay.max(not_before.saturating_duration_since(now));
                tokio::select! {
                    biased;
                    () = sleep(delay) => {}
                    () = finish.cancelled() => return LinkEnd::Finished,
                }
            }
        }
    }

    /// The servers of the side links that are up.
    fn linked(&self) -> Vec<Target> {
        let sides = self.sides.lock();
        sides.iter().map(|side| side.target.clone()).collect()
    }

    pub fn note_announced(&self, servers: AnnouncedServers) {
        self.announced.send_if_modified(|known| {
            let changed = *known != servers;
            *known = servers;
            changed
        });
    }

    /// Makes the home link once and runs it to its end. If the agent moves its home meanwhile, runs
    /// the new home link to its end. Also returns how long the last home link was up.
    async fn link_once(
        self: &Arc<Self>,
        server: &Target,
        finish: &CancellationToken,
        left: &mut JoinSet<()>,
    ) -> (NextStep, Duration) {
        let connected = tokio::select! {
            biased;
            connected = connect(self, server, None) => match connected {
                Ok(connected) => connected,
                Err(error) => return (self.connect_failed(error), Duration::ZERO),
            },
            () = finish.cancelled() => return (NextStep::End(LinkEnd::Finished), Duration::ZERO),
        };
        let mut home = self.begin_home(server, connected, finish);
        let end = loop {
            tokio::select! {
                biased;
                end = &mut home.session => break end,
                () = self.registrar.reset_link.notified() => {
                    break session::End::Lost("the agent reset the link".to_owned());
                }
                (target, connected) = self.connect_next_home() => {
                    let next = self.begin_home(&target, connected, finish);
                    let old = std::mem::replace(&mut home, next);
                    left.spawn(Arc::clone(self).leave_home(old));
                }
            }
        };
        (self.link_ended(home.number, end), home.up_since.elapsed())
    }

    /// Starts the home link on an opened connection.
    fn begin_home(
        self: &Arc<Self>,
        server: &Target,
        connected: OpenedLink<ServerIo>,
        finish: &CancellationToken,
    ) -> HomeLink {
        let welcome = &connected.welcome;
        tracing::info!(
            space.id = %welcome.space.id,
            space.name = %welcome.space.name,
            server.id = %welcome.server_id,
            server.url = %server,
            "linked to the server"
        );
        let checked = welcome.health_check.clone();
        self.health_check.send_if_modified(|check| {
            let changed = *check != checked;
            *check = checked;
            changed
        });
        if let Some(announced) = welcome.announced.clone() {
            self.note_announced(announced);
        }
        let (session, frames) = self.open_session(server, welcome.server_id, true, finish);
        let number = session.number;
        self.status.send_replace(LinkStatus {
            link: Some(number),
            error: None,
            server: Some(welcome.server_id),
            space: Some(welcome.space.clone()),
        });
        self.log.wake();
        HomeLink {
            number,
            up_since: Instant::now(),
            session: Box::pin(session::run(session, connected, frames)),
        }
    }

    /// Opens the queue of a new link.
    fn open_session(
        self: &Arc<Self>,
        server: &Target,
        server_id: ServerId,
        is_home: bool,
        finish: &CancellationToken,
    ) -> (Session, OutboxReader) {
        let number = self.outbox.new_link();
        let record = LinkRecord {
            server_id,
            url: server.to_string(),
            is_home,
            since: svc_clock::now(),
        };
        let (frames, stuck) = self.outbox.open(number, record);
        let session = Session {
            link: Arc::clone(self),
            number,
            stuck,
            finish: finish.clone(),
        };
        (session, frames)
    }

    /// Records that the home link has ended.
    fn link_ended(&self, number: u64, end: session::End) -> NextStep {
        self.outbox.close(number);
        self.registrar.routes.forget_link(number);
        let (next, error) = next_step(end);
        // No warning if the agent does not retry: it reports the reason when it exits.
        if let (Some(error), NextStep::Retry { .. } | NextStep::RetryAfterStop) = (&error, &next) {
            tracing::warn!(%error, "the link to the server ended");
        }
        self.status.send_modify(|status| {
            status.link = None;
            status.error = error;
        });
        next
    }

    fn connect_failed(&self, error: ConnectError) -> NextStep {
        let text = error.to_string();
        self.status
            .send_modify(|status| status.error = Some(text.clone()));
        let next = match error {
            ConnectError::Unauthorized(_) => return NextStep::End(LinkEnd::Credentials(text)),
            ConnectError::Refused(refusal) if refusal.code == RefusalCode::Unauthorized => {
                return NextStep::End(LinkEnd::Credentials(text));
            }
            ConnectError::Refused(refusal) if refusal.code == RefusalCode::SpaceStopped => {
                NextStep::RetryAfterStop
            }
            ConnectError::Refused(refusal) if !refusal.retry => {
                return NextStep::End(LinkEnd::Refused(text));
            }
            ConnectError::Refused(refusal) => NextStep::Retry {
                after: Duration::from_millis(refusal.retry_after_millis.unwrap_or(0).into()),
            },
            _ => NextStep::RETRY,
        };
        let server = self.servers.current();
        tracing::warn!(error = %text, server.url = %server, "no link to the server");
        next
    }
}

fn next_step(end: session::End) -> (NextStep, Option<String>) {
    use session::End;
    let retry = |error: String| (NextStep::RETRY, Some(error));
    match end {
        End::Finished => (NextStep::End(LinkEnd::Finished), None),
        End::Lost(error) => retry(error),
        End::Goodbye(Goodbye::Replaced) => (NextStep::End(LinkEnd::Replaced), None),
        End::Goodbye(Goodbye::Revoked) => {
            let error = "the space was deleted, or its agent token was replaced".to_owned();
            (
                NextStep::End(LinkEnd::Credentials(error.clone())),
                Some(error),
            )
        }
        End::Goodbye(Goodbye::SpaceStopped) => {
            let error = "the space is stopped; start it with `svc space start`".to_owned();
            (NextStep::RetryAfterStop, Some(error))
        }
        End::Goodbye(Goodbye::ServerStopping) => retry("the server is stopping".to_owned()),
        End::Goodbye(Goodbye::Reconnect) => retry("the server asks for a new link".to_owned()),
        End::Goodbye(reason @ (Goodbye::Protocol | Goodbye::AgentStopping)) => {
            retry(format!("the server ended the link ({reason:?})"))
        }
    }
}

#[cfg(test)]
mod simulation;
