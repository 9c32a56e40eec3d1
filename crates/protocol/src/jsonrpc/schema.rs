//! Schemas of JSON-RPC messages, for the OpenAPI document. The server never parses a message into
//! these types: params, results and ids keep their bytes.
#![expect(dead_code, reason = "only schemas")]

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::BATCH_MAX;

/// `POST /api/methods/call`
#[derive(JsonSchema)]
#[schemars(untagged, example = json!({"jsonrpc": "2.0", "id": 1, "method": "notes.add", "params": {"text": "Buy milk"}}))]
pub enum CallBody {
    One(JsonRpcRequest),
    Batch(#[schemars(length(min = 1, max = BATCH_MAX))] Vec<JsonRpcRequest>),
}

/// A request without an id is a notification, which gets no response.
#[derive(JsonSchema)]
pub struct JsonRpcRequest {
    #[schemars(extend("const" = "2.0"))]
    jsonrpc: String,
    /// The name as the caller sees it: `notes.add`, or `user.<owner>.notes.add`.
    method: String,
    params: Option<JsonRpcParams>,
    id: Option<JsonRpcId>,
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
enum JsonRpcParams {
    ByName(serde_json::Map<String, Value>),
    ByPosition(Vec<Value>),
}

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
enum JsonRpcId {
    Text(String),
    Number(f64),
}

/// One response, or the responses of a batch in the order of the requests.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum CallResult {
    One(JsonRpcResponse),
    Batch(Vec<JsonRpcResponse>),
}

/// Has either `result` or `error`.
#[derive(JsonSchema)]
#[schemars(example = json!({"jsonrpc": "2.0", "id": 1, "result": {"notes": 3}}))]
pub struct JsonRpcResponse {
    #[schemars(extend("const" = "2.0"))]
    jsonrpc: String,
    #[schemars(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    error: Option<JsonRpcError>,
    /// The id of the request; null if the request has no valid id.
    id: Option<JsonRpcId>,
}

/// Codes of the server: -32700 not JSON, -32600 not a request, -32601 no such method, -32602 params
/// nested too deeply, -32603 answer too large or not valid, -32000 no provider, -32001 timeout,
/// -32002 interrupted. Other codes come from the method itself.
#[derive(JsonSchema)]
pub struct JsonRpcError {
    code: i64,
    message: String,
    #[schemars(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

/// `POST /mcp`: a message of the Model Context Protocol, or a batch in versions that have batches.
#[derive(JsonSchema)]
#[schemars(untagged, example = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))]
pub enum McpBody {
    One(JsonRpcRequest),
    Batch(Vec<JsonRpcRequest>),
}

/// MCP responses.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum McpResult {
    One(McpResponse),
    Batch(Vec<McpResponse>),
}

/// Has either `result` or `error`.
#[derive(JsonSchema)]
#[schemars(example = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}))]
pub struct McpResponse {
    #[schemars(extend("const" = "2.0"))]
    jsonrpc: String,
    #[schemars(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    error: Option<JsonRpcError>,
    /// Absent if the request had no valid id.
    #[schemars(skip_serializing_if = "Option::is_none")]
    id: Option<JsonRpcId>,
}
