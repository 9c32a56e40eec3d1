//! Delivery to webhooks: one signed POST per attempt, which `svc_outbound` sends.
//!
//! Owns the format of the request and its signatures, and decides what counts as delivered. Never
//! makes a second attempt (the delivery engine does), never logs bodies, headers or secrets.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use http::Method;
use svc_client::TlsSettings;
use svc_core::{Timestamp, UserId, event::Event};
use svc_outbound::{LaneOwner, Location, Outbound, Progress, Request};
use svc_protocol::api::{SentRequest, WebhookFormat};
use tokio::time::timeout;

use crate::events::lanes::AttemptDetail;

mod answer;
mod exchange;
mod format;
mod headers;
mod signature;
#[cfg(test)]
mod tests;
mod tls;

pub use self::{
    format::{body_of, headers_of},
    headers::{HeaderError, check_headers},
    tls::{TlsOptionsError, check_tls_options},
};

/// Time limit of an attempt, from the look-up of the host name to the last byte of the answer.
const TIME_MAX: Duration = Duration::from_secs(10);
/// At most this many bytes of the answer are stored with the attempt.
const ANSWER_BYTES_MAX: usize = 16 * 1024;

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
    outbound: Arc<Outbound>,
    time_max: Duration,
}

impl Webhook {
    pub fn new(outbound: Arc<Outbound>) -> Self {
        Self {
            outbound,
            time_max: TIME_MAX,
        }
    }

    /// Makes one attempt.
    pub async fn send(&self, request: WebhookRequest<'_>) -> AttemptDetail {
        let (began, now) = (Instant::now(), request.now);
        // Filled while the attempt runs, so that the part before a timeout is not lost.
        let (mut sent, mut progress) = (None, Progress::default());
        let attempt = self.attempt(request, &mut sent, &mut progress);
        let outcome = match timeout(self.time_max, attempt).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!(
                "no complete answer within {:.1} s",
                self.time_max.as_secs_f64()
            )),
        };
        let answer = &progress.answer;
        AttemptDetail {
            status: answer.status.map(|status| status.as_u16()),
            ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            error: outcome.and_then(|()| answer::judge(answer.status)).err(),
            output: answer::excerpt(&answer.body, ANSWER_BYTES_MAX),
            retry_after: answer::retry_after(&answer.headers, now),
            exchange: sent.map(|sent| Box::new(exchange::record(sent, &progress, began.elapsed()))),
        }
    }

    /// `sent` becomes the record of the request, if the exchange is kept.
    async fn attempt(
        &self,
        given: WebhookRequest<'_>,
        sent: &mut Option<SentRequest>,
        progress: &mut Progress,
    ) -> Result<(), String> {
        let location = Location::parse(given.url).map_err(|error| error.to_string())?;
        let headers =
            headers::request_headers(&location, &given).map_err(|error| error.to_string())?;
        if given.keep_exchange {
            *sent = Some(exchange::describe(&given, &location, &headers));
        }
        let request = Request {
            user: given.user,
            method: Method::POST,
            url: given.url,
            location,
            headers,
            body: given.body.into(),
            tls: given.tls,
            lane: given.lane,
            answer_bytes_max: ANSWER_BYTES_MAX,
        };
        let sending = self.outbound.send(&request, progress);
        sending.await.map_err(|error| error.to_string())
    }
}
