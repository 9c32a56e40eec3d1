//! Methods as tools: names, schemas, results, errors (spec 4.1, "MCP projection").

use serde_json::{Value, json};
use svc_testkit::{
    Answer, MethodToml, RegistrationToml, TestServer, error_code, eventually, fixture, method,
    result,
};

use crate::{
    SOON,
    mcp::{
        call, legacy, modern, modern_at, names,
        streams::{changed, listen},
        text, tool_names,
    },
};

/// A tool that returns its arguments.
fn echo(name: &str) -> MethodToml {
    method(name, "echo").mcp_tool()
}

#[tokio::test]
async fn s4_1_tools_are_the_mcp_methods_that_the_user_sees() {
    let server = TestServer::start().await;
    server.groups(&["ops"]).await;
    let ann = server.user("ann").await;
    let ben = server.user("ben").await;
    let cat = server.user_with("cat", &["user"], &["ops"]).await;
    server.role("agent", &["use_mcp"]).await;
    let dan = server.user_with("dan", &["agent"], &[]).await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(echo("private.one"))
        .with(echo("shared.one").shared())
        .with(echo("{{space}}.ops").shared().groups(&["ops"]))
        .with(method("no.tool", "echo").shared());
    let _agent = space.publish(registration).await;
    assert_eq!(
        tool_names(&ann).await,
        ["lab_ops", "private_one", "shared_one"]
    );
    assert_eq!(tool_names(&ben).await, ["user_ann_shared_one"]);
    assert_eq!(
        tool_names(&cat).await,
        ["user_ann_lab_ops", "user_ann_shared_one"]
    );
    assert!(tool_names(&dan).await.is_empty());
    let called = call(&ben, "user_ann_shared_one", json!({"x": 1})).await;
    assert_eq!(called["structuredContent"], json!({"x": 1}));
    for hidden in [
        "user_ann_lab_ops",
        "user_ann_private_one",
        "shared_one",
        "user_ann_no_tool",
    ] {
        let params = json!({"name": hidden, "arguments": {}});
        let answer = modern_at(&ben, "/mcp", "tools/call", params)
            .await
            .expect(200);
        assert_eq!(error_code(&answer.json()), -32602, "{hidden}");
    }
}

#[tokio::test]
async fn titles_and_annotations_of_methods_reach_clients_of_both_eras() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let all = "{ read_only = false, destructive = true, idempotent = true, open_world = false }";
    let some = echo("some")
        .line("title", r#""Some hints""#)
        .line("annotations", "{ read_only = true }");
    let registration = fixture()
        .with(echo("all").line("annotations", all))
        .with(echo("none").line("annotations", "{}"))
        .with(some);
    let agent = space.publish(registration).await;
    let list = async || {
        let modern = modern(&ann, "tools/list", json!({})).await["result"]["tools"].take();
        let legacy = legacy(&ann, "tools/list", json!({})).await["result"]["tools"].take();
        assert_eq!(modern, legacy);
        modern
    };
    let tools = list().await;
    let hints = json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true,
        "openWorldHint": false});
    assert_eq!(tools[0]["annotations"], hints);
    assert_eq!(tools[0].get("title"), None);
    assert_eq!(tools[1].get("annotations"), None, "nothing is assumed");
    assert_eq!(tools[2]["title"], "Some hints");
    assert_eq!(tools[2]["annotations"], json!({"readOnlyHint": true}));

    // A change of an annotation is a change of the list.
    let mut changes = listen(&ann, "/mcp").await;
    let other = fixture().with(echo("all").line("annotations", "{ read_only = true }"));
    agent.register(other).await.expect(0);
    changed(&mut changes).await;
    assert_eq!(
        list().await[0]["annotations"],
        json!({"readOnlyHint": true})
    );
}

#[tokio::test]
async fn d1_spaces_with_different_titles_or_annotations_conflict() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (one, two) = (ann.space("one").await, ann.space("two").await);
    let described = |title: &str, read_only: bool| {
        fixture().with(
            echo("find")
                .line("title", json!(title))
                .line("annotations", format!("{{ read_only = {read_only} }}")),
        )
    };
    let _one = one.publish(described("Find", true)).await;
    let agent = two.agent().await;
    for other in [described("Search", true), described("Find", false)] {
        let refused = agent.register(other).await.expect(6);
        assert!(
            refused.stderr.contains("another definition"),
            "{}",
            refused.stderr
        );
    }
    agent.register(described("Find", true)).await.expect(0);
}

