//! Bad input to `/mcp`: the exact codes, never a hang.

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser, error_code, fixture, method};

use crate::mcp::{
    LEGACY, MODERN, call, legacy, meta, modern, modern_at, modern_body, post, with_echo,
};

async fn refused(user: &TestUser, headers: &[(&str, &str)], body: Value, status: u16) -> Value {
    post(user, "/mcp", headers, body)
        .await
        .expect(status)
        .json()
}

#[tokio::test]
async fn bodies_that_are_not_a_message_are_refused() {
    let (_server, ann, _agent) = with_echo().await;
    for headers in [
        &[][..],
        &[("mcp-protocol-version", MODERN), ("mcp-method", "ping")],
    ] {
        for (body, code) in [
            ("", -32700),
            ("{", -32700),
            ("nope", -32700),
            ("7", -32600),
            (r#""text""#, -32600),
            ("{}", -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
            (r#"{"id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#,
                -32600,
            ),
            ("[]", -32600),
        ] {
            let answer = post(&ann, "/mcp", headers, body).await.expect(400).json();
            assert_eq!(error_code(&answer), code, "{body}");
        }
    }
    let wrong_type = ann
        .request("POST", "/mcp")
        .header("content-type", "text/plain");
    let answer = ann
        .http()
        .send(wrong_type.body(Default::default()).unwrap())
        .await;
    assert_eq!(answer.expect(415).code(), "unsupported_media_type");
}

#[tokio::test]
async fn modern_headers_must_match_the_body() {
    let (_server, ann, _agent) = with_echo().await;
    let list = modern_body("tools/list", json!({}));
    let version = ("mcp-protocol-version", MODERN);
    let listing = ("mcp-method", "tools/list");
    let unsupported = refused(
        &ann,
        &[("mcp-protocol-version", "2099-01-01"), listing],
        {
            let mut list = list.clone();
            list["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] =
                json!("2099-01-01");
            list
        },
        400,
    )
    .await;
    assert_eq!(error_code(&unsupported), -32022);
    assert_eq!(unsupported["error"]["data"]["requested"], "2099-01-01");
    assert_eq!(unsupported["error"]["data"]["supported"][0], MODERN);
    assert_eq!(unsupported["id"], 1);

    let mismatches: &[&[(&str, &str)]] = &[
        // Headers that are missing, do not match the body, or occur twice.
        &[listing],
        &[("mcp-protocol-version", LEGACY), listing],
        &[("mcp-protocol-version", "2099-01-01"), listing],
        &[version, version, listing],
        &[version],
        &[version, ("mcp-method", "tools/call")],
        &[version, listing, listing],
    ];
    for headers in mismatches {
        let answer = refused(&ann, headers, list.clone(), 400).await;
        assert_eq!(error_code(&answer), -32020, "{headers:?}");
    }
    // An unknown version, from a client that sends nothing else about itself.
    let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let answer = refused(
        &ann,
        &[("mcp-protocol-version", "2099-01-01")],
        bare.clone(),
        400,
    )
    .await;
    assert_eq!(error_code(&answer), -32022);
    let answer = refused(&ann, &[version, listing], bare, 400).await;
    assert_eq!(error_code(&answer), -32602);
    for missing in [
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
    ] {
        let mut list = list.clone();
        list["params"]["_meta"]
            .as_object_mut()
            .unwrap()
            .remove(missing);
        let answer = refused(&ann, &[version, listing], list, 400).await;
        assert_eq!(error_code(&answer), -32602, "{missing}");
    }
    for (key, value) in [
        ("io.modelcontextprotocol/protocolVersion", json!(7)),
        ("io.modelcontextprotocol/clientCapabilities", json!([])),
    ] {
        let mut list = list.clone();
        list["params"]["_meta"][key] = value;
        let answer = refused(&ann, &[version, listing], list, 400).await;
        assert_eq!(error_code(&answer), -32602, "{key}");
    }
    let discover = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover"});
    let answer = refused(&ann, &[], discover, 400).await;
    assert_eq!(error_code(&answer), -32020);
}

#[tokio::test]
async fn modern_names_in_headers_are_plain_or_encoded() {
    let (_server, ann, _agent) = with_echo().await;
    let body = modern_body("tools/call", json!({"name": "notes_echo", "arguments": {}}));
    let send = async |names: &[&str]| {
        let mut headers = vec![
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "tools/call"),
        ];
        headers.extend(names.iter().map(|name| ("mcp-name", *name)));
        post(&ann, "/mcp", &headers, &body).await
    };
    send(&["notes_echo"]).await.expect(200);
    // `notes_echo` in base64.
    send(&["=?base64?bm90ZXNfZWNobw==?="]).await.expect(200);
    for names in [
        &[][..],
        &["other"],
        &["notes_echo", "notes_echo"],
        &["=?base64?!?="],
        &["=?BASE64?bm90ZXNfZWNobw==?="],
    ] {
        let answer = send(names).await.expect(400).json();
        assert_eq!(error_code(&answer), -32020, "{names:?}");
    }
}

#[tokio::test]
async fn arguments_that_a_schema_requires_in_headers_must_match() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let schema =
        r#"{type = "object", properties = {region = {type = "string", x-mcp-header = "Region"}}}"#;
    let bad = r#"{type = "object", properties = {n = {type = "number", x-mcp-header = "N"}}}"#;
    let registration = fixture()
        .with(
            method("run", "echo")
                .mcp_tool()
                .line("params_schema", schema),
        )
        .with(method("odd", "echo").mcp_tool().line("params_schema", bad));
    let _agent = space.publish(registration).await;
    let send = async |region: Option<&str>, arguments: Value| {
        let mut headers = vec![
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "tools/call"),
            ("mcp-name", "run"),
        ];
        headers.extend(region.map(|region| ("mcp-param-region", region)));
        let body = modern_body("tools/call", json!({"name": "run", "arguments": arguments}));
        post(&ann, "/mcp", &headers, body).await
    };
    send(Some("us"), json!({"region": "us"})).await.expect(200);
    send(Some("=?base64?w6k=?="), json!({"region": "é"}))
        .await
        .expect(200);
    send(None, json!({})).await.expect(200);
    send(None, json!({"region": null})).await.expect(200);
    for (header, arguments) in [
        (None, json!({"region": "us"})),
        (Some("eu"), json!({"region": "us"})),
        (Some("us"), json!({})),
    ] {
        let answer = send(header, arguments).await.expect(400).json();
        assert_eq!(error_code(&answer), -32020, "{header:?}");
    }
    // `odd` asks for a header with a `number`, which is not allowed: the list leaves out
    // `x-mcp-header`, and the tool is still listed.
    let listed = modern(&ann, "tools/list", json!({})).await;
    assert_eq!(
        listed["result"]["tools"][0]["inputSchema"]["properties"]["n"],
        json!({"type": "number"})
    );
    assert_eq!(call(&ann, "odd", json!({"n": 1})).await["isError"], false);
}

