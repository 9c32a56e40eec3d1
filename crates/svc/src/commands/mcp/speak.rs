//! An MCP client for the server. It speaks protocol version 2026-07-28, which has no sessions.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use svc_client::Client;

use super::param_headers;
use crate::exit::Failure;

const VERSION: &str = "2026-07-28";
/// Error code for headers that do not match the arguments.
pub const HEADER_MISMATCH: i64 = -32020;
const INVALID_PARAMS: i64 = -32602;
/// The key in `_meta` of a list of tools under which the server reports hidden tools.
const HIDDEN_TOOLS: &str = "svc/hiddenTools";
/// The largest number of pages of tools to read.
const PAGES_MAX: usize = 1_000;

pub struct McpClient {
    client: Client,
}

/// The unchanged body of a JSON-RPC response.
pub struct Answer {
    body: Bytes,
}

/// The listed tools, and the tools that are hidden.
#[derive(Default)]
pub struct ToolList {
    pub tools: Vec<Value>,
    pub hidden: Vec<HiddenTool>,
}

/// A hidden tool: it is not listed, because another tool has its name.
#[derive(Deserialize)]
pub struct HiddenTool {
    pub tool: String,
    pub hidden: ToolSource,
    pub listed: ToolSource,
}

/// The method or script of a tool.
#[derive(Deserialize)]
pub struct ToolSource {
    /// `method` or `script`.
    pub kind: String,
    pub name: String,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    code: i64,
    #[serde(default)]
    message: String,
}

impl McpClient {
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The client of the server's HTTP API.
    pub fn http(&self) -> &Client {
        &self.client
    }

    /// Lists the tools of all pages, up to [`PAGES_MAX`].
    pub async fn tools(&self) -> Result<ToolList, Failure> {
        let mut list = ToolList::default();
        let mut cursor: Option<String> = None;
        for _ in 0..PAGES_MAX {
            let members = match &cursor {
                Some(cursor) => format!(r#""cursor":{},"#, Value::from(cursor.as_str())),
                None => String::new(),
            };
            let asked = self.request("tools/list", &members, HeaderMap::new(), None);
            let answer = asked.await?;
            let result = answer.result()?.get();
            let mut page: Value = serde_json::from_str(result).map_err(unreadable)?;
            if let Some(Value::Array(items)) = page.get_mut("tools").map(Value::take) {
                list.tools.extend(items);
            }
            if let Some(hidden) = page["_meta"].get_mut(HIDDEN_TOOLS).map(Value::take) {
                list.hidden = serde_json::from_value(hidden).map_err(unreadable)?;
            }
            let next = page["nextCursor"].as_str().map(str::to_owned);
            if next.is_none() || next == cursor {
                return Ok(list);
            }
            cursor = next;
        }
        Ok(list)
    }

    /// Calls a tool. If the server requires arguments in headers, calls again with these headers.
    pub async fn call(
        &self,
        tool: &str,
        arguments: &str,
        within: Option<Duration>,
    ) -> Result<Answer, Failure> {
        let members = format!(r#""name":{},"arguments":{arguments},"#, Value::from(tool));
        let name = HeaderValue::from_str(&param_headers::encode(tool))
            .map_err(|_| Failure::usage(format!("`{tool}` is not a tool name")))?;
        let mut headers = HeaderMap::from_iter([(HeaderName::from_static("mcp-name"), name)]);
        let asked = self.request("tools/call", &members, headers.clone(), within);
        let answer = asked.await?;
        if answer.error_code() != Some(HEADER_MISMATCH) {
            return Ok(answer);
        }
        let list = self.tools().await?;
        let schema = list.tools.iter().find(|found| found["name"] == tool);
        let arguments: Value = serde_json::from_str(arguments).map_err(unreadable)?;
        if let Some(schema) = schema {
            headers.extend(param_headers::mirror(&schema["inputSchema"], &arguments));
        }
        self.request("tools/call", &members, headers, within).await
    }

    /// `members` is JSON text: members of `params`, each followed by a comma.
    async fn request(
        &self,
        method: &'static str,
        members: &str,
        mut headers: HeaderMap,
        within: Option<Duration>,
    ) -> Result<Answer, Failure> {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members}"_meta":{{"io.modelcontextprotocol/protocolVersion":"{VERSION}","io.modelcontextprotocol/clientInfo":{{"name":"svc-cli","version":"{}"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#,
            env!("CARGO_PKG_VERSION")
        );
        for (name, value) in [
            ("mcp-protocol-version", VERSION),
            ("mcp-method", method),
            ("accept", "application/json, text/event-stream"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let within = Some(within.unwrap_or(self.client.policy().call_timeout));
        let body = Some(body.into_bytes());
        let asked = self
            .client
            .send_raw(Method::POST, "/mcp", headers, body, within);
        let answer = asked.await?;
        let is_response = serde_json::from_slice::<Response<'_>>(&answer.body)
            .is_ok_and(|response| response.result.is_some() || response.error.is_some());
        if is_response {
            Ok(Answer { body: answer.body })
        } else {
            Err(self.client.problem(answer.status, &answer.body).into())
        }
    }
}

impl Answer {
    fn read(&self) -> Option<Response<'_>> {
        serde_json::from_slice(&self.body).ok()
    }

    fn error_code(&self) -> Option<i64> {
        self.read()?.error.map(|error| error.code)
    }

    /// The unchanged result, or the server's error.
    pub fn result(&self) -> Result<&RawValue, Failure> {
        let response: Response<'_> = serde_json::from_slice(&self.body).map_err(unreadable)?;
        match (response.result, response.error) {
            (_, Some(error)) if error.code == INVALID_PARAMS => {
                Err(Failure::not_found(error.message).hint("svc mcp tools"))
            }
            (_, Some(RpcError { code, message })) => {
                Err(Failure::failed(format!("{message} ({code})")))
            }
            (Some(result), None) => Ok(result),
            (None, None) => Err(Failure::failed("the server's answer has no result")),
        }
    }
}

fn unreadable(_: serde_json::Error) -> Failure {
    Failure::failed("the server's answer is not valid MCP")
        .hint("svc whoami shows which server answers")
}
