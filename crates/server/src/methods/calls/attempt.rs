//! The answer of one provider to a call, and the outcome of all attempts.

use std::{sync::Arc, time::Duration};

use svc_core::journal::CallTimes;
use svc_protocol::jsonrpc::RpcError;
use tokio::time::{Instant, timeout, timeout_at};

use super::Reply;
use crate::{
    live::{Answer, PendingCall},
    methods::provider::Provider,
};

/// How long an agent may take to report whether a timed-out call was sent to the method server.
const CANCEL_ANSWER_MAX: Duration = Duration::from_secs(1);

/// The outcome of a routed call.
pub(super) struct Routed {
    pub reply: Result<Reply, RpcError>,
    /// The provider that was tried last.
    pub provider: Option<Arc<Provider>>,
    pub times: Option<CallTimes>,
}

impl Routed {
    /// No provider was found.
    pub(super) fn unsent(reply: Result<Reply, RpcError>) -> Self {
        Self {
            reply,
            provider: None,
            times: None,
        }
    }

    pub(super) fn at(
        provider: Arc<Provider>,
        reply: Result<Reply, RpcError>,
        times: Option<CallTimes>,
    ) -> Self {
        Self {
            reply,
            provider: Some(provider),
            times,
        }
    }
}

/// Waits for the answer to a call that was put on the link of a provider. Returns the reply and the
/// times of the call in the agent, or `None` if nothing was sent to the method server.
///
/// Takes references only: an `async fn` stores its arguments, and the future of a call must stay small.
pub async fn await_answer(
    pending: &mut PendingCall,
    provider: &Provider,
    arrived: &Instant,
) -> Result<Option<(Reply, Option<CallTimes>)>, RpcError> {
    let deadline = *arrived + provider.timeout;
    let answer = match timeout_at(deadline, pending.answer()).await {
        Ok(answer) => answer,
        Err(_) => {
            pending.cancel();
            // Boxed because it is rare.
            match Box::pin(timeout(CANCEL_ANSWER_MAX, pending.answer())).await {
                Ok(answer) => answer,
                // No report from the agent: assume that the call was sent.
                Err(_) => return Err(timed_out(provider, true)),
            }
        }
    };
    match answer {
        Answer::Result(result) => Ok(Some((Reply::Result(result), pending.times()))),
        Answer::Error(error) => Ok(Some((Reply::Error(error), pending.times()))),
        Answer::Unavailable => Ok(None),
        Answer::Interrupted => Err(RpcError::Interrupted),
        Answer::Cancelled { sent } => Err(timed_out(provider, sent)),
    }
}

pub(super) fn timed_out(provider: &Provider, sent: bool) -> RpcError {
    RpcError::TimedOut {
        timeout_seconds: u32::try_from(provider.timeout.as_secs()).unwrap_or(u32::MAX),
        sent,
    }
}
