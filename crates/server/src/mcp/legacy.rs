//! Answers clients of MCP 2025-11-25 and before, whose first request is `initialize`. Every result,
//! and every error of a well-formed request, is sent with HTTP 200, because these clients treat any
//! other status as a broken connection.
//!
//! Everything that only these clients use is here: batches, cancellations (`cancellation`), and a
//! stream that is not the answer to a request.

mod cancellation;

use std::future::pending;

use futures_util::future::join_all;
use http::{HeaderMap, StatusCode};
use serde_json::json;
use svc_protocol::{
    jsonrpc::{Invalid, Request},
    mcp::{Message, Params},
};

use self::cancellation::CANCELLED;
pub use self::cancellation::CancellableCalls;
use super::{
    Chunks, Era, Exchange, Mcp, McpResponse, Mode, SERVER_NAME,
    era::{Header, SUPPORTED, VERSION_HEADER},
    read_message,
    refusal::Refusal,
    results::ToolResult,
    search,
    stream::StreamRequest,
    view::Page,
};
use crate::{
    identity::Caller,
    methods::calls::{ANSWER_BYTES_MAX, Served},
    metrics::McpOutcome,
};

/// All but the modern version, newest first.
pub const VERSIONS: &[&str] = SUPPORTED.split_at(1).1;
/// The version of a request without a version header. It is also the only version with batches.
const WITHOUT_HEADER: &str = "2025-03-26";
/// The maximum number of messages in one batch.
const BATCH_MAX: usize = 100;

impl Mcp {
    pub(super) async fn answer_legacy(
        &self,
        exchange: &Exchange<'_>,
        message: &Message<'_>,
    ) -> McpResponse {
        let is_call = message.method == "tools/call";
        let call = is_call.then(|| self.cancellable.begin(exchange.caller, message.id));
        let cancelled = async {
            match &call {
                Some(Some(call)) => call.cancelled().await,
                _ => pending().await,
            }
        };
        let result = tokio::select! {
            biased;
            // Dropping the call cancels it. The client expects no answer.
            () = cancelled => {
                self.count(&message.method, McpOutcome::Cancelled);
                return McpResponse::Accepted;
            }
            result = self.legacy_result(exchange, message) => result,
        };
        match result {
            Ok((body, outcome)) => {
                self.count(&message.method, outcome);
                McpResponse::Json(StatusCode::OK, body)
            }
            Err(refusal) => {
                let refusal = refusal.with_status(StatusCode::OK);
                self.refuse(&message.method, refusal, Some(message.id))
            }
        }
    }

    async fn legacy_result(
        &self,
        exchange: &Exchange<'_>,
        message: &Message<'_>,
    ) -> Result<(Chunks, McpOutcome), Refusal> {
        let (id, params) = (message.id, &message.params);
        let params = params.as_ref().map_err(Refusal::invalid_params)?;
        let ok = |body| (body, McpOutcome::Ok);
        match &*message.method {
            "initialize" => Ok(ok(initialize(id, params, exchange.mode))),
            "ping" => Ok(ok(wrap(id, &[]))),
            "tools/list" => {
                let page = self.list_tools(exchange, Era::Legacy, params).await?;
                Ok(ok(write_list(id, page)))
            }
            "tools/call" => {
                let result = self.call_tool(exchange, Era::Legacy, params).await?;
                let outcome = McpOutcome::of_tool(result.is_error);
                Ok((write_result(id, result), outcome))
            }
            _ => Err(Refusal::unknown_method()),
        }
    }

    /// Acts on a cancellation. Other notifications are ignored: the server has no state that they
    /// could change. Modern clients cancel a call by closing its response.
    pub(super) fn take_notification(
        &self,
        exchange: &Exchange<'_>,
        request: &Result<Request<'_>, Invalid<'_>>,
    ) {
        if let Ok(request) = request
            && request.id.is_none()
            && request.method == CANCELLED
            && Era::of_headers(exchange.headers) == Era::Legacy
        {
            self.cancellable.cancel(exchange.caller, request);
        }
    }

