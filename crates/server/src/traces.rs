//! Traces: which calls, emits and delivery attempts are recorded, and the export of their spans.
//!
//! A [`RunningTrace`] accompanies one call, emit or attempt. Without an `otlp_url`, nothing is
//! recorded: the context of a sender is passed on unchanged, and work without a context has no
//! trace. Recording a span is one push to a queue, and never waits for the export. Spans never
//! contain params, results, payloads or credentials.

mod call;
mod exporter;
mod options;
mod otlp;
mod queue;
mod sampler;
mod span;

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue};
use svc_client::TargetError;
use svc_core::{ServerId, TraceContext, UserId};
use tokio_util::sync::CancellationToken;

pub use self::{
    call::TracedCall,
    options::{ExportPolicy, HeadersError, TraceOptions, parse_headers},
    span::{Attribute, SpanKind, TracedWork},
};
use self::{
    exporter::Exporter,
    queue::SpanQueue,
    sampler::{Ids, Sampler},
    span::{Process, Span},
};
use crate::metrics::Metrics;

/// The headers of W3C Trace Context.
pub const TRACEPARENT: &str = "traceparent";
pub const TRACESTATE: &str = "tracestate";

pub struct Traces {
    /// `None`: nothing is recorded.
    recorder: Option<Recorder>,
}

struct Recorder {
    sampler: Sampler,
    ids: Ids,
    queue: Arc<SpanQueue>,
    exporter: Exporter,
}

/// The trace of one call, emit or attempt.
#[derive(Clone, Debug)]
pub struct RunningTrace {
    /// The context to pass on: that of the recorded span, or that of the sender.
    context: TraceContext,
    /// `None`: the trace is only passed on.
    spans: Option<SpanIds>,
}

/// The ids of the spans above and below a recorded span.
#[derive(Clone, Copy, Debug)]
struct SpanIds {
    /// 0 without a parent.
    parent: u64,
    agent: u64,
    method: u64,
}

impl RunningTrace {
    pub fn id(&self) -> u128 {
        self.context.trace
    }

    /// The trace id as logs and the API show it.
    pub fn hex_id(&self) -> String {
        hex_id(self.id())
    }

    pub fn is_recorded(&self) -> bool {
        self.spans.is_some()
    }

    /// The context for work that this call, emit or attempt causes.
    pub fn context(&self) -> &TraceContext {
        &self.context
    }

    /// The recorded span of work in this process that ended at this time.
    fn span_of(&self, ids: SpanIds, work: TracedWork, end: u64) -> Span {
        Span {
            trace: self.id(),
            id: self.context.span,
            parent: ids.parent,
            has_remote_parent: ids.parent != 0,
            state: self.context.tracestate().map(Into::into),
            process: Process::Server,
            start: end.saturating_sub(nanos(work.took)),
            end,
            kind: work.kind,
            name: work.name,
            attributes: work.attributes,
            error: work.error,
        }
    }

    /// The context for the method server of a call.
    pub fn method_context(&self) -> TraceContext {
        match &self.spans {
            Some(spans) => self.context.with_span(spans.method),
            None => self.context.clone(),
        }
    }
}

impl Traces {
    /// Records nothing.
    pub fn off() -> Self {
        Self { recorder: None }
    }

    /// `key` decides which trace ids are recorded. The servers of a zone have the same key, so they
    /// record the same traces. Callers must not know the key: they choose trace ids, and could
    /// choose ids that are recorded.
    pub fn new(
        options: &TraceOptions,
        key: &[u8; 32],
        server: ServerId,
        metrics: Arc<Metrics>,
    ) -> Result<Self, TargetError> {
        let Some(url) = &options.otlp_url else {
            return Ok(Self::off());
        };
        let queue = Arc::new(SpanQueue::new(options.policy.queue_spans));
        Ok(Self {
            recorder: Some(Recorder {
                sampler: Sampler::new(key, options.sample, options.parents_per_second),
                ids: Ids::random(),
                exporter: Exporter::new(url, options, server, Arc::clone(&queue), metrics)?,
                queue,
            }),
        })
    }

    /// Begins the trace of work for a user. `parent` is the context of the sender.
    pub fn begin(&self, user: UserId, parent: Option<&TraceContext>) -> Option<Box<RunningTrace>> {
        match (&self.recorder, parent) {
            (None, None) => None,
            (None, Some(parent)) => Some(Box::new(pass_on(parent))),
            (Some(recorder), parent) => recorder.begin(user, parent).map(Box::new),
        }
    }

    /// Records the span of work that has ended.
    pub fn record(&self, user: UserId, trace: &RunningTrace, work: TracedWork) {
        let (Some(recorder), Some(ids)) = (&self.recorder, trace.spans) else {
            return;
        };
        recorder.push(user, [trace.span_of(ids, work, svc_clock::now_nanos())]);
    }

    /// Exports spans until the server stops; then makes one attempt to export the last ones.
    pub async fn run(&self, shutdown: &CancellationToken) {
        if let Some(recorder) = &self.recorder {
            recorder.exporter.run(shutdown).await;
        }
    }
}

impl Recorder {
    fn begin(&self, user: UserId, parent: Option<&TraceContext>) -> Option<RunningTrace> {
        let Some(parent) = parent else {
            let trace = self.ids.trace();
            return self.sampler.chooses(trace).then(|| {
                let context = TraceContext::recorded(trace, self.ids.span());
                self.recorded(context, 0)
            });
        };
        Some(match self.sampler.follows(user, parent) {
            true => self.recorded(parent.with_span(self.ids.span()), parent.span),
            false => pass_on(parent),
        })
    }

    fn recorded(&self, context: TraceContext, parent: u64) -> RunningTrace {
        RunningTrace {
            context,
            spans: Some(SpanIds {
                parent,
                agent: self.ids.span(),
                method: self.ids.span(),
            }),
        }
    }

    fn push(&self, user: UserId, spans: impl IntoIterator<Item = Span>) {
        let dropped = self.queue.push(user, spans);
        if dropped > 0 {
            self.exporter.count_dropped(dropped);
        }
    }
}

/// A trace id as logs and the API show it.
pub fn hex_id(trace: u128) -> String {
    format!("{trace:032x}")
}

/// Adds the headers of a context, unless the headers already have a `traceparent`.
pub fn put_trace(headers: &mut HeaderMap, context: &TraceContext) {
    let header = |text: &str| HeaderValue::from_str(text).ok();
    if headers.contains_key(TRACEPARENT) {
        return;
    }
    if let Some(parent) = header(&context.traceparent()) {
        headers.insert(TRACEPARENT, parent);
    }
    if let Some(state) = context.tracestate().and_then(header) {
        headers.insert(TRACESTATE, state);
    }
}

fn pass_on(parent: &TraceContext) -> RunningTrace {
    RunningTrace {
        context: parent.clone(),
        spans: None,
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
