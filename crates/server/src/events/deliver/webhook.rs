//! Delivery to webhooks: one signed POST per attempt, to an address that the guard permits.
//!
//! Owns the request, its signatures, the address guard and the decision what counts as delivered.
//! Never retries (the lane does), never follows a redirect, never logs bodies, headers or secrets.
//!
//! A lane keeps its connection for its next delivery. If the receiver closed the connection meanwhile,
//! the request is sent once more on a new connection, as a part of the same attempt.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use svc_client::{
    tls_config,
    transport::{GuardedError, Stream, bare_host, connect_permitted, start_tls},
};
use svc_core::{Timestamp, UserId, event::Event};
use svc_protocol::api::WebhookFormat;
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;
use tracing::info;

use crate::{events::lanes::AttemptDetail, limits::MinuteLimit};

mod answer;
mod connection;
mod connections;
mod exchange;
mod format;
mod guard;
mod headers;
mod lookups;
mod signature;
#[cfg(test)]
mod tests;
mod url;

use self::{
    answer::WebhookAnswer,
    connection::Connection,
    connections::{Connections, IdleLimits},
    exchange::Trace,
    url::Location,
};
pub use self::{
    connections::LaneOwner,
    format::body_of,
    guard::{AddressGuard, GuardError, LOOPBACK},
    headers::{HeaderError, check_headers},
    lookups::{LOOKUPS_DEFAULT, Lookups, ResolveFn},
    url::{UrlError, check_url},
};

/// Log lines about failed connections of one owner.
const FAILURE_LINES_PER_MINUTE: usize = 10;

/// Limits of one attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WebhookPolicy {
    /// From the look-up of the host name to the last byte of the answer.
    pub timeout: Duration,
    /// Bytes of the answer that are stored with the attempt.
    pub answer_bytes_max: usize,
}

impl Default for WebhookPolicy {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            answer_bytes_max: 16 * 1024,
        }
    }
}

/// One request to make.
pub struct WebhookRequest<'a> {
    /// The user who is charged for the look-up of the name.
    pub user: UserId,
    pub url: &'a str,
    pub headers: &'a BTreeMap<String, String>,
    pub format: WebhookFormat,
    /// In this format.
    pub body: String,
    pub event: &'a Event,
    /// The decoded keys, the current one first.
    pub secrets: &'a [Vec<u8>],
    pub now: Timestamp,
    /// The lane whose connection is used and kept. `None` for a test, whose connection is closed.
    pub lane: Option<LaneOwner>,
    /// Whether the attempt includes what was sent.
    pub keep_exchange: bool,
}

pub struct Webhook {
    guard: AddressGuard,
    policy: WebhookPolicy,
    lookups: Lookups,
    connections: Connections<Connection>,
    /// Limits the log lines about failed connections.
    failure_lines: MinuteLimit,
    /// An error is reported per attempt: without trusted roots `http` receivers still work.
    tls: Result<Arc<ClientConfig>, String>,
}

impl Webhook {
    pub fn new(guard: AddressGuard) -> Self {
        Self {
            guard,
            policy: WebhookPolicy::default(),
            lookups: Lookups::new(LOOKUPS_DEFAULT),
            connections: Connections::new(IdleLimits::default()),
            failure_lines: MinuteLimit::new(FAILURE_LINES_PER_MINUTE),
            tls: tls_config(None)
                .map(Arc::new)
                .map_err(|error| error.to_string()),
        }
    }

    pub fn with_policy(mut self, policy: WebhookPolicy) -> Self {
        self.policy = policy;
        self
    }

    pub fn with_lookups(mut self, lookups: Lookups) -> Self {
        self.lookups = lookups;
        self
    }

