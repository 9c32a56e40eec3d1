//! Recorded params, results and errors: who sees them, what is redacted, and what is not recorded.

use serde_json::{Value, json};
use svc_testkit::{
    MethodToml, TestPostgres, TestServer, TestUser, TestZone, fixture, get_eventually, method,
};

use super::wait_for;
use crate::{SOON, mcp};

/// A shared method whose calls are recorded with params and answers.
fn recorded(name: &str, local_name: &str) -> MethodToml {
    method(name, local_name)
        .shared()
        .line("journal", r#""payloads""#)
        .line("journal_redact", r#"["/password", "/cards/*/number"]"#)
}

/// One call, as a user sees it.
async fn get(user: &TestUser, call: &Value) -> Value {
    let path = format!("/api/calls/{}", call["id"].as_str().unwrap());
    user.get(&path).await.expect(200).json()
}

/// Waits for the only call that matches the query, and reads it.
async fn get_one(user: &TestUser, query: &str) -> Value {
    let call = &wait_for(user, query, 1).await[0];
    for key in [
        "params",
        "result",
        "error",
        "params_omitted",
        "result_omitted",
    ] {
        assert_eq!(call.get(key), None, "the list has no payloads");
    }
    get(user, call).await
}

#[tokio::test]
async fn the_owner_and_the_caller_see_payloads_and_auditors_do_not() {
    let server = TestServer::start().await;
    let (ann, bob, eve) = (
        server.user("ann").await,
        server.user("bob").await,
        server.user("eve").await,
    );
    server.role("auditor", &["view_audit", "use_methods"]).await;
    let auditor = server.user_with("ivy", &["auditor"], &[]).await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(recorded("echo", "echo"))
        .with(recorded("fail", "fail"))
        .with(method("plain", "echo").shared());
    let _agent = space.publish(registration).await;
    let params = json!({"password": "sesame", "cards": [{"number": 1, "name": "b"}], "n": 5});
    let redacted =
        json!({"password": "[redacted]", "cards": [{"number": "[redacted]", "name": "b"}], "n": 5});
    bob.call("user.ann.echo", params.clone()).await;
    bob.call("user.ann.plain", params.clone()).await;
    let error = json!({"code": 7, "message": "no", "data": params});
    bob.call("user.ann.fail", error).await;

    for reader in [&ann, &bob] {
        let call = get_one(reader, "?method=echo").await;
        assert_eq!((&call["params"], &call["result"]), (&redacted, &redacted));
        assert_eq!(call.get("error"), None);
        let call = get_one(reader, "?method=fail").await;
        let expected = json!({"code": 7, "message": "no", "data": redacted});
        assert_eq!(call["error"], expected);
        assert_eq!(call.get("result"), None);
        // The registration does not ask to record the payloads of this method.
        let call = get_one(reader, "?method=plain").await;
        assert_eq!((call.get("params"), call.get("result")), (None, None));
    }
    // The other fields are hidden as in the list.
    assert_eq!(
        get_one(&ann, "?method=echo").await["credential"],
        Value::Null
    );
    assert_eq!(get_one(&bob, "?method=echo").await["space"], Value::Null);
    for call in wait_for(&auditor, "", 3).await {
        assert_eq!(get(&auditor, &call).await, call);
        let path = format!("/api/calls/{}", call["id"].as_str().unwrap());
        eve.get(&path).await.expect(404);
    }
    // An auditor sees the payloads of their own calls.
    auditor.call("user.ann.echo", json!({"mine": 1})).await;
    let own = get_one(&auditor, "?method=echo&caller=ivy").await;
    assert_eq!(own["params"], json!({"mine": 1}));

    let id = own["id"].as_str().unwrap();
    let hidden = server.cli(&bob).run(&["calls", "get", id]).await;
    hidden.expect(5);
    let id = get_one(&bob, "?method=echo").await["id"].clone();
    let get = ["calls", "get", id.as_str().unwrap()];
    let shown = server.cli(&bob).run(&get).await.expect(0).stdout;
    assert!(shown.contains(r#""password":"[redacted]""#), "{shown}");
}

#[tokio::test]
async fn callers_can_see_what_is_recorded_of_a_method() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let space = ann.space("lab").await;
    let outcome = || fixture().with(method("echo", "echo").shared());
    let payloads = || fixture().with(recorded("echo", "echo"));
    let agent = space.publish(outcome()).await;
    let one = async || bob.list("/api/methods", "methods").await.remove(0);
    assert_eq!(one().await["journal"], "outcome");
    assert_eq!(one().await.get("journal_redact"), None);

    let registered = agent.register(payloads()).await.expect(0);
    let note =
        "note: `echo`: after this registration, params, results and errors of calls are recorded";
    assert!(registered.stderr.contains(note), "{}", registered.stderr);
    let again = agent.register(payloads()).await.expect(0);
    assert!(!again.stderr.contains("note:"), "{}", again.stderr);
    assert_eq!(one().await["journal"], "payloads");
    let redact = json!(["/cards/*/number", "/password"]);
    assert_eq!(one().await["journal_redact"], redact);
    let openrpc = bob.get("/api/openrpc.json").await.expect(200).json();
    assert_eq!(openrpc["methods"][0]["x-journal"], "payloads");
    let shown = server.cli(&bob).run(&["method", "list", "user.ann.echo"]);
    let shown = shown.await.expect(0).stdout;
    let text =
        "payloads (params, results and errors are recorded) without /cards/*/number, /password";
    assert!(shown.contains(text), "{shown}");

    // D1: two spaces cannot publish the method with different values of `journal`.
    let other = ann.space("other").await;
    let mut agent = other.agent().await;
    let refused = agent.register(outcome()).await.expect(6);
    assert!(
        refused.stderr.contains("another definition"),
        "{}",
        refused.stderr
    );
    agent.register(payloads()).await.expect(0);
    agent.stop().await;
}

#[tokio::test]
async fn payloads_over_the_limit_are_omitted_and_not_cut() {
    let server = TestServer::builder()
        .env("SVC_JOURNAL_PAYLOAD_BYTES", "100")
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(
            fixture()
                .with(recorded("add", "add"))
                .with(recorded("echo", "echo")),
        )
        .await;
    ann.call("add", json!({"a": 1, "b": 2, "pad": "x".repeat(200)}))
        .await;
    let call = get_one(&ann, "?method=add").await;
    assert_eq!(call.get("params"), None);
    assert_eq!(call["params_omitted"], "too_large");
    assert!(call["params_bytes"].as_u64().unwrap() > 200);
    assert_eq!(call["result"], 3);
    // Payloads of exactly the limit are recorded.
    let params = json!(["x".repeat(96)]);
    assert_eq!(params.to_string().len(), 100);
    ann.call("echo", params.clone()).await;
    let call = get_one(&ann, "?method=echo").await;
    assert_eq!((&call["params"], &call["result"]), (&params, &params));
}

#[tokio::test]
async fn payloads_of_every_way_to_call_a_method_are_recorded() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = fixture()
        .with(recorded("echo", "echo").mcp_tool())
        .with(recorded("on_event", "echo").line("events", r#"["custom.go"]"#))
        .with(recorded("none", "never"));
    let _agent = space.publish(registration).await;
    ann.call("echo", json!({"way": "api", "n": null})).await;
    let batch = json!([
        {"jsonrpc": "2.0", "method": "echo", "params": {"way": "batch"}, "id": 1},
        {"jsonrpc": "2.0", "method": "none", "params": {"way": "notification"}},
    ]);
    ann.call_raw(batch).await.expect(200);
    mcp::call(&ann, "echo", json!({"way": "mcp"})).await;
    ann.emit("go", json!({"way": "event"})).await;
    let source =
        "from svc import api\ndef main(params):\n    return api.call('echo', {'way': 'script'})\n";
    let script = ann.script("tool", "one", source).await;
    let ran = ann
        .post(&format!("/api/scripts/{}/run", script.id), "{}")
        .await;
    ran.expect(200);
    wait_for(&ann, "", 6).await;
    for (query, way) in [
        ("via=api", "api"),
        ("via=mcp", "mcp"),
        ("via=script", "script"),
    ] {
        let call = get_one(&ann, &format!("?{query}")).await;
        assert_eq!(call["params"]["way"], way);
        assert_eq!(call["result"]["way"], way, "{call}");
    }
    let call = get_one(&ann, "?method=echo&via=batch").await;
    assert_eq!(call["result"], json!({"way": "batch"}));
    let call = get_one(&ann, "?via=event").await;
    assert_eq!(call["result"], call["params"]);
    assert_eq!(call["params"]["data"]["way"], "event", "{call}");
    let call = get_one(&ann, "?outcome=notification").await;
    assert_eq!(call["params"], json!({"way": "notification"}));
    assert_eq!((call.get("result"), call.get("error")), (None, None));
}

#[tokio::test]
async fn no_call_of_a_method_with_journal_none_is_recorded() {
    let server = TestServer::start().await;
    let (ann, bob) = (server.user("ann").await, server.user("bob").await);
    let space = ann.space("lab").await;
    let secret = method("secret", "echo")
        .shared()
        .line("journal", r#""none""#);
    let mut agent = space.publish(fixture().with(secret).plain("echo")).await;
    bob.call("user.ann.secret", json!({})).await;
    ann.call("secret", json!({})).await;
    // Rows are written in order: once the last call is in the journal, no earlier call can follow.
    ann.call("echo", json!({})).await;
    wait_for(&ann, "?method=echo", 1).await;
    assert_eq!(wait_for(&ann, "", 1).await[0]["method"], "echo");
    assert!(super::calls(&bob, "").await.is_empty());
    // A call of this method is also not recorded while no space can take the call.
    agent.kill9();
    get_eventually("the method is unavailable", SOON, || async {
        let answer = bob.call("user.ann.secret", json!({})).await;
        (answer["error"]["code"] == -32000).then_some(())
    })
    .await;
    bob.call("nowhere", json!({})).await;
    assert_eq!(wait_for(&bob, "?method=nowhere", 1).await.len(), 1);
    assert!(super::calls(&bob, "?method=secret").await.is_empty());
}

#[tokio::test]
async fn payloads_are_in_the_journal_and_nowhere_else() {
    let server = TestServer::builder().env("SVC_LOG", "trace").start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    // The params of this method are the error that it returns.
    let fail = method("fail", "fail")
        .line("journal", r#""payloads""#)
        .line("journal_redact", r#"["/password", "/data/password"]"#);
    let registration = fixture().with(recorded("echo", "echo")).with(fail);
    let _agent = space.publish(registration).await;
    ann.call("echo", json!({"text": "sesame", "password": "hidden-one"}))
        .await;
    let error = json!({"code": 1, "message": "sesame", "data": {"password": "hidden-two"}});
    ann.call("fail", error).await;
    assert_eq!(
        get_one(&ann, "?method=echo").await["params"]["text"],
        "sesame"
    );
    assert_eq!(
        get_one(&ann, "?method=fail").await["error"]["message"],
        "sesame"
    );
    let admin = server.admin().await;
    let metrics = server.http().request("GET", "/metrics", &[], "").await;
    let audit = admin.get("/api/audit").await.expect(200).text();
    let events = admin.get("/api/events").await.expect(200).text();
    let list = ann.get("/api/calls").await.expect(200).text();
    for text in [metrics.expect(200).text(), audit, events, list] {
        assert!(!text.contains("sesame"), "{text}");
    }
    let mut server = server;
    server.terminate().await;
    for secret in ["sesame", "hidden-"] {
        assert!(!server.log().contains(secret), "{}", server.log());
    }
    // Redacted values are in no file of the data folder.
    for file in std::fs::read_dir(server.data_dir()).expect("a folder") {
        let path = file.expect("an entry").path();
        if path.is_file() {
            let bytes = std::fs::read(&path).expect("a file");
            let found = bytes.windows(7).any(|part| part == b"hidden-");
            assert!(!found, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn a_crash_loses_no_payload_of_a_call_that_was_written() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().with(recorded("echo", "echo")))
        .await;
    for n in 0..20 {
        ann.call("echo", json!({"n": n})).await;
    }
    wait_for(&ann, "", 20).await;
    for n in 20..40 {
        ann.call("echo", json!({"n": n})).await;
    }
    server.kill9();
    server.start_again().await;
    let ann = ann.at(&server);
    let written = super::calls(&ann, "").await;
    assert!(written.len() >= 20, "{written:?}");
    // A call is written with its payloads, or not at all.
    for call in written {
        let call = get(&ann, &call).await;
        assert!(call["params"]["n"].is_u64(), "{call}");
        assert_eq!(call["params"], call["result"]);
    }
}

#[tokio::test]
async fn the_servers_of_a_zone_share_payloads() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().with(recorded("echo", "echo")))
        .await;
    ann.call("echo", json!({"n": 1})).await;
    let call = get_one(&ann.at(zone.server(1)), "").await;
    assert_eq!(call["result"], json!({"n": 1}));
}
