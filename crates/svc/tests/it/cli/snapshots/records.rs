//! Spaces, tokens, events and sinks: lists, records, and names that do not exist.

use expect_test::expect;
use serde_json::json;
use svc_testkit::TestServer;

use super::{Lab, check};

#[tokio::test]
async fn s4_3_space_list_and_get() {
    let lab = Lab::new().await;
    lab.ann.space("idle").await;
    lab.check(
        &["space", "list"],
        expect![[r#"
        $ svc space list
        NAME  OWNER  STATE     HEALTH   RUNTIME   METHODS
        lab   ann    deployed  unknown  external  3
        idle  ann    created   unknown  external  -
        --- exit 0
    "#]],
    )
    .await;
    lab.check(
        &["space", "get", "lab"],
        expect![[r#"
        $ svc space get lab
        name:            lab
        id:              xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
        owner:           ann
        state:           deployed
        health:          unknown
        runtime:         external
        methods:         3
        urls:            -
        health check:    {"type":"none","interval_seconds":10,"timeout_seconds":5,"failures":3}
        template:        -
        startup script:  -
        node:            xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
        created:         9999-99-99T99:99:99.999Z
        --- exit 0
    "#]],
    )
    .await;
    lab.check(
        &["space", "get", "nowhere"],
        expect![[r#"
        $ svc space get nowhere
        --- stderr
        error: space `nowhere` does not exist, or you may not see it
        hint: svc space list
        --- exit 5
    "#]],
    )
    .await;
}

#[tokio::test]
async fn s4_3_space_create() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let args = ["space", "create", "lab"];
    check(server.cli(&ann), &args, expect![[r#"
        $ svc space create lab
        name:            lab
        id:              xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
        owner:           ann
        state:           created
        health:          unknown
        runtime:         external
        methods:         -
        urls:            -
        health check:    {"type":"none","interval_seconds":10,"timeout_seconds":5,"failures":3}
        template:        -
        startup script:  -
        node:            -
        created:         9999-99-99T99:99:99.999Z
        agent token:     svc_agt_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        --- stderr
        keep the agent token now: it is not shown again. Start the agent with
          SVC_URL=http://127.0.0.1:99999 SVC_AGENT_TOKEN=<agent token> svc agent start
        --- exit 0
    "#]]).await;
    check(
        server.cli(&ann),
        &args,
        expect![[r#"
        $ svc space create lab
        --- stderr
        error: another space named `lab` exists already; choose another name
        --- exit 6
    "#]],
    )
    .await;
    let args = ["space", "create", "Not A Name"];
    check(server.cli(&ann), &args, expect![[r#"
        $ svc space create 'Not A Name'
        --- stderr
        error: space name `Not A Name` may hold only lower-case letters, digits and single hyphens between them
        --- exit 6
    "#]]).await;
}

#[tokio::test]
async fn s4_3_token_create_list_and_revoke() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let args = ["token", "create", "ci", "--scope", "methods"];
    let args = [&args[..], &["--expires-in-days", "90"]].concat();
    check(
        server.cli(&ann),
        &args,
        expect![[r#"
        $ svc token create ci --scope methods --expires-in-days 90
        name:     ci
        token:    svc_pat_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        id:       xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
        scopes:   methods
        expires:  9999-99-99T99:99:99.999Z
        created:  9999-99-99T99:99:99.999Z
        --- stderr
        keep the token now: it is not shown again
        --- exit 0
    "#]],
    )
    .await;
    let args = ["token", "create", "x", "--scope", "events"];
    check(
        server.cli(&ann),
        &args,
        expect![[r#"
        $ svc token create x --scope events
        --- stderr
        error: scope `events` does not exist; the scopes are `methods` and `mcp`
        --- exit 6
    "#]],
    )
    .await;
    // The server stores the last use of a token once per minute and when it stops.
    server.restart().await;
    check(server.cli(&ann), &["token", "list"], expect![[r#"
        $ svc token list
        NAME     SCOPES   EXPIRES                   LAST USED                 ID
        testkit  -        -                         9999-99-99T99:99:99.999Z  xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
        ci       methods  9999-99-99T99:99:99.999Z  -                         xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
        --- exit 0
    "#]]).await;
    check(
        server.cli(&ann),
        &["token", "revoke", "ci"],
        expect![[r#"
        $ svc token revoke ci
        --- stderr
        revoked token `ci`
        --- exit 0
    "#]],
    )
    .await;
    check(
        server.cli(&ann),
        &["token", "revoke", "ci"],
        expect![[r#"
        $ svc token revoke ci
        --- stderr
        error: token `ci` does not exist, or you may not see it
        hint: svc token list
        --- exit 5
    "#]],
    )
    .await;
}

#[tokio::test]
async fn s4_3_event_and_events_list() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let args = ["event", "notes.added", r#"{"text":"hi"}"#];
    check(
        server.cli(&ann),
        &args,
        expect![[r#"
        $ svc event notes.added '{"text":"hi"}'
        xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
        --- exit 0
    "#]],
    )
    .await;
    check(
        server.cli(&ann),
        &["event", "Bad Type", "{}"],
        expect![[r#"
            $ svc event 'Bad Type' '{}'
            --- stderr
            error: event type `Bad Type` must be segments of letters, digits, `_` or `-` joined by single dots, at most 128 characters
            --- exit 2
        "#]],
    )
    .await;
    ann.space("lab").await;
    check(server.cli(&ann), &["events", "list"], expect![[r#"
        $ svc events list
        AT                        TYPE                ACTOR  ID                                    DATA
        9999-99-99T99:99:99.999Z  space.created       ann    xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx  {"space_name":"lab","space_id":"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx","space_urls":{},"template_id":null,"startup_script_id":null}
        9999-99-99T99:99:99.999Z  custom.notes.added  ann    xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx  {"text":"hi"}
        --- exit 0
    "#]]).await;
}

#[tokio::test]
async fn s4_3_sink_list_and_get() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    check(
        server.cli(&ann),
        &["sink", "list"],
        expect![[r#"
        $ svc sink list
        --- stderr
        no sinks
        --- exit 0
    "#]],
    )
    .await;
    let create = [
        "sink",
        "create",
        "hook",
        "--url",
        "https://example.com/hook",
    ];
    let args = [&create[..], &["--patterns", "custom.*"]].concat();
    check(
        server.cli(&ann),
        &args,
        expect![[r#"
        $ svc sink create hook --url https://example.com/hook --patterns 'custom.*'
        name:           hook
        id:             xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
        description:
        patterns:       custom.*
        type:           webhook
        owner:          user
        active:         yes
        url:            https://example.com/hook
        headers:        -
        secret:         whsec_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        body template:  -
        delivery:       default
        queued:         0
        dropped:        0
        last delivery:  -
        created:        9999-99-99T99:99:99.999Z
        --- stderr
        keep the secret now: it is not shown again. Receivers verify signatures with it
        --- exit 0
    "#]],
    )
    .await;
    let args = [&create[..], &["--patterns", "*.created"]].concat();
    check(server.cli(&ann), &args, expect![[r#"
        $ svc sink create hook --url https://example.com/hook --patterns '*.created'
        --- stderr
        error: invalid value '*.created' for '--patterns <PATTERNS>': pattern `*.created` has a `*` at character 1; a `*` is allowed only once, at the end

        For more information, try '--help'.
        --- exit 2
    "#]]).await;
    ann.sink(json!({"name": "short", "patterns": "space.*", "type": "json-rpc"}))
        .await;
    check(
        server.cli(&ann),
        &["sink", "list"],
        expect![[r#"
        $ svc sink list
        NAME   TYPE      OWNER  ACTIVE  PATTERNS  QUEUED  DROPPED  LAST
        hook   webhook   user   yes     custom.*  0       0        -
        short  json-rpc  user   yes     space.*   0       0        -
        --- exit 0
    "#]],
    )
    .await;
    check(
        server.cli(&ann),
        &["sink", "get", "hook"],
        expect![[r#"
        $ svc sink get hook
        name:           hook
        id:             xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx
        description:
        patterns:       custom.*
        type:           webhook
        owner:          user
        active:         yes
        url:            https://example.com/hook
        headers:        -
        body template:  -
        delivery:       default
        queued:         0
        dropped:        0
        last delivery:  -
        created:        9999-99-99T99:99:99.999Z
        --- exit 0
    "#]],
    )
    .await;
    check(
        server.cli(&ann),
        &["sink", "get", "hok"],
        expect![[r#"
        $ svc sink get hok
        --- stderr
        error: sink `hok` does not exist, or you may not see it
        hint: svc sink list
        --- exit 5
    "#]],
    )
    .await;
}
