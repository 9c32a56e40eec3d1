//! Delivery to webhooks: one signed POST per attempt, to an address that the guard permits.
//!
//! Owns the request, its signatures and the address guard, and decides what counts as delivered.
//! Never makes a second attempt (the delivery engine does), never follows a redirect, never logs
//! bodies, headers or secrets.
//!
//! A lane keeps its connection for its next delivery. If the receiver closed the connection meanwhile,
//! the request is sent once more on a new connection, as a part of the same attempt.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use svc_client::{TlsConfigs, TlsSettings};
use svc_core::{Timestamp, UserId, event::Event};
use svc_protocol::api::WebhookFormat;
use tokio::time::timeout;

use crate::events::lanes::AttemptDetail;

mod answer;
mod connection;
mod connections;
mod exchange;
mod fetch;
mod format;
mod guard;
mod headers;
mod lookups;
mod outgoing;
mod proxy;
mod reach;
mod signature;
#[cfg(test)]
mod tests;
mod tls;
mod url;

use self::{
    answer::WebhookAnswer,
    connection::{Connection, ConnectionSettings},
    connections::{Connections, IdleLimits},
    exchange::Trace,
    outgoing::OutgoingRequest,
    url::Location,
};
pub use self::{
    connections::LaneOwner,
    fetch::{FetchRequest, FetchedAnswer, FetchedDocument},
    format::{body_of, headers_of},
    guard::{AddressGuard, GuardError, LOOPBACK},
    headers::{HeaderError, check_headers},
    lookups::{Lookups, ResolveFn},
    proxy::{Proxy, ProxyError},
    tls::{TlsOptionsError, check_tls_options},
    url::{UrlError, check_url, origin_of},
};

/// Limits of one attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WebhookPolicy {
    /// Time limit, from the look-up of the host name to the last byte of the answer.
    pub timeout: Duration,
    /// At most this many bytes of the answer are stored with the attempt.
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
    /// The look-up of the host name counts towards the limit of this user.
    pub user: UserId,
    pub url: &'a str,
    pub headers: &'a BTreeMap<String, String>,
    pub format: WebhookFormat,
    pub tls: TlsSettings<'a>,
    /// The body, already in `format`.
    pub body: String,
    pub event: &'a Event,
    /// The decrypted signing secrets, the current one first.
    pub secrets: &'a [Vec<u8>],
    pub now: Timestamp,
    /// The lane whose connection is used and kept. `None` for a test delivery, whose connection is
    /// closed after the answer.
    pub lane: Option<LaneOwner>,
    /// Whether the result of the attempt includes the exchange: the request and the answer.
    pub keep_exchange: bool,
}

pub struct Webhook {
    guard: AddressGuard,
    policy: WebhookPolicy,
    lookups: Lookups,
    connections: Connections<Connection>,
    tls: TlsConfigs,
    proxy: Option<Proxy>,
}

impl Webhook {
    pub fn new(guard: AddressGuard) -> Self {
        Self {
            guard,
            policy: WebhookPolicy::default(),
            lookups: Lookups::of_system(),
            connections: Connections::new(IdleLimits::default()),
            tls: TlsConfigs::default(),
            proxy: None,
        }
    }

    pub fn with_policy(mut self, policy: WebhookPolicy) -> Self {
        self.policy = policy;
        self
    }

    #[cfg(test)]
    pub fn with_lookups(mut self, lookups: Lookups) -> Self {
        self.lookups = lookups;
        self
    }

    /// With a proxy, all requests are sent through it.
    pub fn with_proxy(mut self, proxy: Option<Proxy>) -> Self {
        self.proxy = proxy;
        self
    }

    /// Makes one attempt.
    pub async fn send(&self, request: WebhookRequest<'_>) -> AttemptDetail {
        let (began, now) = (Instant::now(), request.now);
        // Filled while the attempt runs, so that the part before a timeout is not lost.
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
        let (tls, settings) = (given.tls, tls::connection_settings(given.url, given.tls));
        let mut request = OutgoingRequest::new(given.url, &location, headers, given.body);
        request.proxy_authorization = self.proxy_authorization();
        let answer_bytes_max = self.policy.answer_bytes_max;
        let keep = |connection, can_be_used_again| {
            if let (Some(lane), true) = (given.lane, can_be_used_again) {
                self.connections.put(lane, connection);
            }
        };
        if let Some(mut kept) = self.take_kept(given.lane, &settings, &location).await {
            trace.note(&kept);
            let exchange = kept.exchange(&request, answer, answer_bytes_max);
            match exchange.await {
                Ok(can_be_used_again) => {
                    keep(kept, can_be_used_again);
                    return Ok(());
                }
                Err(error) if error.is_answered => return Err(error.why),
                // The receiver closed the kept connection, or refused the request, before it
                // answered: use a new connection.
                Err(_) => {}
            }
        }
        let connecting = self.connect(given.user, (&location, tls), settings, trace);
        let mut connection = connecting.await?;
        trace.note(&connection);
        let exchange = connection.exchange(&request, answer, answer_bytes_max);
        let can_be_used_again = exchange.await.map_err(|error| error.why)?;
        keep(connection, can_be_used_again);
        Ok(())
    }

    fn proxy_authorization(&self) -> Option<String> {
        self.proxy.as_ref()?.at.authorization.clone()
    }

    /// The kept connection of a lane, if it can be used for a request with these settings.
    async fn take_kept(
        &self,
        lane: Option<LaneOwner>,
        settings: &ConnectionSettings,
        location: &Location,
    ) -> Option<Connection> {
        let mut kept = self.connections.take(lane?.lane)?;
        let address = kept.address();
        let is_permitted =
            address.is_none_or(|address| self.guard.permits(&location.host, address.ip()));
        (is_permitted && kept.can_send(settings).await).then_some(kept)
    }
}

/// The parts of an attempt that are known so far.
#[derive(Default)]
struct Progress {
    answer: WebhookAnswer,
    trace: Trace,
}

/// The innermost cause of an error. It describes what happened; the outer errors only describe
/// where.
fn innermost_cause(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
