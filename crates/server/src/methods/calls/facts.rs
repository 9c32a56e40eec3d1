//! A call, as it is routed and recorded.

use svc_core::journal::CallVia;
use svc_protocol::jsonrpc::Request;
use tokio::time::Instant;

use super::{BodyState, Calls, DISCOVER, Reply};
use crate::{
    identity::Caller,
    methods::{
        ended_call::{CallSubject, EndedCall, Ending},
        provider::Provider,
    },
    metrics::CallOutcome,
    traces::RunningTrace,
};

pub struct CallFacts<'a> {
    pub caller: &'a Caller,
    pub arrived: Instant,
    /// The name of the method, as the caller sees it.
    pub method: &'a str,
    pub params: Option<&'a str>,
    pub via: CallVia,
    /// Boxed, because the future of a call must stay small.
    pub trace: Option<Box<RunningTrace>>,
}

impl<'a> CallFacts<'a> {
    /// Collects the facts of a call, and begins its trace.
    pub(super) fn of(
        calls: &Calls,
        caller: &'a Caller,
        request: &'a Request<'_>,
        shared: &BodyState,
    ) -> Self {
        let traces = &calls.recorder.traces;
        Self {
            caller,
            arrived: shared.arrived,
            method: &request.method,
            params: request.params,
            via: shared.via,
            trace: traces.begin(caller.user.id, caller.trace.as_deref()),
        }
    }
}

impl Calls {
    /// Records a call that has ended. `provider` is the one that was picked last.
    pub(super) fn record(
        &self,
        call: &CallFacts<'_>,
        provider: Option<&Provider>,
        ending: Ending,
        reply: Option<&Reply>,
    ) {
        let took = call.arrived.elapsed();
        self.recorder.ended(&EndedCall {
            subject: self.subject(call, provider, ending),
            caller: call.caller.user.id,
            credential: call.caller.credential.in_journal(),
            via: call.via,
            ending,
            took,
            params: call.params,
            reply,
            trace: call.trace.as_deref(),
        });
    }

    fn subject<'a>(
        &self,
        call: &CallFacts<'a>,
        provider: Option<&'a Provider>,
        ending: Ending,
    ) -> CallSubject<'a> {
        match (provider, ending.outcome) {
            (Some(provider), _) => CallSubject::Provider(provider),
            // A notification has no answer, so it is routed like those of other methods.
            (None, _) if ending.answered && call.method == DISCOVER => CallSubject::Discovery,
            (None, CallOutcome::Unavailable) => {
                let Some((owner, name)) = self.resolve(call.caller, call.method) else {
                    return CallSubject::Unknown(call.method);
                };
                let viewer = call.caller.viewer();
                let entry = self.registry.find_visible(viewer, owner, name);
                CallSubject::Unavailable { owner, name, entry }
            }
            (None, _) => CallSubject::Unknown(call.method),
        }
    }
}
