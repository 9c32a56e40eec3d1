//! Makes one attempt to deliver an event to one receiver: a webhook, a script or a subscribed
//! method.
//!
//! Never retries and never changes the queue: the delivery engine does both.

mod creator;
mod filter;
pub mod method;
mod render;
pub mod script;
mod traced;
pub mod webhook;

use std::{sync::Arc, time::Instant};

use svc_client::TlsSettings;
use svc_core::{Timestamp, UserId, event::Event};
use svc_outbound::LaneOwner;
use svc_pool::FairPool;
use svc_store::{
    Store,
    sinks::{SinkConfig, SinkRow},
};
use tracing::debug;

pub(in crate::events) use self::filter::Contexts;
pub use self::render::{RenderError, RenderPurpose};
use self::{
    method::MethodDelivery,
    traced::TracedAttempt,
    webhook::{Webhook, WebhookRequest},
};
use super::{
    client_keys,
    lanes::{AttemptDetail, AttemptResult, Deliver, Destination, FilterResult, Job},
    sealed_headers, sink_secrets,
};
use crate::{
    metrics::Metrics,
    scripts::{ScriptRunner, WaitingDelivery},
    secrets::{SecretError, SecretKey, SinkSecret},
    traces::{Traces, hex_id},
};

/// The `tracing` target of the log lines about attempts.
const DELIVERIES_LOG: &str = "svc_server::deliveries";

pub struct Deliverers {
    pub store: Store,
    pub secrets: Arc<SecretKey>,
    pub webhook: Webhook,
    pub methods: MethodDelivery,
    pub scripts: Arc<ScriptRunner>,
    /// The last reported reason why the deliveries of each sink are withheld.
    pub withheld: script::WithheldNotices,
    /// Threads that render templates and evaluate filters and keys.
    pub compute: FairPool,
    pub metrics: Arc<Metrics>,
    pub traces: Arc<Traces>,
}

impl Deliver for Deliverers {
    async fn deliver(&self, mut job: Job) -> AttemptResult {
        let attempt = TracedAttempt::begin(&self.traces, &mut job);
        let (receiver, owner) = match &job.destination {
            Destination::Sink(sink) => (sink.name.clone(), sink.owner_key.clone()),
            Destination::Method {
                method, owner_id, ..
            } => (method.clone(), owner_id.to_string()),
        };
        let receivers = &self.metrics.events.receivers;
        let running = receivers.attempt_started(receiver, owner);
        let counted = match &job.destination {
            Destination::Sink(sink) => Some((sink.owner_id, sink.id)),
            Destination::Method { .. } => None,
        };
        let (event, number) = (job.event.id, job.attempt);
        let trace = job.event.trace.as_ref().map(|context| context.trace);
        let began = Instant::now();
        let sent = self.attempt(job).await;
        if let (Some((owner, sink)), Some(_)) = (counted, sent.outcome()) {
            let is_failure = !matches!(sent, AttemptResult::Delivered(_));
            let took = began.elapsed();
            self.metrics
                .methods
                .count_attempt(owner, sink, took, is_failure);
        }
        running.finish(sent.outcome());
        debug!(
            target: DELIVERIES_LOG,
            trace_id = trace.map(|trace| display(hex_id(trace))),
            event.id = %event,
            attempt = number,
            outcome = sent.outcome(),
            "an attempt ended"
        );
        if let Some(attempt) = attempt {
            attempt.record(&self.traces, &sent);
        }
        sent
    }

    async fn keys(&self, sink: &SinkRow, events: Vec<Event>) -> Result<Vec<String>, String> {
        self.key_events(sink, events).await
    }

    async fn filter(
        &self,
        user: UserId,
        filter: String,
        events: Vec<Event>,
    ) -> Result<Vec<FilterResult>, String> {
        self.filter_events(user, filter, events).await
    }
}