#[tokio::test]
async fn s4_1_own_tools_win_over_those_of_others_with_the_same_name() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let ben = server.user("ben").await;
    let (lab, home) = (ann.space("lab").await, ben.space("home").await);
    let others = fixture().with(echo("search").shared().description("Ann's"));
    let _lab = lab.publish(others).await;
    let own = fixture().with(
        method("user_ann_search", "pid")
            .mcp_tool()
            .description("Ben's"),
    );
    let _home = home.publish(own).await;
    let listed = modern(&ben, "tools/list", json!({})).await;
    let tools = result(&listed)["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0]["name"], "user_ann_search");
    assert_eq!(tools[0]["description"], "Ben's");
    assert!(
        text(&call(&ben, "user_ann_search", json!({})).await)
            .parse::<u32>()
            .is_ok()
    );
    // Ann's method is still callable as a method, and the log reports that its tool is hidden.
    let response = ben.call("user.ann.search", json!({"a": 1})).await;
    assert_eq!(result(&response), &json!({"a": 1}));
    tool_names(&ben).await;
    let log = server.log();
    assert_eq!(
        log.matches("the tool name `user_ann_search` is used by")
            .count(),
        1,
        "{log}"
    );
    let output = server.cli(&ben).run(&["mcp", "tools"]).await.expect(0);
    assert!(
        output.stderr.contains("user.ann.search"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn s4_1_schemas_are_safe_in_both_eras() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(echo("array").line("result_schema", r#"{type = "array"}"#))
        .with(echo("boolean").line("params_schema", "{properties = {a = true, b = false}}"))
        .with(echo("object").line(
            "result_schema",
            r#"{type = "object", properties = {a = {type = "integer"}}}"#,
        ))
        .with(echo("ugly").line(
            "result_schema",
            r#"{type = "object", "$id" = "urn:x", properties = {a = {pattern = "(?P<n>a)"}}}"#,
        ));
    let _agent = space.publish(registration).await;
    let of = |response: &Value, name: &str| {
        let tools = result(response)["tools"].as_array().unwrap().clone();
        tools.into_iter().find(|tool| tool["name"] == name).unwrap()
    };
    let (old, new) = (
        legacy(&ann, "tools/list", json!({})).await,
        modern(&ann, "tools/list", json!({})).await,
    );
    assert_eq!(names(result(&old)), names(result(&new)));
    assert_eq!(of(&new, "array")["outputSchema"], json!({"type": "array"}));
    assert_eq!(of(&old, "array").get("outputSchema"), None);
    for list in [&old, &new] {
        let object = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        assert_eq!(of(list, "object")["outputSchema"], object);
        assert_eq!(of(list, "ugly").get("outputSchema"), None);
        let input = json!({"type": "object", "properties": {"a": {}, "b": {"not": {}}}});
        assert_eq!(of(list, "boolean")["inputSchema"], input);
    }
    let refused = fixture().with(echo("list").line("params_schema", r#"{type = "array"}"#));
    let refused = ann
        .space("other")
        .await
        .agent()
        .await
        .register(refused)
        .await;
    refused.expect(6);
}

#[tokio::test]
async fn s4_1_results_and_errors_have_the_form_that_clients_read() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let promised = r#"{type = "object"}"#;
    let registration = fixture()
        .timeout(5)
        .with(echo("echo"))
        .with(method("add", "add").mcp_tool())
        .with(
            method("promise", "add")
                .mcp_tool()
                .line("result_schema", promised),
        )
        .with(
            method("any", "add")
                .mcp_tool()
                .line("result_schema", r#"{type = "integer"}"#),
        )
        .with(method("fail", "fail").mcp_tool())
        .with(method("sleep", "sleep").mcp_tool())
        .with(method("crash", "crash").mcp_tool());
    let mut agent = space.publish(registration).await;
    let sum = call(&ann, "add", json!({"a": 1, "b": 2})).await;
    assert_eq!((text(&sum), &sum["isError"]), ("3", &json!(false)));
    assert_eq!(sum.get("structuredContent"), None);
    let any = call(&ann, "any", json!({"a": 1, "b": 2})).await;
    assert_eq!(any["structuredContent"], 3);
    // A result that breaks its schema is an error of the method.
    assert_eq!(
        call(&ann, "promise", json!({"a": 1, "b": 2})).await["isError"],
        true
    );

    let ready = json!({
        "content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}],
        "isError": true, "structuredContent": {"a": 1}, "_meta": {"k": 1}, "other": 1,
    });
    let passed = call(&ann, "echo", ready.clone()).await;
    for key in ["content", "isError", "structuredContent"] {
        assert_eq!(passed[key], ready[key], "{key}");
    }
    assert_eq!(passed["_meta"]["k"], 1);
    assert_eq!(
        passed["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "svc"
    );
    assert_eq!(passed.get("other"), None);
    let data = json!({"content": ["no block"]});
    assert_eq!(
        call(&ann, "echo", data.clone()).await["structuredContent"],
        data
    );

    let error = json!({"code": 7, "message": "disk full", "data": {"free": 0}});
    let failed = call(&ann, "fail", error).await;
    assert_eq!(failed["isError"], true);
    assert_eq!(failed["content"][0]["text"], "disk full");
    assert_eq!(failed["content"][1]["text"], r#"{"free":0}"#);
    let late = call(&ann, "sleep", json!({"ms": 60_000})).await;
    assert_eq!(late["isError"], true);
    assert!(text(&late).contains("timed out"), "{late}");
    let crashed = call(&ann, "crash", json!({})).await;
    assert!(text(&crashed).contains("interrupted"), "{crashed}");
    agent.kill9();
    eventually("the link is lost", SOON, || async {
        text(&call(&ann, "echo", json!({})).await).contains("unavailable")
    })
    .await;
}

#[tokio::test]
async fn s4_1_a_removed_tool_is_unknown() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space
        .publish(fixture().with(echo("one")).with(echo("two")))
        .await;
    assert_eq!(tool_names(&ann).await, ["one", "two"]);
    agent.register(fixture().with(echo("two"))).await.expect(0);
    let params = json!({"name": "one", "arguments": {}});
    let answer = modern_at(&ann, "/mcp", "tools/call", params)
        .await
        .expect(200);
    assert_eq!(error_code(&answer.json()), -32602);
    assert_eq!(tool_names(&ann).await, ["two"]);
}

#[tokio::test]
async fn s4_1_long_lists_are_paged() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let mut agents = Vec::new();
    for (space, count) in [("a", 1_000), ("b", 10)] {
        let names = (0..count).map(|n| format!("{space}.t{n:04}"));
        let registration = names.fold(fixture(), |all, name| all.with(echo(&name)));
        agents.push(ann.space(space).await.publish(registration).await);
    }
    let first = modern(&ann, "tools/list", json!({})).await;
    let first = result(&first);
    assert_eq!(names(first).len(), 1_000);
    let cursor = first["nextCursor"].clone();
    let rest = modern(&ann, "tools/list", json!({ "cursor": cursor })).await;
    let rest = result(&rest);
    assert_eq!(rest.get("nextCursor"), None);
    let mut all = names(first);
    all.extend(names(rest));
    assert_eq!(all.len(), 1_010);
    assert!(all.is_sorted());
    let listed = server
        .cli(&ann)
        .run(&["mcp", "tools", "-o", "json"])
        .await
        .expect(0);
    assert_eq!(names(&listed.json()).len(), 1_010);
}

#[tokio::test]
async fn s4_1_a_client_that_disconnects_cancels_its_call() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration: RegistrationToml = fixture()
        .serial()
        .with(method("sleep", "sleep").mcp_tool())
        .with(method("push", "push").mcp_tool())
        .with(method("pushed", "pushed").mcp_tool());
    let agent = space.publish(registration).await;
    let start = |tool: &'static str, arguments: Value| {
        let ann = ann.clone();
        tokio::spawn(async move {
            let params = json!({"name": tool, "arguments": arguments});
            modern_at(&ann, "/mcp", "tools/call", params).await
        })
    };
    let slow: tokio::task::JoinHandle<Answer> = start("sleep", json!({"ms": 10, "until": "go"}));
    ann.wait_for_in_flight("sleep", 1).await;
    let queued = start("push", json!({"never": "sent"}));
    let is_queued = async |count: u64| agent.status().await["method_server"]["queued"] == count;
    eventually("the call is queued", SOON, || is_queued(1)).await;
    queued.abort();
    eventually("the call has left the queue", SOON, || is_queued(0)).await;
    // The method server is still busy, so the call was not sent.
    assert!(!slow.is_finished());
    space.write("go", "");
    slow.await.unwrap().expect(200);
    assert_eq!(text(&call(&ann, "pushed", json!({})).await), "[]");
}
