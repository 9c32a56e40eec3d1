//! `/mcp` tested by independent judges: the official conformance suite and public clients. See
//! `tests/judges`.

pub mod ugly;

use std::fs;

use serde_json::{Value, json};
use svc_testkit::{
    TestAgent, TestServer, TestSpace, TestUser, fixture, fixture_method_server, method, svc_program,
};

use crate::judge::{Judge, source};

/// A tool that is added and removed; see [`Site::publish_what_changes`].
const CHANGING: &str = "changing";

/// Ann, whose tools the judges see, and Ben, who shares methods with her.
struct Site {
    /// Whether the judges connect through `svc mcp stdio`.
    over_stdio: bool,
    ann: TestUser,
    ben: TestUser,
    agents: Vec<(TestAgent, TestSpace)>,
    server: TestServer,
}

/// Publishes a tool `echo` of this user.
pub async fn publish_tools(user: &TestUser) -> TestAgent {
    let space = user.space("tools").await;
    space
        .publish(fixture().with(method("echo", "echo").mcp_tool()))
        .await
}

impl Site {
    async fn start() -> Self {
        let server = TestServer::start().await;
        let (ann, ben) = (server.user("ann").await, server.user("ben").await);
        let mut site = Self {
            over_stdio: false,
            ann,
            ben,
            agents: Vec::new(),
            server,
        };
        let trigger = site.publish_what_changes().await;
        let space = site.ann.space("tools").await;
        for file in ["server.py", "methods.toml"] {
            fs::copy(source("fixture").join(file), space.folder().join(file)).unwrap();
        }
        space.write("trigger.json", &trigger.to_string());
        let agent = space.agent().await;
        agent
            .cli()
            .run(&["methods", "register", "methods.toml"])
            .await
            .expect(0);
        site.agents.push((agent, space));
        site
    }

    /// Publishes Ann's space `changing`. Returns the command with which the fixture changes the
    /// registration of this space.
    async fn publish_what_changes(&mut self) -> Value {
        let space = self.ann.space("changing").await;
        let without = fixture().plain("no_tool");
        let with = without.clone().with(method(CHANGING, "echo").mcp_tool());
        space.write("with.toml", &with.to_string());
        space.write("without.toml", &without.to_string());
        let agent = space.publish(without).await;
        let trigger = json!({
            "register": [svc_program(), "methods", "register"],
            "folder": space.folder(),
            "env": {"HOME": space.folder()},
        });
        self.agents.push((agent, space));
        trigger
    }

    /// Ben shares every unusual method with all users.
    async fn publish_ugly(&mut self) {
        let methods: Vec<_> = ugly::schemas()
            .into_iter()
            .map(|(name, params_schema, result_schema)| {
                let mut method = json!({
                    "name": name, "local_name": "echo", "description": "Says \u{0}\u{202e}\n```",
                    "scope": "shared", "mcp_tool": true,
                });
                for (key, schema) in [
                    ("params_schema", params_schema),
                    ("result_schema", result_schema),
                ] {
                    if !schema.is_null() {
                        method[key] = schema;
                    }
                }
                method
            })
            .collect();
        let space = self.ben.space("ugly").await;
        let agent = space.agent().await;
        let body = json!({
            "path": space.folder().join("methods.toml"),
            "registration": {
                "version": 1, "server": {"command": fixture_method_server()}, "methods": methods,
            },
        });
        let json = [("content-type", "application/json")];
        let socket = agent.socket().await;
        socket
            .request("POST", "/registration", &json, body.to_string())
            .await
            .expect(200);
        self.agents.push((agent, space));
    }

    /// Runs a judge as Ann, with a token for `/mcp` alone; returns its stdout.
    async fn ask(&self, judge: &Judge) -> Option<Vec<String>> {
        let ann = self.ann.scoped(&["mcp"]).await;
        let url = format!("{}/mcp", self.server.url());
        let program = svc_program();
        let mut variables = vec![("MCP_URL", url.as_str()), ("MCP_TOKEN", &ann.token)];
        if self.over_stdio {
            variables.push(("MCP_STDIO", program.to_str().unwrap()));
        }
        judge.ask(&self.server, &variables).await
    }

