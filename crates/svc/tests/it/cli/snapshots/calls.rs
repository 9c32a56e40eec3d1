//! `svc method`, `svc methods`.

use expect_test::expect;
use svc_testkit::TestServer;

use super::{Lab, check, notes};

#[tokio::test]
async fn s4_3_method_list() {
    let lab = Lab::new().await;
    lab.check(
        &["method", "list"],
        expect![[r#"
        $ svc method list
        NAME         SCOPE    OWNER  PROVIDERS  DESCRIPTION
        notes.add    shared   ann    1          Adds a note
        notes.fail   private  ann    1          Returns an error
        notes.never  private  ann    1          Never returns
        --- exit 0
    "#]],
    )
    .await;
    let ben = lab.server.user("ben").await;
    let others = lab.server.cli(&ben);
    check(
        others,
        &["method", "list"],
        expect![[r#"
        $ svc method list
        NAME                SCOPE   OWNER  PROVIDERS  DESCRIPTION
        user.ann.notes.add  shared  ann    1          Adds a note
        --- exit 0
    "#]],
    )
    .await;
}

#[tokio::test]
async fn s4_3_method_list_without_methods() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    check(
        server.cli(&ann),
        &["method", "list"],
        expect![[r#"
        $ svc method list
        --- stderr
        no methods yet; a space publishes some with: svc methods register <file>
        --- exit 0
    "#]],
    )
    .await;
}

#[tokio::test]
async fn s4_3_method_list_with_a_name_shows_details() {
    let lab = Lab::new().await;
    lab.check(
        &["method", "list", "notes.add"],
        expect![[r#"
        $ svc method list notes.add
        name:            notes.add
        description:     Adds a note
        keywords:        notes
        owner:           ann
        scope:           shared
        provider_count:  1
        mcp_tool:        yes
        mcp_tool_name:   notes_add
        journal:         outcome
        local_name:      echo
        groups:          -
        events:          -
        event_sinks:     -
        providers:       lab (ready, 0 in flight)
        params_schema: {
          "type": "object",
          "properties": {
            "text": {
              "type": "string"
            }
          },
          "required": [
            "text"
          ]
        }
        result_schema: {
          "type": "object"
        }
        --- exit 0
    "#]],
    )
    .await;
    lab.check(
        &["method", "list", "notes.ad"],
        expect![[r#"
        $ svc method list notes.ad
        --- stderr
        error: method `notes.ad` does not exist, or you may not see it
        hint: svc method list
        --- exit 5
    "#]],
    )
    .await;
    let ben = lab.server.user("ben").await;
    let args = ["method", "list", "user.ann.notes.add"];
    check(
        lab.server.cli(&ben),
        &args,
        expect![[r#"
        $ svc method list user.ann.notes.add
        name:            user.ann.notes.add
        description:     Adds a note
        keywords:        notes
        owner:           ann
        scope:           shared
        provider_count:  1
        mcp_tool:        yes
        mcp_tool_name:   user_ann_notes_add
        journal:         outcome
        params_schema: {
          "type": "object",
          "properties": {
            "text": {
              "type": "string"
            }
          },
          "required": [
            "text"
          ]
        }
        result_schema: {
          "type": "object"
        }
        --- exit 0
    "#]],
    )
    .await;
}

#[tokio::test]
async fn s4_3_method_call_with_a_result() {
    let lab = Lab::new().await;
    let args = ["method", "call", "notes.add", r#"{"text":"hi"}"#];
    lab.check(
        &args,
        expect![[r#"
        $ svc method call notes.add '{"text":"hi"}'
        {"jsonrpc":"2.0","result":{"text":"hi"},"id":1}
        --- exit 0
    "#]],
    )
    .await;
    let batch = r#"[{"text":"a"},{"text":"b"}]"#;
    let args = ["method", "call", "notes.add", "--batch", batch];
    lab.check(&args, expect![[r#"
        $ svc method call notes.add --batch '[{"text":"a"},{"text":"b"}]'
        [{"jsonrpc":"2.0","result":{"text":"a"},"id":1},{"jsonrpc":"2.0","result":{"text":"b"},"id":2}]
        --- exit 0
    "#]]).await;
}

#[tokio::test]
async fn s4_3_method_call_with_an_error() {
    let lab = Lab::new().await;
    let fail = r#"{"code":-7,"message":"no ink"}"#;
    lab.check(
        &["method", "call", "notes.fail", fail],
        expect![[r#"
        $ svc method call notes.fail '{"code":-7,"message":"no ink"}'
        {"jsonrpc":"2.0","error":{"code":-7,"message":"no ink"},"id":1}
        --- exit 3
    "#]],
    )
    .await;
    lab.check(&["method", "call", "notes.never", "{}"], expect![[r#"
        $ svc method call notes.never '{}'
        {"jsonrpc":"2.0","error":{"code":-32001,"message":"Method timed out","data":{"reason":"timeout","timeout_seconds":5,"sent":true}},"id":1}
        --- exit 8
    "#]])
        .await;
    lab.check(
        &["method", "call", "notes.ad", "{}"],
        expect![[r#"
        $ svc method call notes.ad '{}'
        {"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}
        --- exit 5
    "#]],
    )
    .await;
    lab.check(
        &["method", "call", "notes.add", "{"],
        expect![[r#"
        $ svc method call notes.add '{'
        --- stderr
        error: params are not JSON
          this is not valid JSON: it ends after `{`, where a value, a quotation mark or a bracket is missing
        hint: quote them for the shell: svc method call <name> '{"key": "value"}'
        --- exit 2
    "#]],
    )
    .await;
    lab.check(
        &["method", "call", "notes.add", "7"],
        expect![[r#"
        $ svc method call notes.add 7
        --- stderr
        error: params are `7`; they must be a JSON object or array
        --- exit 2
    "#]],
    )
    .await;
}

#[tokio::test]
async fn s4_3_methods_register_and_unregister() {
    let lab = Lab::new().await;
    lab.space.write("methods.toml", &notes().to_string());
    let bad = notes().to_string().replace("shared", "public");
    lab.space.write("bad.toml", &bad);
    let register = async |file: &str, expected| {
        check(lab.agent.cli(), &["methods", "register", file], expected).await;
    };
    register(
        "methods.toml",
        expect![[r#"
        $ svc methods register methods.toml
        METHOD
        notes.add
        notes.fail
        notes.never
        --- exit 0
    "#]],
    )
    .await;
    register(
        "bad.toml",
        expect![[r#"
        $ svc methods register bad.toml
        --- stderr
        bad.toml:10:9: method `notes.add`: expected one of `private` or `shared`, not the text `public`
           |
        10 | scope = "public"
           |         ^
        error: `bad.toml` has 1 error
        --- exit 6
    "#]],
    )
    .await;
    register(
        "missing.toml",
        expect![[r#"
        $ svc methods register missing.toml
        --- stderr
        error: cannot read `missing.toml`
          No such file or directory (os error 2)
        --- exit 6
    "#]],
    )
    .await;
    let args = ["methods", "unregister"];
    check(
        lab.agent.cli(),
        &args,
        expect![[r#"
        $ svc methods unregister
        REMOVED
        notes.add
        notes.fail
        notes.never
        --- exit 0
    "#]],
    )
    .await;
}
