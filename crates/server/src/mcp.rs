//! `/mcp`: the methods and tool scripts that a user sees, as MCP tools.
//!
//! Modules:
//! - `svc_protocol::mcp` parses a request; `era` finds its protocol version and checks its headers.
//! - `serve` implements `tools/list` and `tools/call`; `modern` writes the answers.
//! - `legacy` has everything that only clients of earlier versions use.
//! - `tools` turns a method or a stored script into a tool; a `view` is the serialised list of one
//!   user; `search` searches a view.
//! - `results` converts the result of a method into a tool result.
//! - `stream` notifies clients of list changes; `progress` streams the progress of a call.
//!
//! There are no sessions: only a cancellation of a legacy client refers to another request. The
//! modules `methods` and `scripts` decide which methods and scripts a user may see and call.

mod era;
mod legacy;
mod modern;
mod progress;
mod refusal;
mod results;
mod search;
mod serve;
mod stream;
#[cfg(test)]
mod testing;
mod tools;
mod view;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use svc_core::quota::QuotaExceeded;
use svc_pool::{FairPool, PoolError};
use svc_protocol::{
    jsonrpc::{Body, Invalid, Request, parse_body},
    mcp::Message,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use era::Era;
pub use legacy::CancellableCalls;
pub use progress::ProgressStream;
pub use stream::Stream;
pub use view::Views;

use self::{
    refusal::Refusal,
    stream::{Sources, StreamRequest},
};
use crate::{
    identity::{Caller, Directory},
    limits::{AnswerHold, OverLimit},
    live::Reports,
    methods::{
        calls::{Calls, Served},
        registry::Registry,
    },
    metrics::{McpOutcome, Metrics},
    scripts::StoredTools,
    streams::Streams,
};

/// The name of the server in the answers to `server/discover` and `initialize`.
pub const SERVER_NAME: &str = "svc";

pub struct Mcp {
    pub views: Arc<Views>,
    pub calls: Arc<Calls>,
    pub registry: Arc<Registry>,
    pub directory: Arc<Directory>,
    pub scripts: Arc<StoredTools>,
    pub metrics: Arc<Metrics>,
    /// Runs searches in long lists.
    pub compute: FairPool,
    pub streams: Streams,
    pub cancellable: CancellableCalls,
    pub shutdown: CancellationToken,
}

/// Selects the tools in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    #[default]
    All,
    /// Only the two tools that find and run the others.
    Search,
}

/// The answer to one HTTP request.
pub enum McpResponse {
    Json(StatusCode, Chunks),
    /// There is nothing to answer: the body held notifications only, or its call was cancelled.
    Accepted,
    Stream(Box<Stream>),
    /// A call that reports progress.
    Progress(Box<ProgressStream>),
    TooManyCalls(OverLimit),
    TooManyStreams(QuotaExceeded),
    /// The caller or the server has too many long computations in progress, or a computation
    /// failed.
    Busy(PoolError),
    /// The caller lost access during the call.
    Revoked,
}

/// A body in pieces, so that a list of tools does not have to be copied into the answer.
#[derive(Default)]
pub struct Chunks(pub Vec<Bytes>);

impl Chunks {
    fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }
}

impl From<Vec<u8>> for Chunks {
    fn from(bytes: Vec<u8>) -> Self {
        Self(vec![bytes.into()])
    }
}

/// One HTTP request and its caller.
struct Exchange<'a> {
    caller: &'a Caller,
    headers: &'a HeaderMap,
    mode: Mode,
    arrived: Instant,
    /// Receives the progress of a call, if the client asked for it and accepts a stream.
    reports: Option<&'a Reports>,
    /// Gets the provider of a call whose answer or progress is sent later.
    served: Option<&'a Served>,
    /// The memory of the answer.
    hold: &'a Arc<AnswerHold>,
}

