//! Records ended calls: in the metrics of their methods, in the call journal, and in their traces.

use std::time::Duration;

use svc_core::journal::JournalLevel;

use super::{CallFacts, Calls, Reply};
use crate::{
    identity::Caller,
    methods::{
        ended_call::{CallTarget, EndedCall, Ending},
        provider::Provider,
    },
    metrics::CallOutcome,
};

impl Calls {
    /// Counts a call for its method, and writes it into the journal of the method's owner. If no
    /// provider got the call, the method may not exist. Such a call is written into the journal of
    /// the caller, so that a caller cannot fill the journal of another user with invented names. A
    /// call that ended as `Unavailable` is an exception: its method exists, so the call is written
    /// into the journal of the method's owner.
    pub(super) fn record(
        &self,
        call: &CallFacts<'_>,
        provider: Option<&Provider>,
        ending: Ending,
        took: Duration,
        reply: Option<&Reply>,
    ) {
        let caller = call.caller;
        let own = (caller.user.id, call.method);
        let (owner, name) = match (provider, ending.outcome()) {
            (None, CallOutcome::Unavailable) => {
                if self.count_unavailable(caller, call.method, took) == JournalLevel::None {
                    return;
                }
                self.resolve(caller, call.method).unwrap_or(own)
            }
            _ => own,
        };
        let target = CallTarget::Name { owner, name };
        EndedCall {
            caller: caller.user.id,
            credential: caller.credential.in_journal(),
            via: call.via,
            target: provider.map_or(target, CallTarget::Provider),
            ending,
            took,
            params: call.params,
            reply,
            trace: call.trace.as_deref(),
        }
        .record(&self.metrics, &self.journal, &self.traces);
    }

    /// Counts a call of a method whose providers cannot take calls now. Returns what the journal
    /// records of the method's calls.
    fn count_unavailable(&self, caller: &Caller, method: &str, took: Duration) -> JournalLevel {
        let resolved = self.resolve(caller, method);
        let entry = resolved
            .and_then(|(owner, name)| self.registry.find_visible(caller.viewer(), owner, name));
        let Some(entry) = entry else {
            return JournalLevel::default();
        };
        if let Some(provider) = entry.providers.first() {
            let meter = provider.meter(&self.metrics);
            meter.record(CallOutcome::Unavailable, took);
        }
        entry.definition.journal.level
    }

    /// Records that the caller left while a space worked on the call.
    pub(super) fn record_left(&self, call: &CallFacts<'_>, provider: &Provider) {
        let (outcome, took) = (CallOutcome::Cancelled, call.arrived.elapsed());
        self.metrics.count(outcome);
        self.record(
            call,
            Some(provider),
            Ending::unanswered(outcome),
            took,
            None,
        );
    }
}
