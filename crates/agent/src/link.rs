//! Connects to the server, and reconnects after a lost link.
//!
//! [`Link::run`] owns the connection and polls its reader and writer. The rest of the agent uses
//! the [`Outbox`] and watches [`LinkStatus`]. A lost link never affects the method server.

mod connect;
mod session;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use svc_core::space::HealthCheck;
use svc_link::{FEATURE_PROGRESS, Goodbye, RefusalCode};
use tokio::{sync::watch, time::sleep};
use tokio_util::sync::CancellationToken;

use self::connect::{ConnectError, connect};
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
}

/// The next step after a link has ended or a connection attempt has failed.
enum NextStep {
    /// Another server may accept the agent, or the same server may accept it later.
    Retry,
    /// The space is stopped. Every server of the zone would refuse the link.
    RetryAfterStop,
    End(LinkEnd),
}

impl Link {
    /// Connects until `finish` is cancelled or the server ends the link for good. After a failed
    /// server, tries the next one at once; waits only if every server has failed or the space is
    /// stopped.
    pub async fn run(self, finish: CancellationToken) -> LinkEnd {
        let mut delays = self.policy.reconnect.delays();
        let mut turns = self.servers.turns();
        let mut number = 0;
        loop {
            number += 1;
            self.servers.use_turn(&turns);
            let (next, up) = self.link_once(number, &finish).await;
            // A link that is lost soon after its start counts as a failure. Otherwise an agent
            // would reconnect without a pause to servers that accept the link and then fail.
            if up >= self.policy.reconnect_reset {
                delays.reset();
                turns.start_round();
            }
            let delay = match next {
                NextStep::End(end) => return end,
                NextStep::Retry if turns.advance() => delays.next_jittered(),
                NextStep::Retry => Duration::ZERO,
                NextStep::RetryAfterStop => jitter(self.policy.space_stopped_retry),
            };
            tokio::select! {
                () = sleep(delay) => {}
                () = finish.cancelled() => return LinkEnd::Finished,
            }
        }
    }

    /// Connects once and runs the link to its end. Also returns how long the link was up.
    async fn link_once(&self, number: u64, finish: &CancellationToken) -> (NextStep, Duration) {
        let server = self.servers.current();
        let connected = tokio::select! {
            connected = connect(self, server) => match connected {
                Ok(connected) => connected,
                Err(error) => return (self.connect_failed(error), Duration::ZERO),
            },
            () = finish.cancelled() => return (NextStep::End(LinkEnd::Finished), Duration::ZERO),
        };
        let up_since = Instant::now();
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
        let takes_progress = welcome.has_feature(FEATURE_PROGRESS);
        let frames = self.outbox.open(number, takes_progress);
        self.status.send_replace(LinkStatus {
            link: Some(number),
            error: None,
            space: Some(welcome.space.clone()),
        });
        self.log.wake();
        let end = session::run(self, connected, number, frames, finish).await;
        (self.link_ended(number, end), up_since.elapsed())
    }

    /// Records that the link has ended.
    fn link_ended(&self, number: u64, end: session::End) -> NextStep {
        self.outbox.close();
        self.registrar.routes.forget_link(number);
        let (next, error) = next_step(end);
        // No warning if the agent does not retry: it reports the reason when it exits.
        if let (Some(error), NextStep::Retry | NextStep::RetryAfterStop) = (&error, &next) {
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
            _ => NextStep::Retry,
        };
        let server = self.servers.current();
        tracing::warn!(error = %text, server.url = %server, "no link to the server");
        next
    }
}

fn next_step(end: session::End) -> (NextStep, Option<String>) {
    use session::End;
    let retry = |error: String| (NextStep::Retry, Some(error));
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
