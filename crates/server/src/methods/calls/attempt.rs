//! Tries to send a call to one provider after another, and waits for the answer.

use std::{sync::Arc, time::Duration};

use svc_core::journal::CallTimes;
use svc_protocol::jsonrpc::RpcError;
use tokio::time::{Instant, timeout, timeout_at};

use super::{CallFacts, Reply};
use crate::{
    live::{Answer, NotSent, PendingCall, Reports},
    methods::{provider::Provider, registry::PickError},
};

/// How long an agent may take to report whether a timed-out call was sent to the method server.
pub(super) const CANCEL_ANSWER_MAX: Duration = Duration::from_secs(1);

/// The outcome of a routed call.
pub(super) struct Routed {
    pub reply: Result<Reply, RpcError>,
    /// The provider that was picked last; `None` if the last pick found no provider.
    pub provider: Option<Arc<Provider>>,
    pub times: Option<CallTimes>,
}

impl Routed {
    /// The outcome of a call that no provider took.
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

/// A call and its possible providers.
pub(super) trait Route {
    fn call(&self) -> &CallFacts<'_>;

    /// Whether the caller may make a call now.
    fn admit(&self) -> Result<(), RpcError> {
        Ok(())
    }

    /// Picks a provider that was not tried yet.
    fn pick(&self, tried: &[Arc<Provider>]) -> Result<Arc<Provider>, PickError>;

    /// Called if the caller leaves while this provider works on the call.
    fn left(&self, provider: &Provider);
}

/// A caller that waits for a space. If this value is dropped before the answer, the caller has
/// left.
struct WaitingCaller<'a, R: Route> {
    route: &'a R,
    provider: &'a Provider,
}

impl<R: Route> WaitingCaller<'_, R> {
    fn has_answer(self) {
        std::mem::forget(self);
    }
}

impl<R: Route> Drop for WaitingCaller<'_, R> {
    fn drop(&mut self) {
        self.route.left(self.provider);
    }
}

/// Tries one provider after another, as long as nothing was sent to a method server.
pub(super) async fn try_providers(route: impl Route, reports: Option<&Reports>) -> Routed {
    if let Err(error) = route.admit() {
        return Routed::unsent(Err(error));
    }
    let mut tried: Vec<Arc<Provider>> = Vec::new();
    loop {
        let provider = match route.pick(&tried) {
            Ok(provider) => provider,
            Err(PickError::NotFound) => return Routed::unsent(Err(RpcError::MethodNotFound)),
            Err(PickError::Unavailable) => return Routed::unsent(Err(RpcError::Unavailable)),
        };
        // Earlier attempts may have used up the time; the first attempt has all of it.
        if !tried.is_empty() && route.call().arrived.elapsed() >= provider.timeout {
            let reply = Err(timed_out(&provider, false));
            return Routed::at(provider, reply, None);
        }
        let mut pending = match put_on_link(&provider, route.call(), reports) {
            Ok(pending) => pending,
            Err(NotSent::Unavailable) => {
                tried.push(provider);
                continue;
            }
            Err(NotSent::BudgetFull(full)) => {
                let limit_bytes = full.limit;
                return Routed::unsent(Err(RpcError::UnfinishedBodies { limit_bytes }));
            }
        };
        let waiting = WaitingCaller {
            route: &route,
            provider: &provider,
        };
        let answer = await_answer(&mut pending, &provider, &route.call().arrived).await;
        waiting.has_answer();
        match answer {
            Ok(Some((reply, times))) => return Routed::at(provider, Ok(reply), times),
            Err(error) => return Routed::at(provider, Err(error), None),
            // Nothing was sent, so another provider may be tried. A sent call is never retried.
            Ok(None) => tried.push(provider),
        }
    }
}

/// A function of its own, so that the future of a call does not store its variables.
fn put_on_link(
    provider: &Provider,
    call: &CallFacts<'_>,
    reports: Option<&Reports>,
) -> Result<PendingCall, NotSent> {
    let trace = call.trace.as_deref();
    provider.call(call.caller.user.id, call.params, trace, reports)
}

/// Waits for the answer to a call that was put on the link of a provider. Returns the reply and the
/// times of the call in the agent, or `None` if nothing was sent to the method server.
///
/// Takes references only: an `async fn` stores its arguments, and the future of a call must stay
/// small.
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
            // Boxed, so that this rare case does not enlarge the future of a call.
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
        Answer::Unread { limit_bytes } => Err(RpcError::UnreadAnswers {
            limit_bytes,
            sent: true,
        }),
    }
}

fn timed_out(provider: &Provider, sent: bool) -> RpcError {
    RpcError::TimedOut {
        timeout_seconds: u32::try_from(provider.timeout.as_secs()).unwrap_or(u32::MAX),
        sent,
    }
}