    /// Makes one attempt.
    pub async fn send(&self, request: WebhookRequest<'_>) -> AttemptDetail {
        let (began, now) = (Instant::now(), request.now);
        // Filled while the attempt runs, so that a part remains after a timeout.
        let mut progress = Progress::default();
        let attempt = self.attempt(request, &mut progress);
        let outcome = match timeout(self.policy.timeout, attempt).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!(
                "no complete answer within {:.1} s",
                self.policy.timeout.as_secs_f64()
            )),
        };
        let Progress { answer, trace } = progress;
        AttemptDetail {
            status: answer.status.map(|status| status.as_u16()),
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            error: outcome.and_then(|()| answer.judge()).err(),
            output: answer.excerpt(self.policy.answer_bytes_max),
            retry_after: answer.retry_after(now),
            exchange: trace.into_exchange(&answer, began.elapsed()),
        }
    }

    async fn attempt(
        &self,
        given: WebhookRequest<'_>,
        Progress { answer, trace }: &mut Progress,
    ) -> Result<(), String> {
        let location = Location::parse(given.url).map_err(|error| error.to_string())?;
        let headers =
            headers::request_headers(&location, &given).map_err(|error| error.to_string())?;
        if given.keep_exchange {
            trace.request = Some(exchange::describe(&given, &location, &headers));
        }
        let mut request = Request::post(location.path.as_str())
            .body(Full::new(Bytes::from(given.body)))
            .map_err(|error| error.to_string())?;
        *request.headers_mut() = headers;
        let answer_bytes_max = self.policy.answer_bytes_max;
        let keep = |connection, can_be_used_again| {
            if let (Some(lane), true) = (given.lane, can_be_used_again) {
                self.connections.put(lane, connection);
            }
        };
        if let Some(mut kept) = self.take_kept(&given.lane, given.url, &location).await {
            trace.address = Some(kept.address());
            let exchange = kept.exchange(request.clone(), answer, answer_bytes_max);
            match exchange.await {
                Ok(can_be_used_again) => return Ok(keep(kept, can_be_used_again)),
                Err(error) if error.is_answered => return Err(error.why),
                // The receiver closed the connection before it saw the request, or at that moment.
                Err(_) => {}
            }
        }
        let connecting = self.connect(given.user, given.url, &location, trace);
        let mut connection = connecting.await?;
        let exchange = connection.exchange(request, answer, answer_bytes_max);
        let can_be_used_again = exchange.await.map_err(|error| error.why)?;
        keep(connection, can_be_used_again);
        Ok(())
    }

    /// The kept connection of a lane, if it can be used for a request to this URL.
    async fn take_kept(
        &self,
        lane: &Option<LaneOwner>,
        url: &str,
        location: &Location,
    ) -> Option<Connection> {
        let mut kept = self.connections.take(lane.as_ref()?.lane)?;
        let is_permitted = self.guard.permits(&location.host, kept.address().ip());
        (is_permitted && kept.can_send_to(url).await).then_some(kept)
    }

    async fn connect(
        &self,
        user: UserId,
        url: &str,
        location: &Location,
        trace: &mut Trace,
    ) -> Result<Connection, String> {
        let tls = match (location.tls, &self.tls) {
            (false, _) => None,
            (true, Ok(config)) => Some(Arc::clone(config)),
            (true, Err(why)) => return Err(why.clone()),
        };
        let (host, port) = (bare_host(&location.host), location.port);
        let mut began = Instant::now();
        let addresses = self.lookups.resolve(user, host, port).await;
        trace.dns = Some(lap(&mut began));
        let permits = |address| self.guard.permits(&location.host, address);
        let connecting = async {
            let (stream, address) = connect_permitted(host, addresses, permits).await?;
            trace.connect = Some(lap(&mut began));
            trace.address = Some(address);
            let stream: Box<dyn Stream> = match tls {
                Some(config) => {
                    let stream = start_tls(host, stream, config).await?;
                    trace.tls = Some(lap(&mut began));
                    Box::new(stream)
                }
                None => Box::new(stream),
            };
            Ok((stream, address))
        };
        let (stream, address) = connecting.await.map_err(|error| {
            self.log_failure(user, &error);
            connect_reason(error, host, port)
        })?;
        Connection::start(stream, url, address).await
    }
}

impl Webhook {
    /// Logs a failed connection with its address, for administrators. The owner of a webhook must
    /// never see the address behind a name: it may belong to the operator's internal network.
    fn log_failure(&self, owner: UserId, error: &GuardedError) {
        let has_address = matches!(
            error,
            GuardedError::Blocked { .. } | GuardedError::Connect { .. }
        );
        if has_address && self.failure_lines.take(owner, Instant::now()).is_ok() {
            info!(user.id = %owner, "a webhook could not connect: {error}");
        }
    }
}

/// What an attempt has done so far.
#[derive(Default)]
struct Progress {
    answer: WebhookAnswer,
    trace: Trace,
}

/// The time since `began`, which becomes now.
fn lap(began: &mut Instant) -> Duration {
    let now = Instant::now();
    now.duration_since(std::mem::replace(began, now))
}

/// The error for the owner of a webhook. It names the host and never the address behind it.
fn connect_reason(error: GuardedError, host: &str, port: u16) -> String {
    match error {
        GuardedError::Blocked { .. } => format!(
            "`{host}` is not an allowed target: its address is not globally routable; an administrator can allow it in `webhooks.allow`"
        ),
        GuardedError::Connect { why, .. } => {
            format!("cannot connect to `{host}`, port {port}: {why}")
        }
        other @ (GuardedError::Resolve { .. } | GuardedError::Tls { .. }) => other.to_string(),
    }
}

/// The innermost cause: it says what happened, the outer ones only where.
fn innermost_cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
