//! The whole output of the most used commands, errors included. `UPDATE_EXPECT=1 cargo verify
//! snapshots` updates the expected texts; review the difference before you commit it.

mod calls;
mod connection;
mod help;
mod records;

use expect_test::Expect;
use svc_testkit::{
    Cli, RegistrationToml, TestAgent, TestServer, TestSpace, TestUser, fixture, method,
};

/// Ann's space `lab`, whose agent publishes [`notes`]. The server is dropped last.
struct Lab {
    agent: TestAgent,
    space: TestSpace,
    ann: TestUser,
    server: TestServer,
}

impl Lab {
    async fn new() -> Self {
        let server = TestServer::start().await;
        let ann = server.user("ann").await;
        let space = ann.space("lab").await;
        let agent = space.publish(notes()).await;
        Self {
            agent,
            space,
            ann,
            server,
        }
    }

    async fn check(&self, args: &[&str], expected: Expect) {
        check(self.server.cli(&self.ann), args, expected).await;
    }
}

fn notes() -> RegistrationToml {
    let params =
        r#"{type = "object", properties = {text = {type = "string"}}, required = ["text"]}"#;
    let add = method("notes.add", "echo")
        .description("Adds a note")
        .shared()
        .keywords(&["notes"])
        .mcp_tool()
        .line("params_schema", params)
        .line("result_schema", r#"{type = "object"}"#);
    fixture()
        .timeout(5)
        .with(add)
        .with(method("notes.fail", "fail").description("Returns an error"))
        .with(method("notes.never", "never").description("Never returns"))
}

/// Runs a command and compares its whole output.
async fn check(svc: Cli, args: &[&str], expected: Expect) {
    // The width of help texts.
    let output = svc.env("COLUMNS", "100").run(args).await;
    expected.assert_eq(&output.transcript(args));
}
