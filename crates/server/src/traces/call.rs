//! The spans of a call: one of the server and, if a method server got the call, one of the agent
//! and one of the method server.
//!
//! The agent has no exporter and no clock that the server could trust. It reports how long the call
//! waited and how long the method server worked. The rest of the time was spent in the server and
//! on the link; half of it counts as the way to the agent.

use std::{borrow::Cow, time::Duration};

use svc_core::{
    Id, SpaceId, UserId,
    journal::{CallTimes, CallVia},
};

use super::{
    RunningTrace, Traces,
    span::{Attribute, Process, Span, SpanKind, TracedWork},
};
use crate::metrics::CallOutcome;

/// Replaces the name of a method that does not exist, because a caller can send any name.
const UNKNOWN_METHOD: &str = "_OTHER";

/// A call that has just ended.
#[derive(Clone, Copy, Debug)]
pub struct TracedCall<'a> {
    /// The canonical name; `None` if the method does not exist or cannot be called now.
    pub method: Option<&'a str>,
    /// The space that was picked.
    pub space: Option<SpaceId>,
    /// Whether the method server may have got the call.
    pub sent: bool,
    pub via: CallVia,
    pub outcome: CallOutcome,
    /// 0 without an error.
    pub code: i32,
    pub took: Duration,
    pub times: Option<CallTimes>,
    /// The id of the call in the journal.
    pub id: Option<Id>,
}

impl Traces {
    /// Records the spans of a call.
    pub fn record_call(&self, user: UserId, trace: &RunningTrace, call: TracedCall<'_>) {
        let (Some(recorder), Some(_)) = (&self.recorder, &trace.spans) else {
            return;
        };
        recorder.push(user, spans_of(trace, call, svc_clock::now_nanos()));
    }
}

/// The spans of a recorded call that ended at this time.
pub(super) fn spans_of(trace: &RunningTrace, call: TracedCall<'_>, end: u64) -> Vec<Span> {
    let Some(ids) = trace.spans else {
        return Vec::new();
    };
    let name = call.method.unwrap_or(UNKNOWN_METHOD).to_owned();
    let work = TracedWork {
        kind: match call.via {
            CallVia::Event => SpanKind::Consumer,
            CallVia::Api | CallVia::Batch | CallVia::Mcp | CallVia::Script => SpanKind::Server,
        },
        attributes: server_attributes(&name, call),
        name: name.clone().into(),
        took: call.took,
        error: error_of(call),
    };
    let server = trace.span_of(ids, work, end);
    let (Some(space), true) = (call.space, call.sent) else {
        return vec![server];
    };
    let part = AgentPart::of(&server, call.times);
    let agent = Span {
        id: ids.agent,
        parent: server.id,
        has_remote_parent: true,
        process: Process::Agent,
        start: part.start,
        end: part.end,
        kind: SpanKind::Server,
        name: format!("agent {name}").into(),
        attributes: vec![
            Attribute::text("rpc.system.name", "jsonrpc"),
            Attribute::text("rpc.method", name.clone()),
            Attribute::text("svc.space.id", space.to_string()),
        ],
        ..server.clone()
    };
    let method_server = Span {
        id: ids.method,
        parent: agent.id,
        has_remote_parent: false,
        start: part.sent,
        kind: SpanKind::Client,
        name: format!("method server {name}").into(),
        ..agent.clone()
    };
    vec![server, agent, method_server]
}

/// The times of a call in the agent, by the server's clock.
struct AgentPart {
    start: u64,
    /// When the method server got the call.
    sent: u64,
    end: u64,
}

impl AgentPart {
    /// Without times, the agent's part is the whole call.
    fn of(server: &Span, times: Option<CallTimes>) -> Self {
        let whole = server.end - server.start;
        let Some(times) = times else {
            return Self {
                start: server.start,
                sent: server.start,
                end: server.end,
            };
        };
        // The agent may report more time than the call took.
        let queue = (u64::from(times.queue_us) * 1_000).min(whole);
        let method = (u64::from(times.method_us) * 1_000).min(whole - queue);
        let start = server.start + (whole - queue - method) / 2;
        Self {
            start,
            sent: start + queue,
            end: start + queue + method,
        }
    }
}

fn server_attributes(name: &str, call: TracedCall<'_>) -> Vec<Attribute> {
    let mut attributes = vec![
        Attribute::text("rpc.system.name", "jsonrpc"),
        Attribute::text("jsonrpc.protocol.version", "2.0"),
        Attribute::text("rpc.method", name.to_owned()),
        Attribute::text("svc.call.via", call.via.as_str()),
    ];
    if call.code != 0 {
        let code = call.code.to_string();
        attributes.push(Attribute::text("rpc.response.status_code", code));
    }
    if let Some(id) = call.id {
        attributes.push(Attribute::text("svc.call.id", id.to_string()));
    }
    attributes
}

/// The `error.type` of a call: the code of a method's error, or the outcome.
fn error_of(call: TracedCall<'_>) -> Option<Cow<'static, str>> {
    match call.outcome {
        CallOutcome::Ok | CallOutcome::Notification => None,
        CallOutcome::MethodError if call.code != 0 => Some(call.code.to_string().into()),
        outcome => Some(outcome.label().into()),
    }
}
