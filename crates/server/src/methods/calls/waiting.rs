//! A call, and its caller while a space works on it.

use svc_core::journal::CallVia;
use svc_protocol::jsonrpc::Request;
use tokio::time::Instant;

use super::{BodyState, Calls};
use crate::{
    identity::Caller,
    methods::{ended_call::Ending, provider::Provider},
    metrics::CallOutcome,
};

/// A call, as the journal records it.
pub struct CallFacts<'a> {
    pub caller: &'a Caller,
    pub arrived: Instant,
    /// As the caller sees it.
    pub method: &'a str,
    pub params: Option<&'a str>,
    pub via: CallVia,
    /// The trace id. Not a number, because the future of a call must stay small.
    pub trace: Option<&'a u128>,
}

impl<'a> CallFacts<'a> {
    pub(super) fn of(caller: &'a Caller, request: &'a Request<'_>, shared: &BodyState) -> Self {
        Self {
            caller,
            arrived: shared.arrived,
            method: &request.method,
            params: request.params,
            via: shared.via,
            trace: caller.trace.as_deref(),
        }
    }
}

/// A caller that waits for a space. Dropped before the answer if the caller leaves: this is recorded.
pub(super) struct WaitingCaller<'a> {
    pub calls: &'a Calls,
    pub call: &'a CallFacts<'a>,
    pub provider: &'a Provider,
}

impl WaitingCaller<'_> {
    pub(super) fn has_answer(self) {
        std::mem::forget(self);
    }
}

impl Drop for WaitingCaller<'_> {
    fn drop(&mut self) {
        let (outcome, took) = (CallOutcome::Cancelled, self.call.arrived.elapsed());
        self.calls.metrics.count(outcome);
        let ending = Ending::unanswered(outcome);
        self.calls
            .record(self.call, Some(self.provider), ending, took);
    }
}
