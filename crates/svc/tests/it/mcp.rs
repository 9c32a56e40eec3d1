//! MCP (spec 4.1, "MCP projection"): tools, eras, streams, clients. This file holds the requests
//! that all of these tests make.

mod cancellation;
mod cli;
mod eras;
mod errors;
pub mod judges;
mod progress;
mod scripts;
mod search;
mod stdio;
pub mod streams;
mod tools;

use std::fmt::Display;

use serde_json::{Value, json};
use svc_testkit::{Answer, TestAgent, TestServer, TestSpace, TestUser, fixture, method, result};

/// A protocol version of the modern era, whose requests carry `_meta`, and one of the legacy era.
pub const MODERN: &str = "2026-07-28";
pub const LEGACY: &str = "2025-11-25";

/// Sends a body unchanged, with these headers and the user's token.
pub async fn post(
    user: &TestUser,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Display,
) -> Answer {
    let mut request = user
        .request("POST", path)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request
        .body(body.to_string().into())
        .expect("a test's request is well-formed");
    user.http().send(request).await
}

/// `_meta` of a modern request.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// The body of a modern request.
pub fn modern_body(method: &str, mut params: Value) -> Value {
    params["_meta"] = meta();
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

/// A modern request as a client makes it.
pub async fn modern_at(user: &TestUser, path: &str, method: &str, params: Value) -> Answer {
    let name = params["name"].as_str().map(str::to_owned);
    let mut headers = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
    headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
    post(user, path, &headers, modern_body(method, params)).await
}

pub async fn modern(user: &TestUser, method: &str, params: Value) -> Value {
    modern_at(user, "/mcp", method, params).await.json()
}

pub async fn legacy(user: &TestUser, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    post(user, "/mcp", &[("mcp-protocol-version", LEGACY)], body)
        .await
        .expect(200)
        .json()
}

/// Calls a tool; returns its result.
pub async fn call(user: &TestUser, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let response = modern(user, "tools/call", params).await;
    result(&response).clone()
}

/// Names of the tools a user sees.
pub async fn tool_names(user: &TestUser) -> Vec<String> {
    let response = modern(user, "tools/list", json!({})).await;
    names(result(&response))
}

pub fn names(list: &Value) -> Vec<String> {
    let tools = list["tools"].as_array().cloned().unwrap_or_default();
    let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
    tools.iter().map(name).collect()
}

/// The text of a result's only block.
#[track_caller]
pub fn text(result: &Value) -> &str {
    assert_eq!(
        result["content"].as_array().map(Vec::len),
        Some(1),
        "{result}"
    );
    result["content"][0]["text"].as_str().expect("a text block")
}

/// A server, and a user who publishes the method `notes.echo` as a tool.
pub async fn with_echo() -> (TestServer, TestUser, (TestAgent, TestSpace)) {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture().with(method("notes.echo", "echo").mcp_tool());
    let agent = space.publish(registration).await;
    (server, ann, (agent, space))
}
