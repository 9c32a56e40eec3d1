//! Records ended calls. Only this module counts calls, measures their time, and writes them into
//! the call journal, the log and their traces.
//!
//! | [`CallSubject`] | outcomes | seconds | `CallStats` | meter of the method | journal, log | trace |
//! |---|---|---|---|---|---|---|
//! | `Provider` | yes | answered | answered | yes | yes | yes |
//! | `Unavailable` | yes | answered | answered | yes | unless `none` | unless `none` |
//! | `Unknown` | yes | answered | answered | | yes | yes |
//! | `Discovery` | yes | answered | answered | | | |
//! | `Script` | | | answered | | | yes |
//! | `Subscription` | | | | yes | yes | yes |
//! | `Invalid` | yes | | | | | |
//!
//! A call is *answered* if its caller gets an answer: it is no notification, and the caller did not
//! leave. "Unless `none`": `journal = "none"` also omits the trace of a call that no space got.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use svc_core::{
    Id,
    journal::{CallRow, JournalLevel, short_name},
};
use tracing::debug;

use super::Reply;
use crate::{
    journal::{CallPayloads, Journal},
    methods::{
        ended_call::{CallSubject, EndedCall},
        provider::Provider,
    },
    metrics::{CallStats, Metrics},
    traces::{RunningTrace, TracedCall, Traces},
};

/// The target of the log lines of calls: `SVC_LOG=svc_server::calls=debug,info` shows them.
const CALLS_LOG: &str = "svc_server::calls";

pub struct CallRecorder {
    pub stats: Arc<CallStats>,
    pub metrics: Arc<Metrics>,
    pub journal: Arc<Journal>,
    pub traces: Arc<Traces>,
}

/// A row of the table above.
fn recorders_of(subject: &CallSubject<'_>, answered: bool) -> [bool; 6] {
    let (yes, no) = (true, false);
    match subject {
        CallSubject::Provider(_) => [yes, answered, answered, yes, yes, yes],
        CallSubject::Unavailable { entry, .. } => {
            let level = entry.as_ref().map(|entry| entry.definition.journal.level);
            let is_recorded = level != Some(JournalLevel::None);
            [yes, answered, answered, yes, is_recorded, is_recorded]
        }
        CallSubject::Unknown(_) => [yes, answered, answered, no, yes, yes],
        CallSubject::Discovery => [yes, answered, answered, no, no, no],
        CallSubject::Script(_) => [no, no, answered, no, no, yes],
        CallSubject::Subscription(_) => [no, no, no, yes, yes, yes],
        CallSubject::Invalid => [yes, no, no, no, no, no],
    }
}

impl CallRecorder {
    pub fn ended(&self, call: &EndedCall<'_>) {
        let [outcomes, seconds, stats, meter, journal, traces] =
            recorders_of(&call.subject, call.ending.answered);
        let (outcome, took) = (call.ending.outcome, call.took);
        if outcomes {
            self.metrics.count(outcome);
        }
        if seconds {
            self.metrics.measure(took);
        }
        if stats {
            self.stats.record(call.caller, outcome, took);
        }
        if meter && let Some(provider) = metered(&call.subject) {
            provider.meter(&self.metrics).record(outcome, took);
        }
        let mut id = None;
        if journal {
            id = self.write(call);
            log(call, id);
        }
        if traces && let Some(trace) = call.trace {
            self.traces
                .record_call(call.caller, trace, traced(call, id));
        }
    }

    /// Writes the call into the journal of the method's owner, or of the caller if the method may
    /// not exist: a caller cannot fill the journal of another user with invented names. Returns the
    /// id of the row.
    fn write(&self, call: &EndedCall<'_>) -> Option<Id> {
        if !self.journal.is_on() {
            return None;
        }
        let ending = &call.ending;
        let end = ending.outcome.end()?;
        let (owner, method, payloads) = match &call.subject {
            CallSubject::Provider(provider) | CallSubject::Subscription(provider) => {
                let payloads = match provider.journal.level {
                    JournalLevel::None => return None,
                    JournalLevel::Outcome => None,
                    JournalLevel::Payloads => Some(payloads_of(call, provider)),
                };
                (provider.space.owner, Arc::clone(&provider.name), payloads)
            }
            CallSubject::Unavailable { owner, name, .. } => (*owner, short_name(name).into(), None),
            CallSubject::Unknown(name) => (call.caller, short_name(name).into(), None),
            CallSubject::Discovery | CallSubject::Script(_) | CallSubject::Invalid => return None,
        };
        let row = CallRow {
            at: svc_clock::now(),
            number: 0,
            process: 0,
            caller: call.caller,
            credential: call.credential,
            via: call.via,
            method,
            space: call.subject.provider().map(|provider| provider.space.id),
            end,
            code: ending.code,
            duration_us: u32::try_from(call.took.as_micros()).unwrap_or(u32::MAX),
            times: ending.times,
            params_bytes: saturate(call.params.map_or(0, str::len)),
            result_bytes: saturate(ending.result_bytes),
            trace: call.trace.map_or(0, RunningTrace::id),
        };
        self.journal.record(owner, row, payloads)
    }
}

/// The provider whose meter counts the call; of an unavailable method, the first one.
fn metered<'a>(subject: &'a CallSubject<'_>) -> Option<&'a Provider> {
    match subject {
        CallSubject::Unavailable { entry, .. } => {
            let provider = entry.as_ref()?.providers.first()?;
            Some(provider)
        }
        _ => subject.provider(),
    }
}

/// Nothing is formatted unless the level is enabled.
fn log(call: &EndedCall<'_>, id: Option<Id>) {
    let provider = call.subject.provider();
    debug!(
        target: CALLS_LOG,
        call_id = id.map(display),
        trace_id = call.trace.map(|trace| display(trace.hex_id())),
        method.name = provider.map(|provider| &*provider.name),
        space.id = provider.map(|provider| display(provider.space.id)),
        via = call.via.as_str(),
        outcome = call.ending.outcome.label(),
        micros = u64::try_from(call.took.as_micros()).unwrap_or(u64::MAX),
        "a call ended"
    );
}

fn payloads_of<'a>(call: &'a EndedCall<'_>, provider: &'a Provider) -> CallPayloads<'a> {
    let answer: Option<&[u8]> = call.reply.map(|reply| match reply {
        Reply::Result(bytes) | Reply::Error(bytes) => bytes.as_ref(),
    });
    CallPayloads {
        params: call.params,
        answer,
        is_error: matches!(call.reply, Some(Reply::Error(_))),
        redact: &provider.journal.redact,
    }
}

/// The call as its trace records it.
fn traced<'a>(call: &'a EndedCall<'_>, id: Option<Id>) -> TracedCall<'a> {
    let (provider, ending) = (call.subject.provider(), &call.ending);
    TracedCall {
        method: match call.subject {
            CallSubject::Script(name) => Some(name),
            _ => provider.map(|provider| &*provider.name),
        },
        space: provider.map(|provider| provider.space.id),
        sent: ending.sent,
        via: call.via,
        outcome: ending.outcome,
        code: ending.code,
        took: call.took,
        times: ending.times,
        id,
    }
}

fn saturate(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
