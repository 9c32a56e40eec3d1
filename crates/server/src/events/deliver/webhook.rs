//! Delivery to webhooks: one signed POST per attempt, to an address that the guard permits.
//!
//! Owns the request, its signatures, the address guard and the decision what counts as delivered.
//! Never retries (the lane does), never follows a redirect, never logs bodies, headers or secrets.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use svc_client::{
    tls_config,
    transport::{GuardedError, bare_host, connect_guarded},
};
use svc_core::{Timestamp, UserId, event::Event};
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;
use tracing::info;

use crate::{events::lanes::AttemptDetail, limits::MinuteLimit};

mod answer;
mod guard;
mod headers;
mod lookups;
mod signature;
#[cfg(test)]
mod tests;
mod url;

use self::{answer::WebhookAnswer, url::Location};
pub use self::{
    guard::{AddressGuard, GuardError, LOOPBACK},
    headers::{HeaderError, check_headers},
    lookups::{LOOKUPS_DEFAULT, Lookups, ResolveFn},
    url::{UrlError, check_url},
};

/// Bytes of headers that an answer may have.
const ANSWER_HEADER_BYTES_MAX: usize = 64 * 1024;
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

pub struct Webhook {
    guard: AddressGuard,
    policy: WebhookPolicy,
    lookups: Lookups,
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

    /// Makes one attempt. `secrets` are the decoded keys, the current one first.
    #[expect(clippy::too_many_arguments, reason = "a request has many parts")]
    pub async fn send(
        &self,
        owner: UserId,
        url: &str,
        headers: &BTreeMap<String, String>,
        body: String,
        event: &Event,
        secrets: &[Vec<u8>],
        now: Timestamp,
    ) -> AttemptDetail {
        let began = Instant::now();
        // Filled while the answer arrives, so that a part of it remains after a timeout.
        let mut answer = WebhookAnswer::default();
        let attempt = self.attempt(owner, url, headers, body, event, secrets, now, &mut answer);
        let outcome = match timeout(self.policy.timeout, attempt).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!(
                "no complete answer within {:.1} s",
                self.policy.timeout.as_secs_f64()
            )),
        };
        AttemptDetail {
            status: answer.status.map(|status| status.as_u16()),
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            error: outcome.and_then(|()| answer.judge()).err(),
            output: answer.excerpt(self.policy.answer_bytes_max),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "those of `send` and its answer")]
    async fn attempt(
        &self,
        owner: UserId,
        url: &str,
        custom: &BTreeMap<String, String>,
        body: String,
        event: &Event,
        secrets: &[Vec<u8>],
        now: Timestamp,
        answer: &mut WebhookAnswer,
    ) -> Result<(), String> {
        let location = Location::parse(url).map_err(|error| error.to_string())?;
        let headers = headers::request_headers(&location, custom, event, &body, secrets, now)
            .map_err(|error| error.to_string())?;
        let mut request = Request::post(location.path.as_str())
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| error.to_string())?;
        *request.headers_mut() = headers;
        let tls = match (location.tls, &self.tls) {
            (false, _) => None,
            (true, Ok(config)) => Some(Arc::clone(config)),
            (true, Err(why)) => return Err(why.clone()),
        };
        let permits = |address| self.guard.permits(&location.host, address);
        let (host, port) = (bare_host(&location.host), location.port);
        let addresses = self.lookups.resolve(owner, host, port).await;
        let stream = connect_guarded(host, addresses, tls, permits)
            .await
            .map_err(|error| {
                self.log_failure(owner, &error);
                connect_reason(error, host, port)
            })?;
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(ANSWER_HEADER_BYTES_MAX)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        let exchange = async {
            let response = sender
                .send_request(request)
                .await
                .map_err(|error| format!("no answer: {}", exchange_reason(&error)))?;
            answer.read(response, self.policy.answer_bytes_max).await
        };
        // The connection is driven here and dropped with the attempt, so that no task outlives the
        // attempt and nothing beyond the limit is read.
        let mut exchange = std::pin::pin!(exchange);
        tokio::select! {
            biased;
            done = &mut exchange => done,
            // The connection may end before the end of the answer was read from it.
            _ = connection => exchange.await,
        }
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

/// Why a request got no answer.
fn exchange_reason(error: &hyper::Error) -> String {
    if error.is_parse_too_large() {
        "the head of the receiver's answer is too large".to_owned()
    } else if error.is_parse() {
        "the receiver's answer is not HTTP/1.1".to_owned()
    } else if error.is_incomplete_message() {
        "the receiver closed the connection before it answered".to_owned()
    } else {
        innermost_cause(error)
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
