//! Answers clients of MCP 2025-11-25 and before, whose first request is `initialize`. Every result,
//! and every error of a well-formed request, is sent with HTTP 200, because these clients treat any
//! other status as a broken connection.

use std::future::pending;

use http::StatusCode;
use serde_json::json;
use svc_protocol::mcp::{Message, Params};

use super::{
    Chunks, Era, Exchange, Mcp, McpResponse, Mode, SERVER_NAME, era::LEGACY, refusal::Refusal,
    results::ToolResult, view::Page,
};
use crate::metrics::McpOutcome;

/// Instructions for search mode: the list contains only the two tools that find and run the others.
pub const SEARCH_INSTRUCTIONS: &str = "Find tools with tool_search and run them with execute_tool.";

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
}

/// Returns the requested version if it is known, else the newest legacy version.
fn initialize(id: &str, params: &Params<'_>, mode: Mode) -> Chunks {
    let asked = params.protocol_version().unwrap_or_default();
    let version = LEGACY.iter().find(|known| **known == asked);
    let mut result = json!({
        "protocolVersion": version.unwrap_or(&LEGACY[0]),
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": SERVER_NAME, "version": env!("CARGO_PKG_VERSION")},
    });
    if mode == Mode::Search {
        result["instructions"] = json!(SEARCH_INSTRUCTIONS);
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
