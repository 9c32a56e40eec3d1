//! Routes calls: one path for single calls, batches and notifications.

mod attempt;
mod facts;
pub mod recorder;
mod release;
#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, OnceLock},
    task::Poll,
};

use futures_util::{
    poll,
    stream::{FuturesOrdered, StreamExt},
};
use svc_core::{UserId, journal::CallVia, visibility::resolve};
use svc_protocol::jsonrpc::{
    Body, Invalid, Request, RpcError, error_response, parse_body, result_response,
};
use tokio::{task::yield_now, time::Instant};

pub use attempt::await_answer;
pub use facts::CallFacts;
pub use release::Served;

use self::{
    attempt::{Route, Routed, try_providers},
    recorder::CallRecorder,
    release::ItemAnswer,
};
use super::{
    ended_call::{CallSubject, EndedCall, Ending},
    openrpc,
    provider::Provider,
    registry::{PickError, Registry},
};
use crate::{
    identity::{Caller, Credential, Directory},
    limits::{
        Account, AnswerHold, BudgetFull, ByteBudget, OverLimit, RateLimit, UNCOUNTED_BYTES_MAX,
    },
    live::{NotSent, Reports},
    metrics::CallOutcome,
};

/// Items of a batch that are started at a time.
const BATCH_STEP: usize = 50;
/// JSON-RPC service discovery, answered by the server itself.
const DISCOVER: &str = "rpc.discover";

pub struct Calls {
    pub registry: Arc<Registry>,
    pub directory: Arc<Directory>,
    pub openrpc: openrpc::OpenRpc,
    pub rate_limit: Arc<RateLimit>,
    pub recorder: Arc<CallRecorder>,
    /// Counts answers until their callers have read them.
    pub answers: Arc<ByteBudget>,
}

/// Largest total size of the answers to one body. The link limits the size of a single answer.
pub const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The answers to a whole body.
pub struct Answers {
    /// `None` is 204 No Content.
    pub json: Option<Vec<u8>>,
    /// The memory of the answers; `None` if they are small.
    pub hold: Option<Arc<AnswerHold>>,
}

/// State that the items of one body share.
struct BodyState {
    arrived: Instant,
    /// For the call journal.
    via: CallVia,
    /// Bytes of all replies so far, and their memory.
    hold: AnswerHold,
    /// The answer to `rpc.discover`, built at most once per body. Boxed to keep the future of
    /// ordinary calls small.
    discovered: OnceLock<Box<bytes::Bytes>>,
}

/// The answer to a call: the bytes of `result` or of `error`.
pub enum Reply {
    Result(bytes::Bytes),
    Error(bytes::Bytes),
}

impl Reply {
    pub fn size(&self) -> usize {
        match self {
            Self::Result(bytes) | Self::Error(bytes) => bytes.len(),
        }
    }

    /// Whether the link has counted the memory of the reply.
    fn is_counted(&self) -> bool {
        self.size() > UNCOUNTED_BYTES_MAX
    }
}

impl Calls {
    /// Answers a whole body of `POST /api/methods/call`.
    pub async fn answer(&self, caller: &Caller, body: &[u8]) -> Result<Answers, OverLimit> {
        let parsed = parse_body(body);
        let (calls, via) = match &parsed {
            Ok(Body::Batch(requests)) => (requests.len(), CallVia::Batch),
            _ => (1, CallVia::Api),
        };
        let shared = BodyState {
            arrived: Instant::now(),
            via: match caller.credential {
                Credential::Script => CallVia::Script,
                _ => via,
            },
            hold: AnswerHold::default(),
            discovered: OnceLock::new(),
        };
        self.admit(caller, calls, shared.arrived)?;
        let json = match &parsed {
            Err(error) => {
                self.count_invalid(caller, &shared, CallOutcome::Invalid);
                Some(refusal(error, None))
            }
            Ok(Body::Single(request)) => {
                if asks_to_discover(request) {
                    Box::pin(self.prepare(caller, &shared)).await;
                }
                let answer = self.answer_one(caller, request, &shared).await;
                answer.map(|answer| self.release_item(caller, request, answer))
            }
            // Boxed to keep the future of single calls small.
            Ok(Body::Batch(requests)) => Box::pin(self.answer_all(caller, requests, &shared)).await,
        };
        Ok(Answers {
            json,
            hold: shared.hold.into_counted(),
        })
    }

