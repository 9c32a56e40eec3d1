//! Stored `tool` scripts in the list of tools.

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser, error_code, eventually, fixture, method};

use super::{
    call, modern, modern_at,
    streams::{changed, listen, quiet},
    text, tool_names,
};
use crate::SOON;

async fn store(user: &TestUser, name: &str, owner: &str, source: &str) -> Value {
    let body = json!({
        "name": name, "kind": "tool", "owner": owner, "source": source, "description": format!("A {owner} script"),
        "params_schema": {"type": "object", "properties": {"a": {"type": "integer"}}},
    });
    user.post("/api/scripts", body).await.expect(201).json()
}

fn path(script: &Value) -> String {
    format!("/api/scripts/{}", script["id"].as_str().unwrap())
}

#[tokio::test]
async fn tool_scripts_are_in_the_list_of_tools() {
    let server = TestServer::start().await;
    let admin = server.admin().await;
    let (ann, ben) = (server.user("ann").await, server.user("ben").await);
    let (mut of_ann, mut of_ben) = (listen(&ann, "/mcp").await, listen(&ben, "/mcp").await);
    let own = "def main(params):\n    return {'own': params['a']}\n";
    let script = store(&ann, "math.double it", "user", own).await;
    changed(&mut of_ann).await;
    quiet(&mut of_ben).await;
    assert_eq!(tool_names(&ann).await, ["math_double_it"]);
    let listed = modern(&ann, "tools/list", json!({})).await;
    let tool = &listed["result"]["tools"][0];
    assert_eq!(tool["description"], "A user script");
    assert_eq!(
        tool["inputSchema"]["properties"]["a"],
        json!({"type": "integer"})
    );
    let called = call(&ann, "math_double_it", json!({"a": 7})).await;
    assert_eq!(called["structuredContent"], json!({"own": 7}));

    // A global tool is listed for all users. A user's own tool has priority.
    let global = "def main(params):\n    return 'global'\n";
    store(&admin, "math.double_it", "global", global).await;
    changed(&mut of_ben).await;
    quiet(&mut of_ann).await;
    assert_eq!(tool_names(&ben).await, ["math_double_it"]);
    assert_eq!(
        text(&call(&ben, "math_double_it", json!({})).await),
        "global"
    );
    let called = call(&ann, "math_double_it", json!({"a": 1})).await;
    assert_eq!(called["structuredContent"], json!({"own": 1}));

    // A new source takes effect at once, and a failure is returned as text.
    let failing = json!({"source": "def main(params):\n    raise ValueError('no such note')\n"});
    ann.patch(&path(&script), failing).await.expect(200);
    let failed = call(&ann, "math_double_it", json!({})).await;
    assert_eq!(failed["isError"], true);
    assert!(text(&failed).contains("no such note"), "{failed}");

    ann.delete(&path(&script)).await.expect(204);
    changed(&mut of_ann).await;
    assert_eq!(
        text(&call(&ann, "math_double_it", json!({})).await),
        "global"
    );
    let params = json!({"name": "math_double", "arguments": {}});
    let answer = modern_at(&ann, "/mcp", "tools/call", params).await.json();
    assert_eq!(error_code(&answer), -32602);
}

#[tokio::test]
async fn tool_scripts_are_listed_after_a_restart_and_beside_methods() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    store(&ann, "one", "user", "def main(params):\n    return 1\n").await;
    store(&ann, "two", "user", "def main(params):\n    return 2\n").await;
    server.restart().await;
    assert_eq!(tool_names(&ann).await, ["one", "two"]);
    // A method has priority over a script with the same tool name.
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().with(method("two", "pid").mcp_tool()))
        .await;
    eventually("the method is the tool", SOON, || async {
        text(&call(&ann, "two", json!({})).await) != "2"
    })
    .await;
    assert_eq!(text(&call(&ann, "one", json!({})).await), "1");
    // The command line reports the hidden script, even with a token that is only for `/mcp`.
    let scoped = ann.scoped(&["mcp"]).await;
    for user in [&ann, &scoped] {
        let listed = server.cli(user).run(&["mcp", "tools"]).await.expect(0);
        let expected = "the script `two` is not listed: the method `two` has the tool name `two`; rename the script";
        assert_eq!(listed.stderr.trim(), expected);
    }
}

#[tokio::test]
async fn tool_scripts_have_a_title_and_annotations() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let plain = store(&ann, "plain", "user", "def main(params):\n    return 1\n").await;
    assert_eq!(
        (&plain["title"], &plain["annotations"]),
        (&json!(null), &json!({}))
    );
    let new = json!({
        "name": "titled", "kind": "tool", "source": "def main(params):\n    return 2\n",
        "title": "With hints", "annotations": {"read_only": true, "open_world": null},
    });
    let script = ann.post("/api/scripts", new).await.expect(201).json();
    assert_eq!(script["annotations"], json!({"read_only": true}));

    // A merge patch changes one hint.
    let patch = json!({"annotations": {"destructive": false}});
    let patched = ann.patch(&path(&script), patch).await.expect(200).json();
    let both = json!({"read_only": true, "destructive": false});
    assert_eq!(patched["annotations"], both);
    assert_eq!(patched["title"], "With hints");
    server.restart().await;
    let listed = modern(&ann, "tools/list", json!({})).await;
    let tools = &listed["result"]["tools"];
    assert_eq!(tools[0].get("title"), None);
    assert_eq!(tools[0].get("annotations"), None);
    assert_eq!(tools[1]["title"], "With hints");
    let hints = json!({"readOnlyHint": true, "destructiveHint": false});
    assert_eq!(tools[1]["annotations"], hints);

    let cli = || server.cli(&ann);
    let update = [
        "script",
        "update",
        "titled",
        "--title",
        "New",
        "--annotations",
        "",
    ];
    cli().run(&update).await.expect(0);
    let stored = ann.get(&path(&script)).await.expect(200).json();
    assert_eq!(
        (&stored["title"], &stored["annotations"]),
        (&json!("New"), &json!({}))
    );
    let patch = json!({"title": null});
    let patched = ann.patch(&path(&script), patch).await.expect(200).json();
    assert_eq!(patched["title"], Value::Null);

    for wrong in [
        json!({"title": ""}),
        json!({"title": "x".repeat(257)}),
        json!({"annotations": {"safe": true}}),
        json!({"annotations": {"read_only": 1}}),
    ] {
        ann.patch(&path(&script), wrong).await.expect(400);
    }
    let library = json!({"name": "lib", "kind": "library", "source": "", "title": "No tool"});
    ann.post("/api/scripts", library).await.expect(400);
}