#[tokio::test]
async fn unknown_methods_tools_and_cursors_are_refused() {
    let (_server, ann, _agent) = with_echo().await;
    for unknown in ["ping", "initialize", "prompts/list", "nowhere"] {
        let answer = modern_at(&ann, "/mcp", unknown, json!({}))
            .await
            .expect(404);
        assert_eq!(error_code(&answer.json()), -32601, "{unknown}");
    }
    let notice = json!({"jsonrpc": "2.0", "method": "nowhere", "params": {"_meta": meta()}});
    post(&ann, "/mcp", &[("mcp-protocol-version", MODERN)], notice)
        .await
        .expect(202);
    for params in [
        json!({"name": "nothing"}),
        json!({"name": "notes.echo"}),
        json!({"name": "notes_echo", "arguments": []}),
        json!({"name": "notes_echo", "arguments": "x"}),
    ] {
        let answer = modern_at(&ann, "/mcp", "tools/call", params.clone())
            .await
            .expect(200);
        assert_eq!(error_code(&answer.json()), -32602, "{params}");
        assert_eq!(
            error_code(&legacy(&ann, "tools/call", params).await),
            -32602
        );
    }
    assert_eq!(
        error_code(&legacy(&ann, "tools/call", json!({})).await),
        -32602
    );
    assert_eq!(
        error_code(&legacy(&ann, "tools/call", json!({"name": 7})).await),
        -32602
    );
    for cursor in [
        json!("nonsense"),
        json!(""),
        json!("!!!"),
        json!(7),
        json!("YWZ0ZXI"),
    ] {
        let params = json!({"cursor": cursor});
        let answer = modern_at(&ann, "/mcp", "tools/list", params.clone())
            .await
            .expect(200);
        assert_eq!(error_code(&answer.json()), -32602, "{params}");
        assert_eq!(
            error_code(&legacy(&ann, "tools/list", params).await),
            -32602
        );
    }
    let null = legacy(&ann, "tools/list", json!({"cursor": null})).await;
    assert_eq!(null["result"]["tools"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn pages_of_other_origins_are_refused() {
    let (server, ann, _agent) = with_echo().await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let own = server.url().to_owned();
    let port = server.address().port();
    let send =
        async |name: &str, value: &str| post(&ann, "/mcp", &[(name, value)], &ping).await.status;
    assert_eq!(send("origin", &own).await, 200);
    assert_eq!(send("origin", "http://localhost:3000").await, 200);
    for foreign in [
        "https://elsewhere.example",
        "null",
        "garbage",
        "file://x",
        &format!("http://127.0.0.1.elsewhere.example:{port}"),
    ] {
        assert_eq!(send("origin", foreign).await, 403, "{foreign}");
    }
    // A foreign name that resolves to this machine.
    assert_eq!(
        send("host", &format!("elsewhere.example:{port}")).await,
        403
    );
    assert_eq!(send("host", &format!("localhost:{port}")).await, 200);
}

#[tokio::test]
async fn other_http_methods_are_refused() {
    let (_server, ann, _agent) = with_echo().await;
    let send = async |verb: &str, headers: &[(&str, &str)]| {
        let mut request = ann.request(verb, "/mcp");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        ann.http()
            .send(request.body(Default::default()).unwrap())
            .await
            .status
    };
    let events = ("accept", "text/event-stream");
    assert_eq!(
        send("GET", &[events, ("mcp-protocol-version", MODERN)]).await,
        405
    );
    assert_eq!(send("GET", &[("accept", "application/json")]).await, 406);
    assert_eq!(send("GET", &[]).await, 406);
    assert_eq!(send("DELETE", &[]).await, 405);
    assert_eq!(send("PUT", &[]).await, 405);
    assert_eq!(
        post(&ann, "/mcp?tools=some", &[], "{}")
            .await
            .expect(400)
            .code(),
        "invalid_query"
    );
}
