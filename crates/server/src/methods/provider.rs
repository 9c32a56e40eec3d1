//! A space that offers one method, with everything needed to put a call on its link.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::{BufMut, Bytes};
use svc_core::{
    TraceContext, UserId,
    journal::MethodJournal,
    registration::{Acceptance, Definition},
    target::Candidate,
};
use svc_link::CALL_HEADER_BYTES;
use svc_protocol::jsonrpc::fold_lines;

use crate::{
    live::{Availability, Link, LiveSpace, NotSent, PendingCall, Reports, UserNumber},
    metrics::{MethodMeter, Metrics},
    traces::RunningTrace,
};

pub struct Provider {
    pub space: Arc<LiveSpace>,
    /// The definition of the registration. It decides who gets the answers of calls that this
    /// registration accepted.
    pub definition: Arc<Definition>,
    /// The canonical name of the method, shared with the rows of the call journal.
    pub name: Arc<str>,
    /// The method's name in the method server.
    pub local_name: String,
    /// Identifies the registration; sent in call frames.
    pub generation: u32,
    /// Position in the order of registration (D2).
    pub place: u64,
    /// Whether the registration replaces conflicting methods of the owner's other spaces.
    pub replaces: bool,
    pub timeout: Duration,
    /// Whether the method server never works on two calls at a time.
    pub serial: bool,
    /// What the call journal records of the calls.
    pub journal: MethodJournal,
    /// The number of calls in flight. A new registration of the same space keeps the counter.
    pub in_flight: Arc<AtomicU32>,
    /// Whether requests to the method server have the trace context.
    pub gets_trace: bool,
    /// `{"jsonrpc":"2.0","method":"<local name>"`, built once.
    pub prefix: Bytes,
    /// The counters of the method. The function `meter` opens them for the first call.
    pub meter: OnceLock<Arc<MethodMeter>>,
}

impl Provider {
    pub fn prefix(local_name: &str) -> Bytes {
        let name = serde_json::to_string(local_name).expect("a string is always JSON");
        format!(r#"{{"jsonrpc":"2.0","method":{name}"#).into()
    }

    pub fn candidate(&self) -> Candidate {
        Candidate {
            in_flight: self.in_flight.load(Ordering::Relaxed),
            place: self.place,
        }
    }

    pub fn acceptance(&self) -> Acceptance {
        Acceptance {
            place: self.place,
            space: self.space.id,
            replaces: self.replaces,
        }
    }

    /// The counters of the method. Other spaces of the owner that offer the method share them,
    /// unless the metrics have the label `space`.
    pub fn meter(&self, metrics: &Metrics) -> &MethodMeter {
        self.meter.get_or_init(|| {
            let space = &self.space;
            let methods = &metrics.methods;
            methods.open(space.owner, &self.name, space.id, &self.in_flight)
        })
    }

    pub fn availability(&self) -> Availability {
        self.space.availability()
    }

    /// Puts a call of a user on the space's link.
    pub fn call(
        &self,
        caller: UserId,
        params: Option<&str>,
        trace: Option<&RunningTrace>,
        reports: Option<&Reports>,
    ) -> Result<PendingCall, NotSent> {
        self.send((caller, Some(caller)), params, trace, reports)
    }

    /// Sends an event to a subscribed method. The memory of its answer counts for no user, the
    /// memory of the event for its owner until it is written to the link.
    pub fn deliver(
        &self,
        owner: UserId,
        params: &str,
        trace: Option<&RunningTrace>,
    ) -> Result<PendingCall, NotSent> {
        self.send((owner, None), Some(params), trace, None)
    }

    fn send(
        &self,
        (caller, payer): (UserId, Option<UserId>),
        params: Option<&str>,
        trace: Option<&RunningTrace>,
        reports: Option<&Reports>,
    ) -> Result<PendingCall, NotSent> {
        let link = self.link()?;
        let user = link.number_of(caller);
        let trace = self.context(trace, RunningTrace::method_context);
        // The agent appends its own id and the closing brace.
        let payload = self.payload(user, (params, trace.as_ref()), br#","id":"#);
        let payload = link.charge(caller, payload)?;
        let reports = reports.cloned();
        link.call(
            (payer, user),
            payload,
            &self.in_flight,
            self.serial,
            reports,
        )
    }

    /// Sends a notification. Its trace has only the span of the server, because the agent reports
    /// no times for it.
    pub fn notify(
        &self,
        caller: UserId,
        params: Option<&str>,
        trace: Option<&RunningTrace>,
    ) -> Result<(), NotSent> {
        let link = self.link()?;
        let user = link.number_of(caller);
        let trace = self.context(trace, |trace| trace.context().clone());
        let payload = self.payload(user, (params, trace.as_ref()), b"}");
        link.notify(user, link.charge(caller, payload)?)
    }

    /// The trace context for the method server, if the registration asks for it.
    fn context(
        &self,
        trace: Option<&RunningTrace>,
        of: impl FnOnce(&RunningTrace) -> TraceContext,
    ) -> Option<TraceContext> {
        trace.filter(|_| self.gets_trace).map(of)
    }

    fn link(&self) -> Result<Arc<Link>, NotSent> {
        self.space.link().ok_or(NotSent::Unavailable)
    }

    fn payload(
        &self,
        user: UserNumber,
        (params, trace): (Option<&str>, Option<&TraceContext>),
        end: &[u8],
    ) -> Vec<u8> {
        let params = params.unwrap_or_default().as_bytes();
        let mut out = Vec::with_capacity(
            CALL_HEADER_BYTES + self.prefix.len() + params.len() + end.len() + 10,
        );
        out.put_u32_le(self.generation);
        out.put_u32_le(user.0);
        out.extend_from_slice(&self.prefix);
        if !params.is_empty() {
            out.extend_from_slice(br#","params":"#);
            fold_lines(&mut out, params);
        }
        if let Some(trace) = trace {
            put_trace(&mut out, trace);
        }
        out.extend_from_slice(end);
        out
    }
}

/// Appends the member `_meta` of a request, with the names that MCP uses.
fn put_trace(out: &mut Vec<u8>, trace: &TraceContext) {
    out.extend_from_slice(br#","_meta":{"traceparent":""#);
    out.extend_from_slice(trace.traceparent().as_bytes());
    out.push(b'"');
    if let Some(state) = trace.tracestate() {
        let state = serde_json::to_string(state).expect("a string is always JSON");
        out.extend_from_slice(br#","tracestate":"#);
        out.extend_from_slice(state.as_bytes());
    }
    out.push(b'}');
}
