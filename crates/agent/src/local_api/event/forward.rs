//! [`Events`]: forwards events to the servers, and retries while the servers cannot reach the
//! database.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, Method, StatusCode};
use svc_client::{Error, transport::Answer};
use svc_protocol::problem::{DATABASE_UNAVAILABLE, Problem, is_database_outage};
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, sleep},
};

use super::{Failure, IDEMPOTENCY_KEY};
use crate::{
    link_status::LinkStatus,
    policy::EmitRetry,
    servers::{Clients, Servers},
};

const EMIT_PATH: &str = "/api/events/emit";

/// Forwards events to the servers, over connections that stay open.
pub struct Events {
    servers: Clients,
    link: watch::Receiver<LinkStatus>,
    retry: EmitRetry,
    /// Permits for events that wait for the database.
    waiting: Semaphore,
}

impl Events {
    pub fn new(
        servers: Arc<Servers>,
        agent_token: &str,
        policy: svc_client::Policy,
        link: watch::Receiver<LinkStatus>,
        retry: EmitRetry,
    ) -> Self {
        Self {
            servers: Clients::new(servers, agent_token, policy),
            link,
            waiting: Semaphore::new(retry.waiting_max),
            retry,
        }
    }

    /// Sends the event with these headers, which include its idempotency key. If the server cannot
    /// reach its database, sends the event again for up to `retry.within`, or up to `wait_max` if
    /// that is shorter. Each attempt has the same key, so the event is stored only once. At most
    /// `retry.waiting_max` events wait. For further events, returns the server's answer at once.
    pub(super) async fn emit(
        &self,
        headers: HeaderMap,
        body: Vec<u8>,
        wait_max: Option<Duration>,
    ) -> Result<Answer, Failure> {
        let mut answer = self.send(&headers, &body).await;
        let limit = wait_max.map_or(self.retry.within, |wait| wait.min(self.retry.within));
        if !is_database_away(&answer) || limit.is_zero() {
            return answer;
        }
        let is_first = self.waiting.available_permits() == self.retry.waiting_max;
        let Ok(_waiting) = self.waiting.try_acquire() else {
            return answer;
        };
        if is_first {
            tracing::warn!(
                "the database of the server cannot be reached; events are retried, each for up to {} s",
                limit.as_secs_f64()
            );
        }
        let deadline = Instant::now() + limit;
        while is_retryable(&answer) {
            if Instant::now() + self.retry.pause > deadline {
                return Err(given_up(headers.get(IDEMPOTENCY_KEY), limit));
            }
            sleep(self.retry.pause).await;
            answer = self.send(&headers, &body).await;
        }
        answer
    }

    /// Sends the event to the current server. If that server cannot be reached, tries it once more,
    /// and then each of the other servers until one answers.
    async fn send(&self, headers: &HeaderMap, body: &[u8]) -> Result<Answer, Failure> {
        let link = self.link.borrow().clone();
        // With several servers, try them even without a link: the agent may be about to link to
        // another server.
        if link.link.is_none() && self.servers.is_single() {
            let why = link.error.unwrap_or_else(|| "it is connecting".to_owned());
            return Err(Failure::unavailable(
                "not_linked",
                format!("the agent is not linked to the server: {why}; the event was not emitted"),
            ));
        }
        let servers = self.servers.in_turn();
        let mut unreachable = None;
        for server in servers.iter().take(1).chain(&servers) {
            let (headers, body) = (headers.clone(), Some(body.to_owned()));
            let sending = server.send_raw(Method::POST, EMIT_PATH, headers, body, None);
            match sending.await {
                Ok(answer) => return Ok(answer),
                Err(error @ Error::Unreachable { .. }) => {
                    tracing::debug!(%error, "a server cannot be reached; the event is retried");
                    unreachable.get_or_insert(error);
                }
                Err(error) => return Err(send_failure(error)),
            }
        }
        Err(send_failure(
            unreachable.expect("there is at least one server"),
        ))
    }
}

fn is_database_away(answer: &Result<Answer, Failure>) -> bool {
    answer.as_ref().is_ok_and(|answer| {
        answer.status == StatusCode::SERVICE_UNAVAILABLE
            && serde_json::from_slice::<Problem>(&answer.body)
                .is_ok_and(|problem| is_database_outage(&problem.code))
    })
}

/// Whether to send the event again while the database cannot be reached. Also true for a 503 with
/// any other code, an unreachable server and a timeout, because the servers may restart during the
/// outage.
fn is_retryable(answer: &Result<Answer, Failure>) -> bool {
    match answer {
        Ok(answer) => answer.status == StatusCode::SERVICE_UNAVAILABLE,
        Err(Failure(problem)) => [StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT]
            .iter()
            .any(|status| problem.status == status.as_u16()),
    }
}

/// The message contains the key. If the agent created the key, the sender does not know it yet.
fn given_up(key: Option<&HeaderValue>, after: Duration) -> Failure {
    let key = key.and_then(|key| key.to_str().ok());
    let key = key.unwrap_or_default();
    Failure::unavailable(
        DATABASE_UNAVAILABLE,
        format!(
            "the server or its database could not be reached for {} s; the event may or may not be stored. To retry without a duplicate, send it with `Idempotency-Key: {key}`",
            after.as_secs_f64()
        ),
    )
}

fn send_failure(error: Error) -> Failure {
    match error {
        Error::Timeout { .. } => Failure::new(
            StatusCode::GATEWAY_TIMEOUT,
            "server_timeout",
            format!("{error}; to retry without a duplicate, send the same Idempotency-Key again"),
        ),
        error => Failure::unavailable("server_unreachable", error.to_string()),
    }
}