    /// Only one legacy version has batches, so every message of a batch is legacy.
    pub(super) async fn answer_batch(
        &self,
        exchange: &Exchange<'_>,
        requests: Vec<Result<Request<'_>, Invalid<'_>>>,
    ) -> McpResponse {
        if !allows_batches(exchange.headers) {
            let why = "this version of the protocol has no batches; send each message on its own";
            return self.refuse("", Refusal::invalid_request(why), None);
        }
        if requests.len() > BATCH_MAX {
            let why = format!("a batch has at most {BATCH_MAX} messages");
            return self.refuse("", Refusal::invalid_request(why), None);
        }
        let mut answers: Vec<Vec<u8>> = Vec::new();
        let mut messages = Vec::with_capacity(requests.len());
        for request in requests {
            self.take_notification(exchange, &request);
            match read_message(request) {
                Ok(message) => messages.extend(message),
                Err((refusal, id)) => answers.push(refusal.to_response(id)),
            }
        }
        if let Err(over) = self.admit(exchange, &messages) {
            return McpResponse::TooManyCalls(over);
        }
        let served: Vec<Served> = messages.iter().map(|_| Served::default()).collect();
        let answering = messages.iter().zip(&served).map(|(message, served)| {
            let exchange = Exchange {
                served: Some(served),
                ..*exchange
            };
            async move { self.answer_legacy(&exchange, message).await }
        });
        let answered = join_all(answering).await;
        let mut bytes = 0;
        for ((answer, message), served) in answered.into_iter().zip(&messages).zip(&served) {
            let McpResponse::Json(_, chunks) = answer else {
                continue;
            };
            bytes += chunks.len();
            answers.push(if !served.may_release(&self.calls, exchange.caller) {
                Refusal::hidden_tool(message).to_response(Some(message.id))
            } else if bytes > ANSWER_BYTES_MAX {
                Refusal::answer_too_large().to_response(Some(message.id))
            } else {
                chunks.0.concat()
            });
        }
        if answers.is_empty() {
            return McpResponse::Accepted;
        }
        let mut body = b"[".to_vec();
        body.extend(answers.join(&b','));
        body.push(b']');
        McpResponse::Json(StatusCode::OK, body.into())
    }

    /// Opens the stream of a legacy client. The stream is not the answer to a JSON-RPC request.
    pub async fn open_legacy_stream(&self, caller: Caller, mode: Mode) -> McpResponse {
        let request = StreamRequest {
            era: Era::Legacy,
            mode,
            list_changed: true,
            subscription: None,
        };
        self.open_stream(caller, request).await
    }
}

/// Whether a body may be a batch.
fn allows_batches(headers: &HeaderMap) -> bool {
    matches!(
        Header::find(headers, VERSION_HEADER),
        Header::Absent | Header::One(WITHOUT_HEADER)
    )
}

/// Returns the requested version if it is known, else the newest legacy version.
fn initialize(id: &str, params: &Params<'_>, mode: Mode) -> Chunks {
    let asked = params.protocol_version().unwrap_or_default();
    let version = VERSIONS.iter().find(|known| **known == asked);
    let mut result = json!({
        "protocolVersion": version.unwrap_or(&VERSIONS[0]),
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": SERVER_NAME, "version": env!("CARGO_PKG_VERSION")},
    });
    if mode == Mode::Search {
        result["instructions"] = json!(search::INSTRUCTIONS);
    }
    let result = result.to_string();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
        .into_bytes()
        .into()
}

fn write_list(id: &str, page: Page) -> Chunks {
    let end = match page.next {
        Some(cursor) => format!(r#"],"nextCursor":"{cursor}"}}}}"#),
        None => "]}}".to_owned(),
    };
    let begin = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":["#);
    Chunks(vec![begin.into(), page.tools, end.into()])
}

fn write_result(id: &str, result: ToolResult) -> Chunks {
    let mut members = result.members;
    if let Some(meta) = result.meta {
        members.extend_from_slice(br#","_meta":"#);
        members.extend_from_slice(meta.as_bytes());
    }
    wrap(id, &members)
}

fn wrap(id: &str, members: &[u8]) -> Chunks {
    let mut body = Vec::with_capacity(members.len() + id.len() + 40);
    body.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    body.extend_from_slice(id.as_bytes());
    body.extend_from_slice(br#","result":{"#);
    body.extend_from_slice(members);
    body.extend_from_slice(b"}}");
    body.into()
}