impl Mcp {
    /// Answers the body of one `POST /mcp`. `accepts_event_stream`: whether the answer may be a
    /// stream. `hold` counts the memory of the answer, until it is dropped.
    pub async fn answer(
        self: &Arc<Self>,
        caller: &Caller,
        headers: &HeaderMap,
        mode: Mode,
        body: Bytes,
        accepts_event_stream: bool,
        hold: &Arc<AnswerHold>,
    ) -> McpResponse {
        let exchange = Exchange {
            caller,
            headers,
            mode,
            arrived: Instant::now(),
            reports: None,
            served: None,
            hold,
        };
        match parse_body(&body) {
            Err(error) => self.refuse("", Refusal::of_body(&error), None),
            Ok(Body::Single(request)) => {
                let stream_body = accepts_event_stream.then_some(&body);
                self.answer_single(&exchange, request, stream_body).await
            }
            Ok(Body::Batch(requests)) => self.answer_batch(&exchange, requests).await,
        }
    }

    /// `body`: the bytes of the request, if the answer may be a stream.
    async fn answer_single(
        self: &Arc<Self>,
        exchange: &Exchange<'_>,
        request: Result<Request<'_>, Invalid<'_>>,
        body: Option<&Bytes>,
    ) -> McpResponse {
        self.take_notification(exchange, &request);
        let message = match read_message(request) {
            Ok(Some(message)) => message,
            Ok(None) => return McpResponse::Accepted,
            Err((refusal, id)) => return self.refuse("", refusal, id),
        };
        if let Err(over) = self.admit(exchange, std::slice::from_ref(&message)) {
            return McpResponse::TooManyCalls(over);
        }
        match (body, message.progress_token()) {
            (Some(body), Some(token)) if message.method == "tools/call" => {
                let request = progress::CallRequest {
                    caller: exchange.caller.clone(),
                    headers: exchange.headers.clone(),
                    mode: exchange.mode,
                    arrived: exchange.arrived,
                    body: body.clone(),
                    token: token.to_owned(),
                    hold: Arc::clone(exchange.hold),
                };
                ProgressStream::new(Arc::clone(self), request).begin().await
            }
            _ => self.answer_message(exchange, &message).await,
        }
    }

    async fn answer_message(&self, exchange: &Exchange<'_>, message: &Message<'_>) -> McpResponse {
        match Era::of(exchange.headers, message) {
            Era::Legacy => self.answer_legacy(exchange, message).await,
            Era::Modern => self.answer_modern(exchange, message).await,
        }
    }

    async fn open_stream(&self, caller: Caller, request: StreamRequest) -> McpResponse {
        let open = match self.streams.open(&caller.user) {
            Ok(open) => open,
            Err(exceeded) => return McpResponse::TooManyStreams(exceeded),
        };
        let sources = Sources {
            views: self.views.clone(),
            directory: self.directory.clone(),
            methods: self.registry.watch_tools(),
            scripts: self.scripts.watch(),
            shutdown: self.shutdown.clone(),
        };
        let counted = self.metrics.mcp.stream_opened();
        match Stream::open(sources, caller, request, open, counted).await {
            Ok(stream) => McpResponse::Stream(Box::new(stream)),
            Err(busy) => McpResponse::Busy(busy),
        }
    }

    /// Counts tool calls toward the user's rate limit, like calls over JSON-RPC.
    fn admit(&self, exchange: &Exchange<'_>, messages: &[Message<'_>]) -> Result<(), OverLimit> {
        let is_call = |message: &&Message<'_>| message.method == "tools/call";
        let calls = messages.iter().filter(is_call).count();
        if calls == 0 {
            return Ok(());
        }
        self.calls.admit(exchange.caller, calls, exchange.arrived)
    }

    fn refuse(&self, method: &str, refusal: Refusal, id: Option<&str>) -> McpResponse {
        self.count(method, McpOutcome::Refused);
        McpResponse::Json(refusal.status, refusal.to_response(id).into())
    }

    fn count(&self, method: &str, outcome: McpOutcome) {
        self.metrics.mcp.count(method, outcome);
    }
}

/// Reads a message; `None` for a notification.
fn read_message<'a>(
    request: Result<Request<'a>, Invalid<'a>>,
) -> Result<Option<Message<'a>>, (Refusal, Option<&'a str>)> {
    let request = request.map_err(|invalid| {
        // MCP does not allow a null id.
        let id = invalid.id.filter(|id| *id != "null");
        (Refusal::of_body(&invalid.error), id)
    })?;
    let Some(id) = request.id else {
        return Ok(None);
    };
    match Message::read(id, request) {
        Some(message) => Ok(Some(message)),
        None => {
            let why = "`id` must be a string or a number";
            Err((Refusal::invalid_request(why), None))
        }
    }
}
