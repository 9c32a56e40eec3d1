//! `/mcp?tools=search`: two tools that find and run the others.

use serde_json::{Value, json};
use svc_testkit::{TestServer, TestUser, error_code, fixture, method, result};

use crate::mcp::{modern_at, names, post, text};

const SEARCH: &str = "/mcp?tools=search";

async fn call(user: &TestUser, tool: &str, arguments: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let answer = modern_at(user, SEARCH, "tools/call", params).await;
    result(&answer.expect(200).json()).clone()
}

async fn find(user: &TestUser, query: &str) -> Vec<String> {
    let found = call(user, "tool_search", json!({ "query": query })).await;
    assert_eq!(found["isError"], false);
    let read: Value = serde_json::from_str(text(&found)).expect("the text is the same JSON");
    assert_eq!(read, found["structuredContent"]);
    names(&read)
}

#[tokio::test]
async fn search_mode_finds_and_runs_tools() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let tool = |name: &str, about: &str, words: &[&str]| {
        method(name, "echo")
            .mcp_tool()
            .description(about)
            .keywords(words)
    };
    let registration = fixture()
        .with(tool(
            "deploy.app",
            "Ships a version to the servers",
            &["release"],
        ))
        .with(tool("notes.find", "Looks through notes", &["search"]))
        .with(tool("search", "Anything at all", &[]))
        .with(tool("web.crawl", "Can search the web", &[]))
        .with(tool("tool.search", "Has the name of another", &[]));
    let _agent = space.publish(registration).await;

    let listed = modern_at(&ann, SEARCH, "tools/list", json!({}))
        .await
        .json();
    assert_eq!(names(result(&listed)), ["tool_search", "execute_tool"]);
    for tool in result(&listed)["tools"].as_array().unwrap() {
        assert!(tool["title"].is_string(), "{tool}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
    }
    let answer = modern_at(&ann, SEARCH, "tools/list", json!({"cursor": "x"}))
        .await
        .json();
    assert_eq!(error_code(&answer), -32602);

    // The order of the results: exact name, words of the name, keywords, description.
    assert_eq!(
        find(&ann, "search").await,
        ["search", "tool_search", "notes_find", "web_crawl"]
    );
    assert_eq!(find(&ann, "release").await, ["deploy_app"]);
    assert_eq!(find(&ann, "deploy_app").await[0], "deploy_app");
    assert!(find(&ann, "unheard xyzzy").await.is_empty());
    assert_eq!(find(&ann, "").await.len(), 5);
    let one = call(&ann, "tool_search", json!({"query": "search", "limit": 1})).await;
    assert_eq!(names(&one["structuredContent"]), ["search"]);
    assert_eq!(one["structuredContent"]["total"], 4, "the number of hits");
    let none = call(&ann, "tool_search", json!({"query": "xyzzy"})).await;
    assert_eq!(none["structuredContent"], json!({"tools": [], "total": 0}));
    let all = call(&ann, "tool_search", json!({"query": "", "limit": 2})).await;
    assert_eq!(names(&all["structuredContent"]).len(), 2);
    assert_eq!(all["structuredContent"]["total"], 5);
    assert_eq!(
        one["structuredContent"]["tools"][0]["inputSchema"],
        json!({"type": "object"})
    );

    let run = json!({"name": "deploy_app", "arguments": {"v": 1}});
    assert_eq!(
        call(&ann, "execute_tool", run).await["structuredContent"],
        json!({"v": 1})
    );
    // A tool whose name equals that of a search tool can be run too.
    let run = json!({"name": "tool_search", "arguments": {"v": 2}});
    assert_eq!(
        call(&ann, "execute_tool", run).await["structuredContent"],
        json!({"v": 2})
    );
    for wrong in [
        json!({"name": "nothing"}),
        json!({}),
        json!({"name": "search", "arguments": 1}),
    ] {
        assert_eq!(
            call(&ann, "execute_tool", wrong.clone()).await["isError"],
            true,
            "{wrong}"
        );
    }
    for limit in [
        json!(0),
        json!(-1),
        json!(51),
        json!(2.5),
        json!(1e300),
        json!("b"),
    ] {
        let refused = call(&ann, "tool_search", json!({"query": "a", "limit": limit})).await;
        assert_eq!(refused["isError"], true, "{limit}");
        let expected = "`limit` must be an integer from 1 to 50";
        assert_eq!(text(&refused), expected);
    }
    for wrong in [json!({"query": 1}), json!({"query": ["a"]})] {
        assert_eq!(
            call(&ann, "tool_search", wrong.clone()).await["isError"],
            true,
            "{wrong}"
        );
    }
    // `tools/call` reaches the two search tools only.
    let params = json!({"name": "deploy_app", "arguments": {}});
    let answer = modern_at(&ann, SEARCH, "tools/call", params).await.json();
    assert_eq!(error_code(&answer), -32602);
    // Legacy clients get the same list.
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let listed = post(&ann, SEARCH, &[], list).await.expect(200).json();
    assert_eq!(names(result(&listed)).len(), 2);
}