    async fn answer_all(
        &self,
        caller: &Caller,
        requests: &[Result<Request<'_>, Invalid<'_>>],
        shared: &BodyState,
    ) -> Option<Vec<u8>> {
        if requests.iter().any(asks_to_discover) {
            self.prepare(caller, shared).await;
        }
        let mut running = FuturesOrdered::new();
        let mut answers = Vec::with_capacity(requests.len());
        for started in requests.chunks(BATCH_STEP) {
            for request in started {
                running.push_back(self.answer_one(caller, request, shared));
            }
            // Starts these items, then yields to other tasks of this thread before it starts more.
            while let Poll::Ready(Some(answer)) = poll!(running.next()) {
                answers.push(answer);
            }
            yield_now().await;
        }
        while let Some(answer) = running.next().await {
            answers.push(answer);
        }
        // Synchronous: nothing can happen between the last check and the end of this function.
        let answers = answers.into_iter().zip(requests);
        let answers: Vec<_> = answers
            .filter_map(|(answer, request)| Some(self.release_item(caller, request, answer?)))
            .collect();
        (!answers.is_empty()).then(|| join_array(&answers))
    }

    /// Counts a request that is not a call.
    fn count_invalid(&self, caller: &Caller, shared: &BodyState, outcome: CallOutcome) {
        self.recorder.ended(&EndedCall {
            subject: CallSubject::Invalid,
            caller: caller.user.id,
            credential: None,
            via: shared.via,
            ending: Ending::unanswered(outcome),
            took: shared.arrived.elapsed(),
            params: None,
            reply: None,
            trace: None,
        });
    }

    /// Counts calls against the user's rate limit.
    pub fn admit(&self, caller: &Caller, calls: usize, arrived: Instant) -> Result<(), OverLimit> {
        self.rate_limit
            .take(caller.user.id, calls, arrived.into_std())
    }

    /// Makes one admitted call that does not come from the call endpoint. Progress goes to
    /// `reports`. `served` gets the provider. Dropping the future cancels the call.
    pub async fn call_one(
        &self,
        call: &CallFacts<'_>,
        reports: Option<&Reports>,
        served: Option<&Served>,
    ) -> Result<Reply, RpcError> {
        let _running = self.recorder.metrics.call_started();
        let Routed {
            reply,
            provider,
            times,
        } = self.route(call, reports, served).await;
        let release = |reply| self.release_reply(call.caller, provider.as_ref(), reply);
        let reply = reply.and_then(release);
        let ending = Ending::of(&reply).with_times(times);
        self.record(call, provider.as_deref(), ending, reply.as_ref().ok());
        reply
    }

    /// Answers one item; `None` for a notification (spec 4.1, rules 2 and 3 of the call endpoint).
    async fn answer_one(
        &self,
        caller: &Caller,
        request: &Result<Request<'_>, Invalid<'_>>,
        shared: &BodyState,
    ) -> Option<ItemAnswer> {
        let request = match request {
            Ok(request) => request,
            Err(invalid) if invalid.is_notification() => {
                self.count_invalid(caller, shared, CallOutcome::NotificationDropped);
                return None;
            }
            Err(invalid) => {
                self.count_invalid(caller, shared, CallOutcome::Invalid);
                return Some(ItemAnswer {
                    json: refusal(&invalid.error, invalid.id),
                    provider: None,
                });
            }
        };
        let Some(id) = request.id else {
            self.notify(caller, request, shared);
            return None;
        };
        let _running = self.recorder.metrics.call_started();
        let call = CallFacts::of(self, caller, request, shared);
        let Routed {
            reply,
            provider,
            times,
        } = if request.method == DISCOVER {
            let document = shared.discovered.get().map(|document| (**document).clone());
            let reply = document.map(Reply::Result).ok_or(RpcError::Unavailable);
            Routed::unsent(reply)
        } else {
            self.route(&call, None, None).await
        };
        let reply = reply
            .and_then(|reply| self.release_reply(caller, provider.as_ref(), reply))
            .and_then(|reply| self.within_budget(caller, reply, shared));
        let ending = Ending::of(&reply).with_times(times);
        // Created after the call: otherwise the future of the call would contain it.
        let mut json = Vec::new();
        match &reply {
            Ok(Reply::Result(result)) => result_response(&mut json, result, id),
            Ok(Reply::Error(error)) => error_response(&mut json, error, Some(id)),
            Err(error) => json = refusal(error, Some(id)),
        }
        self.record(&call, provider.as_deref(), ending, reply.as_ref().ok());
        let mut provider = provider.filter(|_| reply.is_ok());
        if let Ok(reply) = &reply
            && reply.is_counted()
        {
            // The answer is a copy that replaces the reply in memory.
            let bytes = (reply.size(), reply.size());
            if let Err(full) = shared.hold.add(&self.answers, caller.user.id, bytes) {
                json = refusal(&unread_answers(full, true), Some(id));
                provider = None;
            }
        }
        Some(ItemAnswer { json, provider })
    }

    /// Rejects a reply that would make the answers to one body exceed [`ANSWER_BYTES_MAX`], or a
    /// small reply that would make the unread answers of the caller exceed their share. The first
    /// reply is always small enough for the body.
    fn within_budget(
        &self,
        caller: &Caller,
        reply: Reply,
        shared: &BodyState,
    ) -> Result<Reply, RpcError> {
        let (before, bytes) = (shared.hold.bytes(), reply.size());
        if before > 0 && before + bytes > ANSWER_BYTES_MAX {
            return Err(RpcError::AnswerTooLarge {
                limit_bytes: ANSWER_BYTES_MAX,
            });
        }
        if !reply.is_counted() {
            let user = caller.user.id;
            let added = shared.hold.add(&self.answers, user, (bytes, 0));
            added.map_err(|full| unread_answers(full, true))?;
        }
        Ok(reply)
    }

