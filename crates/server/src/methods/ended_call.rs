//! A call that has ended: recorded in the metrics of its method, the call journal, the log and its
//! trace.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use svc_core::{
    Id, UserId,
    journal::{CallCredential, CallRow, CallTimes, CallVia, JournalLevel, short_name},
};
use svc_protocol::jsonrpc::RpcError;
use tracing::debug;

use super::{
    calls::{Reply, outcome_of},
    provider::Provider,
};
use crate::{
    journal::{CallPayloads, Journal},
    metrics::{CallOutcome, Metrics},
    traces::{RunningTrace, TracedCall, Traces},
};

/// The target of the log lines of calls: `SVC_LOG=svc_server::calls=debug,info` shows them.
const CALLS_LOG: &str = "svc_server::calls";
/// The code of a longer error object is not read.
const ERROR_BYTES_MAX: usize = 64 * 1024;

pub struct EndedCall<'a> {
    pub caller: UserId,
    pub credential: Option<CallCredential>,
    pub via: CallVia,
    pub target: CallTarget<'a>,
    pub ending: Ending,
    pub took: Duration,
    pub params: Option<&'a str>,
    /// `None` without an answer of the method.
    pub reply: Option<&'a Reply>,
    pub trace: Option<&'a RunningTrace>,
}

/// The method of a call.
#[derive(Clone, Copy)]
pub enum CallTarget<'a> {
    Provider(&'a Provider),
    /// No space got the call. The journal of `owner` gets the row.
    Name {
        owner: UserId,
        name: &'a str,
    },
}

/// How a call ended.
#[derive(Clone, Copy)]
pub struct Ending {
    outcome: CallOutcome,
    code: i32,
    result_bytes: usize,
    times: Option<CallTimes>,
    /// Whether the method server may have got the call.
    sent: bool,
}

impl Ending {
    /// An ending without an answer.
    pub fn unanswered(outcome: CallOutcome) -> Self {
        Self {
            outcome,
            code: 0,
            result_bytes: 0,
            times: None,
            sent: outcome == CallOutcome::Cancelled,
        }
    }

    pub fn of(reply: &Result<Reply, RpcError>) -> Self {
        let (code, result_bytes) = match reply {
            Ok(Reply::Result(result)) => (0, result.len()),
            Ok(Reply::Error(error)) => (code_of(error), error.len()),
            Err(error) => (error.code(), 0),
        };
        Self {
            outcome: outcome_of(reply),
            code,
            result_bytes,
            times: None,
            sent: match reply {
                Ok(_) => true,
                Err(RpcError::TimedOut { sent, .. } | RpcError::UnreadAnswers { sent, .. }) => {
                    *sent
                }
                Err(
                    RpcError::Unavailable
                    | RpcError::MethodNotFound
                    | RpcError::UnfinishedBodies { .. },
                ) => false,
                Err(_) => true,
            },
        }
    }

    /// Adds the times of the call in the agent.
    pub fn with_times(self, times: Option<CallTimes>) -> Self {
        Self { times, ..self }
    }

    pub fn outcome(self) -> CallOutcome {
        self.outcome
    }

    /// The call as its trace records it, without a space.
    pub fn traced(self, method: &str, via: CallVia, took: Duration) -> TracedCall<'_> {
        TracedCall {
            method: Some(method),
            space: None,
            sent: false,
            via,
            outcome: self.outcome,
            code: self.code,
            took,
            times: None,
            id: None,
        }
    }
}

impl EndedCall<'_> {
    pub fn record(self, metrics: &Metrics, journal: &Journal, traces: &Traces) {
        if let CallTarget::Provider(provider) = self.target {
            let meter = provider.meter(metrics);
            meter.record(self.ending.outcome, self.took);
        }
        let id = match journal.is_on() {
            true => self.write(journal),
            false => None,
        };
        self.log(id);
        if let Some(trace) = self.trace {
            traces.record_call(self.caller, trace, self.traced(id));
        }
    }

    /// Nothing is formatted unless the level is enabled.
    fn log(&self, id: Option<Id>) {
        let provider = match self.target {
            CallTarget::Provider(provider) => Some(provider),
            CallTarget::Name { .. } => None,
        };
        debug!(
            target: CALLS_LOG,
            call_id = id.map(display),
            trace_id = self.trace.map(|trace| display(trace.hex_id())),
            method.name = provider.map(|provider| &*provider.name),
            space.id = provider.map(|provider| display(provider.space.id)),
            via = self.via.as_str(),
            outcome = self.ending.outcome.label(),
            micros = u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
            "a call ended"
        );
    }

    /// Writes the call into the journal. Returns the id of the row.
    fn write(&self, journal: &Journal) -> Option<Id> {
        let end = self.ending.outcome.end()?;
        let (owner, method, space, payloads) = match self.target {
            CallTarget::Provider(provider) => {
                let payloads = match provider.journal.level {
                    JournalLevel::None => return None,
                    JournalLevel::Outcome => None,
                    JournalLevel::Payloads => Some(self.payloads(provider)),
                };
                let space = &provider.space;
                let name = Arc::clone(&provider.name);
                (space.owner, name, Some(space.id), payloads)
            }
            CallTarget::Name { owner, name } => (owner, short_name(name).into(), None, None),
        };
        let row = CallRow {
            at: svc_clock::now(),
            number: 0,
            process: 0,
            caller: self.caller,
            credential: self.credential,
            via: self.via,
            method,
            space,
            end,
            code: self.ending.code,
            duration_us: u32::try_from(self.took.as_micros()).unwrap_or(u32::MAX),
            times: self.ending.times,
            params_bytes: saturate(self.params.map_or(0, str::len)),
            result_bytes: saturate(self.ending.result_bytes),
            trace: self.trace.map_or(0, RunningTrace::id),
        };
        journal.record(owner, row, payloads)
    }

    fn payloads<'b>(&'b self, provider: &'b Provider) -> CallPayloads<'b> {
        let answer: Option<&[u8]> = self.reply.map(|reply| match reply {
            Reply::Result(bytes) | Reply::Error(bytes) => bytes.as_ref(),
        });
        CallPayloads {
            params: self.params,
            answer,
            is_error: matches!(self.reply, Some(Reply::Error(_))),
            redact: &provider.journal.redact,
        }
    }

    fn traced(&self, id: Option<Id>) -> TracedCall<'_> {
        let provider = match self.target {
            CallTarget::Provider(provider) => Some(provider),
            CallTarget::Name { .. } => None,
        };
        TracedCall {
            method: provider.map(|provider| &*provider.name),
            space: provider.map(|provider| provider.space.id),
            sent: self.ending.sent,
            via: self.via,
            outcome: self.ending.outcome,
            code: self.ending.code,
            took: self.took,
            times: self.ending.times,
            id,
        }
    }
}

fn saturate(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// The code of a method's error; 0 if the error has no valid code or is too long.
fn code_of(error: &[u8]) -> i32 {
    #[derive(Deserialize)]
    struct Code {
        code: i32,
    }
    if error.len() > ERROR_BYTES_MAX {
        return 0;
    }
    serde_json::from_slice(error).map_or(0, |error: Code| error.code)
}
