//! `POST /mcp` in both eras, and what all tests of it speak with.

use std::fmt::Display;

use serde_json::{Value, json};
use svc_testkit::{
    Answer, TestAgent, TestServer, TestSpace, TestUser, error_code, fixture, method, result,
};

pub const MODERN: &str = "2026-07-28";
pub const LEGACY: &str = "2025-11-25";

/// A body as it is, with these headers beside the user's token.
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

/// Calls a tool; its result.
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

/// A server, and a user who publishes a tool `echo`.
pub async fn with_echo() -> (TestServer, TestUser, (TestAgent, TestSpace)) {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture().with(method("notes.echo", "echo").mcp_tool());
    let agent = space.publish(registration).await;
    (server, ann, (agent, space))
}

#[tokio::test]
async fn mcp_modern_discover_list_and_call() {
    let (_server, ann, _agent) = with_echo().await;
    let discovered = modern(&ann, "server/discover", json!({})).await;
    let discovered = result(&discovered);
    assert_eq!(discovered["resultType"], "complete");
    assert_eq!(discovered["supportedVersions"][0], MODERN);
    assert_eq!(
        discovered["capabilities"],
        json!({"tools": {"listChanged": true}})
    );
    assert_eq!(discovered["cacheScope"], "private");
    assert!(discovered["ttlMs"].is_u64());

    let listed = modern(&ann, "tools/list", json!({})).await;
    let listed = result(&listed);
    assert_eq!(listed["resultType"], "complete");
    assert_eq!(listed["cacheScope"], "private");
    assert!(listed["ttlMs"].is_u64());
    assert_eq!(
        listed["tools"],
        json!([{
            "name": "notes_echo",
            "description": "Does echo",
            "inputSchema": {"type": "object"},
        }])
    );

    let arguments = json!({"b": 1, "a": [2]});
    let called = call(&ann, "notes_echo", arguments.clone()).await;
    assert_eq!(called["resultType"], "complete");
    assert_eq!(called["isError"], false);
    assert_eq!(called["structuredContent"], arguments);
    assert_eq!(text(&called), arguments.to_string());
}

#[tokio::test]
async fn mcp_legacy_initialize_ping_list_and_call() {
    let (_server, ann, _agent) = with_echo().await;
    for (asked, answered) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2026-07-28", "2025-11-25"),
        ("nonsense", "2025-11-25"),
    ] {
        let params = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {}});
        let body = json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params});
        let answer = post(&ann, "/mcp", &[], body).await.expect(200);
        assert_eq!(answer.header("mcp-session-id"), None);
        let response = answer.json();
        assert_eq!(response["id"], "i");
        let initialized = result(&response);
        assert_eq!(initialized["protocolVersion"], answered);
        assert_eq!(
            initialized["capabilities"],
            json!({"tools": {"listChanged": true}})
        );
        assert_eq!(initialized["serverInfo"]["name"], "svc");
    }
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let accepted = post(&ann, "/mcp", &[("mcp-protocol-version", LEGACY)], notice).await;
    assert_eq!(accepted.expect(202).body.len(), 0);
    assert_eq!(result(&legacy(&ann, "ping", json!({})).await), &json!({}));
    let listed = legacy(&ann, "tools/list", json!({})).await;
    assert_eq!(names(result(&listed)), ["notes_echo"]);
    assert_eq!(result(&listed).get("resultType"), None);
    let params = json!({"name": "notes_echo", "arguments": {"a": 1}});
    let called = legacy(&ann, "tools/call", params).await;
    assert_eq!(result(&called)["structuredContent"], json!({"a": 1}));
    for unknown in ["prompts/list", "resources/list", "server/unknown"] {
        assert_eq!(error_code(&legacy(&ann, unknown, json!({})).await), -32601);
    }
}

#[tokio::test]
async fn mcp_batches_exist_in_one_version_only() {
    let (_server, ann, _agent) = with_echo().await;
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "notes_echo", "arguments": {"n": 1}}},
        {"jsonrpc": "2.0", "id": 3, "method": "nowhere"},
    ]);
    for headers in [&[][..], &[("mcp-protocol-version", "2025-03-26")]] {
        let answers = post(&ann, "/mcp", headers, &batch).await.expect(200).json();
        let ids: Vec<_> = answers
            .as_array()
            .unwrap()
            .iter()
            .map(|a| &a["id"])
            .collect();
        assert_eq!(ids, [1, 2, 3]);
        assert_eq!(answers[1]["result"]["structuredContent"]["n"], 1);
        assert_eq!(error_code(&answers[2]), -32601);
    }
    for version in [LEGACY, "2025-06-18", MODERN] {
        let headers = [("mcp-protocol-version", version)];
        let answer = post(&ann, "/mcp", &headers, &batch).await.expect(400);
        assert_eq!(error_code(&answer.json()), -32600);
    }
    let only_notices = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    post(&ann, "/mcp", &[], only_notices).await.expect(202);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let too_many = post(&ann, "/mcp", &[], json!(vec![ping; 101]))
        .await
        .expect(400);
    assert_eq!(error_code(&too_many.json()), -32600);
}

#[tokio::test]
async fn mcp_ids_and_arguments_stay_as_they_were() {
    let (_server, ann, _agent) = with_echo().await;
    for id in ["9007199254740993", r#""a\u0041""#, "-1"] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"notes_echo","arguments":{{"b":1.50,"a":9007199254740993}}}}}}"#
        );
        let answer = post(&ann, "/mcp", &[], body).await.expect(200).text();
        assert!(answer.contains(&format!(r#""id":{id},"#)), "{answer}");
        let structured = r#""structuredContent":{"b":1.50,"a":9007199254740993}"#;
        assert!(answer.contains(structured), "{answer}");
    }
    // No arguments are none.
    let params = json!({"name": "notes_echo"});
    let called = legacy(&ann, "tools/call", params).await;
    assert_eq!(result(&called)["structuredContent"], json!({}));
}

#[tokio::test]
async fn mcp_a_permission_and_a_scope_open_it() {
    let (server, ann, _agent) = with_echo().await;
    server.role("caller", &["use_methods"]).await;
    let ben = server.user_with("ben", &["caller"], &[]).await;
    let insufficient = r#"Bearer realm="svc", error="insufficient_scope", scope="mcp""#;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for denied in [ben, ann.scoped(&["methods"]).await] {
        let answer = post(&denied, "/mcp", &[], &ping).await.expect(403);
        assert_eq!(answer.header("www-authenticate"), Some(insufficient));
    }
    post(&ann.scoped(&["mcp"]).await, "/mcp", &[], &ping)
        .await
        .expect(200);
    let unknown = post(&ann.with_token("svc_pat_0123456789"), "/mcp", &[], &ping).await;
    assert_eq!(
        unknown.expect(401).header("www-authenticate"),
        Some(r#"Bearer realm="svc", error="invalid_token""#)
    );
    for path in [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
    ] {
        let answer = server
            .http()
            .request("GET", path, &[], "")
            .await
            .expect(404);
        assert_eq!(answer.json()["status"], 404);
    }
}
