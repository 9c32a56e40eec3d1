//! The span of an attempt at a sink. An attempt at a subscribed method is a call, so it has the
//! spans of a call.

use std::time::Instant;

use svc_core::{EventId, UserId};

use crate::{
    events::lanes::{AttemptResult, Destination, Job},
    traces::{Attribute, RunningTrace, SpanKind, TracedWork, Traces},
};

/// An attempt of a recorded trace.
pub(super) struct TracedAttempt {
    trace: Box<RunningTrace>,
    began: Instant,
    /// The owner of the event.
    user: UserId,
    event_id: EventId,
    event_type: String,
    sink: String,
    is_webhook: bool,
    number: u32,
}

impl TracedAttempt {
    /// Begins the trace of an attempt at a sink, and sets the trace context of the job's event to
    /// that of the attempt, so that the receiver gets it. Returns `None` if the attempt is not
    /// recorded.
    pub(super) fn begin(traces: &Traces, job: &mut Job) -> Option<Self> {
        let Destination::Sink(sink) = &job.destination else {
            return None;
        };
        let user = job.event.owner_id;
        let trace = traces.begin(user, job.event.trace.as_deref())?;
        if !trace.is_recorded() {
            return None;
        }
        let attempt = Self {
            began: Instant::now(),
            user,
            event_id: job.event.id,
            event_type: job.event.r#type.clone(),
            sink: sink.name.clone(),
            is_webhook: sink.config.webhook().is_some(),
            number: job.attempt,
            trace,
        };
        job.event.trace = Some(Box::new(attempt.trace.context().clone()));
        Some(attempt)
    }

    /// Records the span, unless no attempt was made.
    pub(super) fn record(self, traces: &Traces, result: &AttemptResult) {
        let Some(outcome) = result.outcome() else {
            return;
        };
        let mut attributes = vec![
            Attribute::text("messaging.system", "svc"),
            Attribute::text("messaging.operation.type", "process"),
            Attribute::text("messaging.operation.name", "deliver"),
            Attribute::text("messaging.destination.name", self.event_type),
            Attribute::text("messaging.message.id", self.event_id.to_string()),
            Attribute::text("svc.sink.name", self.sink),
            Attribute::number("svc.attempt", self.number.into()),
        ];
        let status = match result {
            AttemptResult::Delivered(detail)
            | AttemptResult::Failed(detail)
            | AttemptResult::Dead(detail)
            | AttemptResult::Unreadable(detail) => detail.status,
            AttemptResult::Paused | AttemptResult::Withheld(_) => None,
        };
        if let Some(status) = status {
            attributes.push(Attribute::number(
                "http.response.status_code",
                status.into(),
            ));
        }
        let is_delivered = matches!(result, AttemptResult::Delivered(_));
        let error = match status {
            _ if is_delivered => None,
            Some(status) => Some(status.to_string().into()),
            None => Some(outcome.into()),
        };
        let work = TracedWork {
            name: "deliver event".into(),
            kind: match self.is_webhook {
                true => SpanKind::Client,
                false => SpanKind::Internal,
            },
            took: self.began.elapsed(),
            attributes,
            error,
        };
        traces.record(self.user, &self.trace, work);
    }
}
