//! The webhook sink: one signed POST per attempt, to an address that was checked.
//!
//! Owns the request, its signatures, the address guard and what counts as delivered. It never
//! retries (the lane does), never follows a redirect, and never logs bodies, headers or secrets.

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
    transport::{GuardedError, Resolver, connect_guarded},
};
use svc_core::{Timestamp, event::Event};
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConfig;

use crate::events::lanes::AttemptDetail;

mod answer;
mod guard;
mod headers;
mod signature;
#[cfg(test)]
mod tests;
mod url;

use self::{answer::Answer, url::Location};
pub use self::{
    guard::{AddressGuard, GuardError, LOOPBACK},
    headers::{HeaderError, check_headers},
    url::{UrlError, check_url},
};

/// Bytes of headers an answer may have.
const ANSWER_HEADER_BYTES_MAX: usize = 64 * 1024;

/// How long an attempt may take and how much of its answer is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WebhookPolicy {
    /// From looking up the name to the last byte of the answer.
    pub timeout: Duration,
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

/// Sends events to webhooks.
pub struct Webhook {
    guard: AddressGuard,
    policy: WebhookPolicy,
    resolver: Resolver,
    /// A machine without trusted roots still reaches `http` receivers.
    tls: Result<Arc<ClientConfig>, String>,
}

impl Webhook {
    pub fn new(guard: AddressGuard) -> Self {
        Self {
            guard,
            policy: WebhookPolicy::default(),
            resolver: Resolver::System,
            tls: tls_config(None)
                .map(Arc::new)
                .map_err(|error| error.to_string()),
        }
    }

    pub fn with_policy(mut self, policy: WebhookPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Asks another resolver than the system's.
    pub fn with_resolver(mut self, resolver: Resolver) -> Self {
        self.resolver = resolver;
        self
    }

    /// Makes one attempt; whether it delivered stands beside its detail. `secrets` are the
    /// decoded keys, the current one first.
    pub async fn send(
        &self,
        url: &str,
        headers: &BTreeMap<String, String>,
        body: String,
        event: &Event,
        secrets: &[Vec<u8>],
        now: Timestamp,
    ) -> (AttemptDetail, bool) {
        let began = Instant::now();
        // Filled as the answer comes in, so that what was seen of it survives the time limit.
        let mut answer = Answer::default();
        let attempt = self.attempt(url, headers, body, event, secrets, now, &mut answer);
        let outcome = match timeout(self.policy.timeout, attempt).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!(
                "no whole answer within {:.1} s",
                self.policy.timeout.as_secs_f64()
            )),
        };
        let error = outcome.and_then(|()| answer.judge()).err();
        let delivered = error.is_none();
        let detail = AttemptDetail {
            status: answer.status.map(|status| status.as_u16()),
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            error,
            output: answer.excerpt(self.policy.answer_bytes_max),
        };
        (detail, delivered)
    }

    #[expect(clippy::too_many_arguments, reason = "those of `send` and its answer")]
    async fn attempt(
        &self,
        url: &str,
        custom: &BTreeMap<String, String>,
        body: String,
        event: &Event,
        secrets: &[Vec<u8>],
        now: Timestamp,
        answer: &mut Answer,
    ) -> Result<(), String> {
        let location = Location::parse(url).map_err(|error| error.to_string())?;
        let headers = headers::of_request(&location, custom, event, &body, secrets, now)
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
        let stream = connect_guarded(&location.host, location.port, tls, &self.resolver, permits)
            .await
            .map_err(connect_reason)?;
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(ANSWER_HEADER_BYTES_MAX)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        let exchange = async {
            let response = sender
                .send_request(request)
                .await
                .map_err(|error| format!("no answer: {}", reason(&error)))?;
            answer.read(response, self.policy.answer_bytes_max).await
        };
        // The connection is driven here and dropped with the attempt: there is no task to leave
        // behind, and what a receiver sends beyond the cap is never read.
        let mut exchange = std::pin::pin!(exchange);
        tokio::select! {
            biased;
            done = &mut exchange => done,
            // It may end before the last of the answer has been taken from it.
            _ = connection => exchange.await,
        }
    }
}

fn connect_reason(error: GuardedError) -> String {
    match error {
        GuardedError::Blocked { .. } => format!(
            "{error}: it is not globally routable; an administrator can allow it in `webhooks.allow`"
        ),
        other => other.to_string(),
    }
}

/// The last cause says what happened, the ones before it only where.
fn reason(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
