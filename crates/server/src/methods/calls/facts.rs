//! A call, as it is routed and recorded.

use svc_core::journal::CallVia;
use svc_protocol::jsonrpc::Request;
use tokio::time::Instant;

use super::BodyState;
use crate::identity::Caller;

pub struct CallFacts<'a> {
    pub caller: &'a Caller,
    pub arrived: Instant,
    /// The name of the method, as the caller sees it.
    pub method: &'a str,
    pub params: Option<&'a str>,
    pub via: CallVia,
    /// The trace id. By reference, because the future of a call must stay small.
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