    /// Builds the answer to the `rpc.discover` requests of a body, once for all of them. If this
    /// fails, they get the error `Unavailable`.
    async fn prepare(&self, caller: &Caller, shared: &BodyState) {
        if let Ok(document) = self.openrpc.document(caller).await {
            let _ = shared.discovered.set(Box::new(document.into()));
        }
    }

    /// Not an `async fn`, which would store its arguments twice.
    fn route<'a>(
        &'a self,
        call: &'a CallFacts<'a>,
        reports: Option<&'a Reports>,
        served: Option<&'a Served>,
    ) -> impl Future<Output = Routed> + 'a {
        let route = CallRoute {
            calls: self,
            call,
            served,
        };
        try_providers(route, reports)
    }

    /// Forwards a notification. Notifications have no answer, not even an error.
    fn notify(&self, caller: &Caller, request: &Request<'_>, shared: &BodyState) {
        let call = CallFacts::of(self, caller, request, shared);
        let trace = call.trace.as_deref();
        let mut tried = Vec::new();
        let mut sent = None;
        while let Ok(provider) = self.pick(caller, &request.method, &tried) {
            let user = caller.user.id;
            match provider.notify(user, request.params, trace) {
                Ok(()) => {
                    sent = Some(provider);
                    break;
                }
                Err(NotSent::Unavailable) => tried.push(provider),
                // No other provider has memory for it.
                Err(NotSent::BudgetFull(_)) => break,
            }
        }
        let outcome = match sent {
            Some(_) => CallOutcome::Notification,
            None => CallOutcome::NotificationDropped,
        };
        self.record(&call, sent.as_deref(), Ending::unanswered(outcome), None);
    }

    fn pick(
        &self,
        caller: &Caller,
        method: &str,
        tried: &[Arc<Provider>],
    ) -> Result<Arc<Provider>, PickError> {
        let (owner, canonical) = self.resolve(caller, method).ok_or(PickError::NotFound)?;
        self.registry.pick(caller.viewer(), owner, canonical, tried)
    }

    /// The owner and the canonical name of a method.
    fn resolve<'a>(&self, caller: &Caller, method: &'a str) -> Option<(UserId, &'a str)> {
        let find_owner = |name: &str| self.directory.find_active_user(name);
        resolve(caller.user.id, method, find_owner)
    }
}

/// A call whose providers are in the registry.
struct CallRoute<'a> {
    calls: &'a Calls,
    call: &'a CallFacts<'a>,
    served: Option<&'a Served>,
}

impl Route for CallRoute<'_> {
    fn call(&self) -> &CallFacts<'_> {
        self.call
    }

    fn admit(&self) -> Result<(), RpcError> {
        let account = Account::User(self.call.caller.user.id);
        let checked = self.calls.answers.check_share(account);
        checked.map_err(|full| unread_answers(full, false))
    }

    fn pick(&self, tried: &[Arc<Provider>]) -> Result<Arc<Provider>, PickError> {
        let call = self.call;
        let provider = self.calls.pick(call.caller, call.method, tried)?;
        // Opens the counters, so that the metrics include the running call.
        provider.meter(&self.calls.recorder.metrics);
        if let Some(served) = self.served {
            served.set(&provider);
        }
        Ok(provider)
    }

    fn left(&self, provider: &Provider) {
        let ending = Ending::unanswered(CallOutcome::Cancelled);
        self.calls.record(self.call, Some(provider), ending, None);
    }
}

fn asks_to_discover(request: &Result<Request<'_>, Invalid<'_>>) -> bool {
    request
        .as_ref()
        .is_ok_and(|request| request.method == DISCOVER && request.id.is_some())
}

/// The outcome of a call with this reply.
pub fn outcome_of(reply: &Result<Reply, RpcError>) -> CallOutcome {
    match reply {
        Ok(Reply::Result(_)) => CallOutcome::Ok,
        Ok(Reply::Error(_)) => CallOutcome::MethodError,
        Err(error) => CallOutcome::of(error),
    }
}

/// The error of a call whose caller does not read earlier answers.
pub fn unread_answers(full: BudgetFull, sent: bool) -> RpcError {
    RpcError::UnreadAnswers {
        limit_bytes: full.limit,
        sent,
    }
}

fn refusal(error: &RpcError, id: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    error_response(&mut out, &error.to_object().to_bytes(), id);
    out
}

fn join_array(items: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(items.iter().map(|item| item.len() + 1).sum::<usize>() + 2);
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(item);
    }
    out.push(b']');
    out
}
