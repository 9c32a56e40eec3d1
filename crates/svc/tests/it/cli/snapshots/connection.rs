//! Credentials, and servers that cannot be reached.

use expect_test::expect;
use svc_testkit::{Cli, TempDir, TestServer};

use super::check;

/// An address without a server.
const NOWHERE: &str = "http://127.0.0.1:9";

#[tokio::test]
async fn s4_3_whoami() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    check(
        server.cli(&ann),
        &["whoami"],
        expect![[r#"
        $ svc whoami
        user:         ann
        id:           xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
        server:       http://127.0.0.1:99999
        through:      SVC_URL and SVC_TOKEN
        credential:   token
        scopes:       -
        space:        -
        roles:        user
        groups:       -
        permissions:  use_spaces, use_methods, use_mcp, manage_own_event_sinks
        --- exit 0
    "#]],
    )
    .await;
    let scoped = ann.scoped(&["methods"]).await;
    check(
        server.cli(&scoped),
        &["whoami"],
        expect![[r#"
        $ svc whoami
        --- stderr
        error: this token is limited to `methods` and does not reach GET /api/auth/me
        hint: use a token without scopes: svc token create <name>
        --- exit 4
    "#]],
    )
    .await;
}

#[tokio::test]
async fn s4_3_commands_without_a_server() {
    let home = TempDir::new().unwrap();
    let svc = || Cli::new(home.path());
    check(svc(), &["whoami"], expect![[r#"
        $ svc whoami
        --- stderr
        error: no server is configured
          there is no current context, SVC_URL and SVC_TOKEN are not set, and no agent was found
        hint: svc up starts a server here, svc login <url> logs in to another, svc context use <name> selects a saved context
        --- exit 4
    "#]]).await;
    check(svc(), &["methods", "unregister"], expect![[r#"
        $ svc methods unregister
        --- stderr
        error: no agent found: SVC_AGENT_SOCKET is not set, and no folder from here up has a `.svc/agent.json`
        hint: svc agent start, or go to the folder of a space whose agent runs
        --- exit 7
    "#]]).await;
    let absent = || svc().env("SVC_AGENT_SOCKET", "/nonexistent/agent.sock");
    check(
        absent(),
        &["agent", "status"],
        expect![[r#"
        $ svc agent status
        --- stderr
        error: cannot reach `/nonexistent/agent.sock`
          No such file or directory (os error 2)
        hint: is the agent running? `svc agent start` starts it in the folder of the space
        --- exit 7
    "#]],
    )
    .await;
    check(
        absent(),
        &["event", "build.done"],
        expect![[r#"
        $ svc event build.done
        --- stderr
        error: cannot reach `/nonexistent/agent.sock`
          No such file or directory (os error 2)
        hint: svc agent start starts the agent; --via server bypasses the agent
        --- exit 7
    "#]],
    )
    .await;
    let unreachable = svc()
        .env("SVC_URL", NOWHERE)
        .env("SVC_TOKEN", "svc_pat_any");
    check(
        unreachable,
        &["method", "list"],
        expect![[r#"
        $ svc method list
        --- stderr
        error: cannot reach `http://127.0.0.1:9`
          Connection refused (os error 111)
        hint: is the server running? `svc up` starts a server here; `svc context list` shows which server is in use
        --- exit 7
    "#]],
    )
    .await;
}

#[tokio::test]
async fn s4_3_s5_commands_without_a_valid_credential() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let anonymous = server.anonymous_cli().env("SVC_URL", server.url());
    check(
        anonymous,
        &["whoami"],
        expect![[r#"
        $ svc whoami
        --- stderr
        error: there is no credential for `http://127.0.0.1:99999`, which SVC_URL names
        hint: svc login http://127.0.0.1:99999, or set SVC_TOKEN
        --- exit 4
    "#]],
    )
    .await;
    let wrong = server.cli(&ann).env("SVC_TOKEN", "svc_pat_wrong");
    check(
        wrong,
        &["method", "list"],
        expect![[r#"
        $ svc method list
        --- stderr
        error: the credential is not known; it may have been revoked
        hint: svc login <url>, or set SVC_URL and SVC_TOKEN
        --- exit 4
    "#]],
    )
    .await;
    let scoped = ann.scoped(&["methods"]).await;
    check(
        server.cli(&scoped),
        &["space", "list"],
        expect![[r#"
        $ svc space list
        --- stderr
        error: this token is limited to `methods` and does not reach GET /api/spaces
        hint: use a token without scopes: svc token create <name>
        --- exit 4
    "#]],
    )
    .await;
    check(
        server.cli(&ann),
        &["user", "list"],
        expect![[r#"
        $ svc user list
        --- stderr
        error: this needs the permission `manage_users`; ask an administrator for a role with it
        hint: svc whoami shows what you may do
        --- exit 4
    "#]],
    )
    .await;
}