    /// The report of a client: its last line, which is JSON.
    async fn seen_by(&self, client: &Judge) -> Option<Value> {
        let said = self.ask(client).await?;
        let line = said.last().expect("a client prints a report");
        Some(serde_json::from_str(line).unwrap())
    }
}

/// Ann's tools without the changing one, in their order.
fn own(seen: &Value) -> Vec<&Value> {
    let tools = seen["tools"].as_array().unwrap();
    tools
        .iter()
        .filter(|tool| !is_bens(tool) && tool["name"] != CHANGING)
        .collect()
}

fn is_bens(tool: &Value) -> bool {
    tool["name"].as_str().unwrap().starts_with("user_ben_")
}

fn names<'a>(tools: impl IntoIterator<Item = &'a Value>, key: &str) -> Vec<String> {
    let mut names: Vec<_> = tools
        .into_iter()
        .filter_map(|tool| tool[key].as_str().map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// A client lists and calls Ann's tools. After Ben has shared his tools, the client must list Ann's
/// tools unchanged.
async fn is_content(client: Judge, protocol: &str) {
    is_content_over(client, protocol, false).await;
}

async fn is_content_over(client: Judge, protocol: &str, over_stdio: bool) {
    if client.install().is_none() {
        return;
    }
    let mut site = Site::start().await;
    site.over_stdio = over_stdio;
    let expected = names(&site.ann.methods().await, "mcp_tool_name");
    assert!(expected.contains(&"dotted_name_plain".to_owned()));
    let alone = site.seen_by(&client).await.unwrap();
    assert_eq!(alone["protocol"], protocol);
    assert_eq!(names(own(&alone), "name"), expected);

    site.publish_ugly().await;
    let beside = site.seen_by(&client).await.unwrap();
    assert_eq!(
        own(&beside),
        own(&alone),
        "schemas of another user change nothing"
    );
    let bens = beside["tools"].as_array().unwrap();
    let bens = bens.iter().filter(|tool| is_bens(tool)).count();
    assert_eq!(bens, ugly::schemas().len(), "Ben's tools are listed too");
}

#[tokio::test]
async fn python_mcp_1() {
    is_content(Judge::Python("mcp1"), "2025-11-25").await;
}

#[tokio::test]
async fn python_mcp_2() {
    is_content(Judge::Python("mcp2"), "2026-07-28").await;
}

#[tokio::test]
async fn python_fastmcp_4() {
    is_content(Judge::Python("fastmcp4"), "2026-07-28").await;
}

#[tokio::test]
async fn typescript_sdk_1() {
    is_content(Judge::Node("sdk1.mjs", &[]), "2025-11-25").await;
}

#[tokio::test]
async fn typescript_client_2() {
    is_content(Judge::Node("client2.mjs", &[]), "2025-11-25").await;
}

#[tokio::test]
async fn typescript_client_2_that_negotiates() {
    is_content(Judge::Node("client2.mjs", &["auto"]), "2026-07-28").await;
}

#[tokio::test]
async fn python_mcp_2_over_stdio() {
    is_content_over(Judge::Python("mcp2"), "2026-07-28", true).await;
}

#[tokio::test]
async fn typescript_sdk_1_over_stdio() {
    is_content_over(Judge::Node("sdk1.mjs", &[]), "2025-11-25", true).await;
}

#[tokio::test]
async fn inspector_strict() {
    is_content(Judge::Node("inspector.mjs", &["legacy"]), "legacy").await;
}

#[tokio::test]
async fn inspector_strict_in_the_modern_era() {
    is_content(Judge::Node("inspector.mjs", &["modern"]), "modern").await;
}

async fn conforms(revision: &'static [&'static str; 1]) {
    let suite = Judge::Node("conformance.mjs", revision);
    if suite.install().is_some() {
        Site::start().await.ask(&suite).await;
    }
}

#[tokio::test]
async fn conformance_2025_11_25() {
    conforms(&["2025-11-25"]).await;
}

#[tokio::test]
async fn conformance_2026_07_28() {
    conforms(&["2026-07-28"]).await;
}
