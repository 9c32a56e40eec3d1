//! A call that has ended, as the metrics of its method count it and the call journal records it.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use svc_core::{
    UserId,
    journal::{CallCredential, CallRow, CallTimes, CallVia, JournalLevel, short_name},
};
use svc_protocol::jsonrpc::RpcError;

use super::{
    calls::{Reply, outcome_of},
    provider::Provider,
};
use crate::{
    journal::{CallPayloads, Journal},
    metrics::{CallOutcome, Metrics},
};

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
    /// 0 without a trace.
    pub trace: u128,
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
}

impl Ending {
    /// An ending without an answer.
    pub fn unanswered(outcome: CallOutcome) -> Self {
        Self {
            outcome,
            code: 0,
            result_bytes: 0,
            times: None,
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
        }
    }

    /// The same with the times of the call in the agent.
    pub fn with_times(self, times: Option<CallTimes>) -> Self {
        Self { times, ..self }
    }

    pub fn outcome(self) -> CallOutcome {
        self.outcome
    }
}

impl EndedCall<'_> {
    pub fn record(self, metrics: &Metrics, journal: &Journal) {
        if let CallTarget::Provider(provider) = self.target {
            let meter = provider.meter(metrics);
            meter.record(self.ending.outcome, self.took);
        }
        if !journal.is_on() {
            return;
        }
        let Some(end) = self.ending.outcome.end() else {
            return;
        };
        let (owner, method, space, payloads) = match self.target {
            CallTarget::Provider(provider) => {
                let payloads = match provider.journal.level {
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
            trace: self.trace,
        };
        journal.record(owner, row, payloads);
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
