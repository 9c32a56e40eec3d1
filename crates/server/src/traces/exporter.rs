//! Sends spans to a receiver of OTLP over HTTP, in batches. A batch that cannot be sent is retried
//! for a limited time; meanwhile the queue fills, and drops spans when it is full.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use svc_client::{Client, Policy, Target, TargetError};
use svc_core::ServerId;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{
    options::{ExportPolicy, TraceOptions},
    otlp::{export_request, rejected_spans},
    queue::SpanQueue,
    span::Span,
};
use crate::metrics::{Metrics, SpanOutcome};

/// The path of traces below the address of a receiver.
const TRACES_PATH: &str = "/v1/traces";
/// The maximum size of a receiver's answer. Most answers have a few bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

pub(super) struct Exporter {
    client: Client,
    path: &'static str,
    headers: HeaderMap,
    server: ServerId,
    policy: ExportPolicy,
    queue: Arc<SpanQueue>,
    metrics: Arc<Metrics>,
}

/// Why a batch was not accepted.
enum Failure {
    /// The receiver cannot be reached or is busy: try again. The time is the `Retry-After` of the
    /// receiver, if it sent one.
    Temporary(String, Option<Duration>),
    /// The receiver refuses the batch.
    Refused(String),
}

impl Exporter {
    pub(super) fn new(
        url: &str,
        options: &TraceOptions,
        server: ServerId,
        queue: Arc<SpanQueue>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, TargetError> {
        let target = Target::parse(url, options.ca_file.as_deref())?;
        let client_policy = Policy {
            connect_timeout: options.policy.timeout,
            answer_timeout: options.policy.timeout,
            answer_bytes_max: ANSWER_BYTES_MAX,
            idle_max: 1,
            ..Policy::default()
        };
        let mut headers = options.headers.clone();
        let protobuf = HeaderValue::from_static("application/x-protobuf");
        headers.insert(header::CONTENT_TYPE, protobuf);
        let agent = HeaderValue::from_static(concat!("svc/", env!("CARGO_PKG_VERSION")));
        headers.insert(header::USER_AGENT, agent);
        Ok(Self {
            client: Client::with_policy(target, client_policy),
            path: match url.trim_end_matches('/').ends_with(TRACES_PATH) {
                true => "",
                false => TRACES_PATH,
            },
            headers,
            server,
            policy: options.policy,
            queue,
            metrics,
        })
    }

    pub(super) fn count_dropped(&self, spans: u64) {
        self.metrics.traces.count(SpanOutcome::Dropped, spans);
    }

    pub(super) async fn run(&self, shutdown: &CancellationToken) {
        let mut is_failing = false;
        loop {
            tokio::select! {
                () = self.queue.wait_for_many() => {}
                () = sleep(self.policy.interval) => {}
                () = shutdown.cancelled() => break,
            }
            while !shutdown.is_cancelled() && self.queue.len() > 0 {
                let batch = self.queue.take(self.policy.batch_spans);
                self.export(&batch, &mut is_failing, shutdown).await;
            }
        }
        self.export_last().await;
    }

    /// Exports one batch, with retries.
    async fn export(&self, batch: &[Span], is_failing: &mut bool, shutdown: &CancellationToken) {
        let (began, mut wait) = (Instant::now(), self.policy.retry_first);
        let body = export_request(self.server, batch);
        loop {
            let (why, pause) = match self.send(body.clone(), self.policy.timeout).await {
                Ok(rejected) => {
                    self.count_exported(batch.len() as u64, rejected);
                    if std::mem::take(is_failing) {
                        info!("the receiver of traces can be reached again");
                    }
                    return;
                }
                Err(Failure::Temporary(why, pause)) => (why, pause.unwrap_or(wait)),
                Err(Failure::Refused(why)) => {
                    report(is_failing, &why);
                    return self.count(SpanOutcome::Rejected, batch);
                }
            };
            report(is_failing, &why);
            let pause = pause.min(self.policy.retry_max);
            if shutdown.is_cancelled() || began.elapsed() + pause > self.policy.give_up {
                return self.count(SpanOutcome::Unreachable, batch);
            }
            tokio::select! {
                () = sleep(pause) => {}
                // One more attempt, without a wait.
                () = shutdown.cancelled() => {}
            }
            wait = (wait * 2).min(self.policy.retry_max);
        }
    }

    /// Exports the spans that wait when the server stops, with one attempt for each batch.
    async fn export_last(&self) {
        let deadline = Instant::now() + self.policy.last_timeout;
        loop {
            let batch = self.queue.take(self.policy.batch_spans);
            if batch.is_empty() {
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.send(export_request(self.server, &batch), left).await {
                Ok(rejected) => self.count_exported(batch.len() as u64, rejected),
                Err(Failure::Refused(_)) => self.count(SpanOutcome::Rejected, &batch),
                Err(Failure::Temporary(..)) => {
                    self.count(SpanOutcome::Unreachable, &batch);
                    return;
                }
            }
        }
    }

    /// Sends one request. Returns the number of spans that the receiver rejected.
    async fn send(&self, body: Vec<u8>, within: Duration) -> Result<u64, Failure> {
        let headers = self.headers.clone();
        let sending =
            self.client
                .send_raw(Method::POST, self.path, headers, Some(body), Some(within));
        let answer = sending
            .await
            .map_err(|error| Failure::Temporary(error.to_string(), None))?;
        let status = answer.status;
        if status.is_success() {
            return Ok(rejected_spans(&answer.body));
        }
        let why = format!("the answer is {}", status.as_u16());
        // The statuses that OTLP says to retry.
        let is_temporary = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::BAD_GATEWAY,
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::GATEWAY_TIMEOUT,
        ]
        .contains(&status);
        Err(match is_temporary {
            true => Failure::Temporary(why, retry_after(&answer.headers)),
            false => Failure::Refused(why),
        })
    }

    fn count_exported(&self, spans: u64, rejected: u64) {
        let rejected = rejected.min(spans);
        let traces = &self.metrics.traces;
        traces.count(SpanOutcome::Exported, spans - rejected);
        traces.count(SpanOutcome::Rejected, rejected);
    }

    fn count(&self, outcome: SpanOutcome, batch: &[Span]) {
        self.metrics.traces.count(outcome, batch.len() as u64);
    }
}

/// Logs the first failure. Until an export succeeds, further failures are only counted in the
/// metrics.
fn report(is_failing: &mut bool, why: &str) {
    if !std::mem::replace(is_failing, true) {
        warn!("traces cannot be exported: {why}; spans are dropped while this lasts");
    }
}

/// Reads `Retry-After`. Only the form in seconds is supported.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}
