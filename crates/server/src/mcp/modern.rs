//! Answers of the protocol version 2026-07-28, which has no sessions. Each result has the type
//! `complete` and names the server.

use std::borrow::Cow;

use http::StatusCode;
use serde_json::{Value, json};
use svc_protocol::mcp::{Message, Params};

use super::{
    Chunks, Era, Exchange, Mcp, McpResponse, Mode, SERVER_NAME,
    era::{SUPPORTED, check_modern},
    refusal::Refusal,
    results::{ToolResult, merge_meta},
    search,
    stream::StreamRequest,
    view::Page,
};
use crate::metrics::McpOutcome;

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// In `_meta` of a list: the tools that are not listed because another tool has the same name.
const HIDDEN_TOOLS: &str = "svc/hiddenTools";

/// `_meta` of a result if the method set no `_meta`.
const OWN_META: &str = concat!(
    r#"{"io.modelcontextprotocol/serverInfo":{"name":"svc","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}}"#
);

/// How long a client may cache the answer to `server/discover`.
const DISCOVER_TTL_MS: u32 = 60 * 60 * 1_000;
/// A list may change at any time, so it must not be cached.
const LIST_TTL_MS: u32 = 0;

impl Mcp {
    pub(super) async fn answer_modern(
        &self,
        exchange: &Exchange<'_>,
        message: &Message<'_>,
    ) -> McpResponse {
        let checked = check_modern(exchange.headers, message);
        let answered = match checked {
            Err(refusal) => Err(refusal),
            Ok(()) if message.method == "subscriptions/listen" => {
                Box::pin(self.listen(exchange, message)).await
            }
            Ok(()) => self.modern_result(exchange, message).await,
        };
        answered.unwrap_or_else(|refusal| self.refuse(&message.method, refusal, Some(message.id)))
    }

    async fn modern_result(
        &self,
        exchange: &Exchange<'_>,
        message: &Message<'_>,
    ) -> Result<McpResponse, Refusal> {
        let (id, params) = (message.id, read_params(message)?);
        let (body, outcome) = match &*message.method {
            "server/discover" => (discover(id, exchange.mode), McpOutcome::Ok),
            "tools/list" => {
                let page = self.list_tools(exchange, Era::Modern, params).await?;
                (write_list(id, page), McpOutcome::Ok)
            }
            "tools/call" => {
                let result = self.call_tool(exchange, Era::Modern, params).await?;
                let outcome = McpOutcome::of_tool(result.is_error);
                (write_result(id, &result), outcome)
            }
            _ => return Err(Refusal::unknown_method().with_status(StatusCode::NOT_FOUND)),
        };
        self.count(&message.method, outcome);
        Ok(McpResponse::Json(StatusCode::OK, body))
    }

    async fn listen(
        &self,
        exchange: &Exchange<'_>,
        message: &Message<'_>,
    ) -> Result<McpResponse, Refusal> {
        let list_changed = read_params(message)?
            .wants_tools_list_changed()
            .map_err(|_| {
                Refusal::invalid_params("`notifications` must be an object of booleans")
            })?;
        self.count(&message.method, McpOutcome::Ok);
        let request = StreamRequest {
            era: Era::Modern,
            mode: exchange.mode,
            list_changed,
            subscription: Some(message.id.to_owned()),
        };
        Ok(self.open_stream(exchange.caller.clone(), request).await)
    }
}

fn read_params<'m, 'a>(message: &'m Message<'a>) -> Result<&'m Params<'a>, Refusal> {
    message
        .params
        .as_ref()
        .map_err(|why| Refusal::invalid_params(why).with_status(StatusCode::BAD_REQUEST))
}

fn server_info() -> Value {
    json!({"name": SERVER_NAME, "version": env!("CARGO_PKG_VERSION")})
}

fn discover(id: &str, mode: Mode) -> Chunks {
    let mut result = json!({
        "resultType": "complete",
        "supportedVersions": SUPPORTED,
        "capabilities": {"tools": {"listChanged": true}},
        "ttlMs": DISCOVER_TTL_MS,
        "cacheScope": "private",
        "_meta": {SERVER_INFO: server_info()},
    });
    if mode == Mode::Search {
        result["instructions"] = json!(search::INSTRUCTIONS);
    }
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
        .into_bytes()
        .into()
}

fn write_list(id: &str, page: Page) -> Chunks {
    let begin =
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","tools":["#);
    let next = page
        .next
        .map_or_else(String::new, |cursor| format!(r#","nextCursor":"{cursor}""#));
    let meta = match page.hidden {
        None => Cow::Borrowed(OWN_META),
        Some(hidden) => format!(
            r#"{{"{SERVER_INFO}":{},"{HIDDEN_TOOLS}":{hidden}}}"#,
            server_info()
        )
        .into(),
    };
    let end = format!(r#"]{next},"ttlMs":{LIST_TTL_MS},"cacheScope":"private","_meta":{meta}}}}}"#);
    Chunks(vec![begin.into(), page.tools, end.into()])
}

fn write_result(id: &str, result: &ToolResult) -> Chunks {
    let meta = match &result.meta {
        None => Cow::Borrowed(OWN_META),
        Some(meta) => merge_meta(meta, SERVER_INFO, server_info()).into(),
    };
    let mut body = Vec::with_capacity(result.members.len() + id.len() + meta.len() + 80);
    body.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    body.extend_from_slice(id.as_bytes());
    body.extend_from_slice(br#","result":{"resultType":"complete","#);
    body.extend_from_slice(&result.members);
    body.extend_from_slice(br#","_meta":"#);
    body.extend_from_slice(meta.as_bytes());
    body.extend_from_slice(b"}}");
    body.into()
}

/// The first message of a subscription: the kinds of notifications that it will send.
pub fn acknowledgement(subscription: &str, list_changed: bool) -> String {
    let notifications = if list_changed {
        json!({"toolsListChanged": true})
    } else {
        json!({})
    };
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"{SUBSCRIPTION_ID}":{subscription}}},"notifications":{notifications}}}}}"#
    )
}

/// `subscription` is `None` for legacy streams.
pub fn list_changed(subscription: Option<&str>) -> String {
    let method = "notifications/tools/list_changed";
    match subscription {
        None => format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#),
        Some(id) => format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"_meta":{{"{SUBSCRIPTION_ID}":{id}}}}}}}"#
        ),
    }
}

/// The answer to the request that opened a subscription. It shows the client that the server ended
/// the subscription and that the connection was not lost.
pub fn subscription_ended(subscription: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{subscription},"result":{{"resultType":"complete","_meta":{{"{SUBSCRIPTION_ID}":{subscription},"{SERVER_INFO}":{}}}}}}}"#,
        server_info()
    )
}
