//! `POST /mcp` in both eras.

use serde_json::json;
use svc_testkit::{error_code, result};

use super::{LEGACY, MODERN, call, legacy, modern, names, post, text, with_echo};

#[tokio::test]
async fn s4_1_modern_discover_list_and_call() {
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
async fn s4_1_legacy_initialize_ping_list_and_call() {
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
async fn batches_exist_in_one_version_only() {
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
async fn ids_and_arguments_pass_unchanged() {
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
    // Missing arguments are an empty object.
    let params = json!({"name": "notes_echo"});
    let called = legacy(&ann, "tools/call", params).await;
    assert_eq!(result(&called)["structuredContent"], json!({}));
}

#[tokio::test]
async fn s5_mcp_needs_its_permission_and_its_scope() {
    let (server, ann, _agent) = with_echo().await;
    server.role("caller", &["use_methods"]).await;
    let ben = server.user_with("ben", &["caller"], &[]).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let limited = ann.scoped(&["methods"]).await;
    let answer = post(&limited, "/mcp", &[], &ping).await.expect(403);
    let challenge = answer.header("www-authenticate").unwrap();
    let insufficient = r#"Bearer realm="svc", error="insufficient_scope", resource_metadata=""#;
    assert!(challenge.starts_with(insufficient), "{challenge}");
    assert!(challenge.ends_with(r#", scope="mcp""#), "{challenge}");
    // Another scope would not help a user without the permission.
    let answer = post(&ben, "/mcp", &[], &ping).await.expect(403);
    assert_eq!(answer.header("www-authenticate"), None);
    post(&ann.scoped(&["mcp"]).await, "/mcp", &[], &ping)
        .await
        .expect(200);
    let unknown = post(&ann.with_token("svc_pat_0123456789"), "/mcp", &[], &ping).await;
    let unknown = unknown.expect(401);
    let challenge = unknown.header("www-authenticate").unwrap();
    let invalid = r#"Bearer realm="svc", error="invalid_token", resource_metadata=""#;
    assert!(challenge.starts_with(invalid), "{challenge}");
}