impl Deliverers {
    async fn attempt(&self, job: Job) -> AttemptResult {
        match job.destination {
            Destination::Sink(sink) => {
                let waiting = WaitingDelivery {
                    lane: job.lane,
                    failures: job.attempt.saturating_sub(1),
                };
                self.deliver_to_sink(&sink, &job.event, Some(waiting)).await
            }
            Destination::Method {
                owner_id,
                method,
                formatters,
            } => {
                let body = match self.format(owner_id, &formatters, &job.event).await {
                    Ok(body) => body,
                    // Only the formatter is faulty, so the events wait for its correction.
                    Err(RenderError::Unreadable(why)) => return AttemptResult::Withheld(why),
                    Err(error) => return error.into(),
                };
                self.methods
                    .deliver(owner_id, &method, &job.event, &body)
                    .await
            }
        }
    }
}

impl Deliverers {
    /// Makes one attempt at a sink. `waiting` identifies a queued delivery, so that the engine can
    /// wake it up when a script slot is free. `None` for a test delivery, which waits for the slot
    /// here.
    pub(super) async fn deliver_to_sink(
        &self,
        sink: &SinkRow,
        event: &Event,
        waiting: Option<WaitingDelivery>,
    ) -> AttemptResult {
        let began = Instant::now();
        match &sink.config {
            SinkConfig::Webhook(webhook) => {
                if let Some(why) = self.webhook_withheld_reason(sink, waiting).await {
                    return AttemptResult::Withheld(why);
                }
                let purpose = RenderPurpose::Delivery(sink.owner_id);
                let template = webhook.body_template.as_deref();
                let rendering = self.render_webhook(webhook.format, template, event, purpose);
                let body = match rendering.await {
                    Ok(body) => body,
                    Err(error) => return error.into(),
                };
                let lane = waiting.map(|waiting| LaneOwner {
                    lane: waiting.lane,
                    owner: (!sink.is_global()).then_some(sink.owner_id),
                });
                let sent = self.send(sink, (sink.owner_id, lane), body, event);
                let mut attempt = match sent.await {
                    Ok(attempt) => attempt,
                    Err(error) => AttemptDetail::error(error),
                };
                attempt.ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                attempt.into()
            }
            SinkConfig::Script(_) => self.run_script(sink, event, waiting).await,
            // A json-rpc sink has no lane, so no queued delivery comes here.
            SinkConfig::JsonRpc(_) => AttemptResult::Dead(AttemptDetail::error(
                "a json-rpc sink formats events and receives none",
            )),
        }
    }

    /// Sends a body to a webhook. The look-up of the host name counts towards the limit of `user`.
    /// With a lane (the queue of the sink), the connection that is kept for the lane is used.
    /// Returns an error if the sink is not a webhook or its secrets cannot be decrypted.
    pub(super) async fn send(
        &self,
        sink: &SinkRow,
        (user, lane): (UserId, Option<LaneOwner>),
        body: String,
        event: &Event,
    ) -> Result<AttemptDetail, String> {
        let Some(webhook) = sink.config.webhook() else {
            return Err(format!("sink `{}` is not a webhook", sink.name));
        };
        let now = svc_clock::now();
        let secrets = self
            .secrets_of(sink, now)
            .map_err(|error| error.to_string())?;
        let headers =
            sealed_headers::open(&self.secrets, sink).map_err(|error| error.to_string())?;
        let client_key =
            client_keys::open(&self.secrets, sink).map_err(|error| error.to_string())?;
        let request = WebhookRequest {
            user,
            url: &webhook.url,
            headers: &headers,
            format: webhook.format,
            tls: TlsSettings {
                ca: webhook.ca.as_deref(),
                identity: webhook
                    .client_certificate
                    .as_deref()
                    .zip(client_key.as_deref()),
                http2: webhook.http2,
            },
            body,
            event,
            secrets: &secrets,
            now,
            lane,
            keep_exchange: sink.policy.keep_exchanges,
        };
        Ok(self.webhook.send(request).await)
    }

    /// The signing secrets: the current one, then the previous one while it is still valid.
    pub fn secrets_of(&self, sink: &SinkRow, now: Timestamp) -> Result<Vec<Vec<u8>>, SecretError> {
        let previous = sink.previous_secret.as_ref();
        let previous = previous.filter(|_| sink.previous_until.is_some_and(|until| until > now));
        sink.secret
            .iter()
            .chain(previous)
            .map(|sealed| sink_secrets::open(&self.secrets, sink, SinkSecret::Signing, sealed))
            .collect()
    }
}
