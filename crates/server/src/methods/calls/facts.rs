//! A call, as it is routed and recorded.

use svc_core::journal::CallVia;
use svc_protocol::jsonrpc::Request;
use tokio::time::Instant;

use super::{BodyState, Calls};
use crate::{identity::Caller, traces::RunningTrace};

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
        Self {
            caller,
            arrived: shared.arrived,
            method: &request.method,
            params: request.params,
            via: shared.via,
            trace: calls.traces.begin(caller.user.id, caller.trace.as_deref()),
        }
    }
}
