//! A call that has ended, as the [`recorder`](super::calls::recorder) records it.

use std::time::Duration;

use serde::Deserialize;
use svc_core::{
    UserId,
    journal::{CallCredential, CallTimes, CallVia},
};
use svc_protocol::jsonrpc::RpcError;

use super::{
    calls::{Reply, outcome_of},
    provider::Provider,
    registry::Entry,
};
use crate::{metrics::CallOutcome, traces::RunningTrace};

/// The code of a longer error object is not read.
const ERROR_BYTES_MAX: usize = 64 * 1024;

pub struct EndedCall<'a> {
    /// Decides which recorders get the call.
    pub subject: CallSubject<'a>,
    pub caller: UserId,
    pub credential: Option<CallCredential>,
    pub via: CallVia,
    pub ending: Ending,
    pub took: Duration,
    pub params: Option<&'a str>,
    /// `None` without an answer of the method.
    pub reply: Option<&'a Reply>,
    pub trace: Option<&'a RunningTrace>,
}

/// What was called.
pub enum CallSubject<'a> {
    /// A method of the provider that was picked.
    Provider(&'a Provider),
    /// A method whose providers cannot take calls now.
    Unavailable {
        owner: UserId,
        name: &'a str,
        /// `None` if the method has just ended.
        entry: Option<Entry>,
    },
    /// A method that may not exist: no provider got the call.
    Unknown(&'a str),
    /// `rpc.discover`, which the server itself answers.
    Discovery,
    /// A tool: the stored script with this name.
    Script(&'a str),
    /// A method that is called with an event.
    Subscription(&'a Provider),
    /// A request that is not a call.
    Invalid,
}

/// How a call ended.
#[derive(Clone, Copy)]
pub struct Ending {
    pub outcome: CallOutcome,
    /// Whether the caller gets an answer.
    pub answered: bool,
    pub code: i32,
    pub result_bytes: usize,
    pub times: Option<CallTimes>,
    /// Whether the method server may have got the call.
    pub sent: bool,
}

impl Ending {
    /// An ending without an answer.
    pub fn unanswered(outcome: CallOutcome) -> Self {
        Self {
            outcome,
            answered: false,
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
            answered: true,
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
}

impl CallSubject<'_> {
    /// The space that was picked, and its method.
    pub fn provider(&self) -> Option<&Provider> {
        match self {
            Self::Provider(provider) | Self::Subscription(provider) => Some(provider),
            _ => None,
        }
    }
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
