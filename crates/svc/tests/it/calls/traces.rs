//! Traces: `traceparent` from the caller to the method server and to webhooks, and the export of
//! spans over OTLP.

mod abuse;

use std::path::Path;

use serde_json::{Value, json};
use svc_testkit::{
    RegistrationToml, TestAgent, TestReceiver, TestServer, TestServerBuilder, TestSpace, TestUser,
    get_eventually, method, result, svc_program,
};

use crate::{SOON, examples::have, judge::Judge};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER_SPAN: &str = "b7ad6b7169203331";
const STATE: &str = "vendor=1";
const SECRET: &str = "this text is in no span";

const HANDLERS: &str = r#"
from svc import event, jsonrpc


def work(params):
    if params.get("text"):
        event.emit("done", {"text": params["text"]})
    return jsonrpc.trace()
"#;

/// A server that exports to `/v1/traces` of the receiver.
fn exporting_to(receiver: &TestReceiver, sample: &str) -> TestServerBuilder {
    TestServer::builder()
        .allow_loopback_webhooks()
        .env("SVC_TRACES_OTLP_URL", &receiver.url(""))
        .env("SVC_TRACES_SAMPLE", sample)
}

/// Publishes `work`, which returns its trace context, and emits an event if its params have a text.
async fn publish_work(space: &TestSpace, name: &str, command: &Path, args: &[&str]) -> TestAgent {
    space.write("handlers.py", HANDLERS);
    space.write(
        "setup.py",
        "from svc import jsonrpc\njsonrpc.method('work', 'handlers.work')\n",
    );
    let registration = RegistrationToml::of(command, args).traced();
    space.publish(registration.with(method(name, "work"))).await
}

/// Calls a method as a part of a trace.
async fn call_in(user: &TestUser, traceparent: &str, body: Value) -> Value {
    post_in(user, "/api/methods/call", traceparent, body).await
}

/// Sends a request as a part of a trace.
async fn post_in(user: &TestUser, path: &str, traceparent: &str, body: Value) -> Value {
    let request = user
        .request("POST", path)
        .header("content-type", "application/json")
        .header("traceparent", traceparent)
        .header("tracestate", STATE)
        .body(body.to_string().into());
    let answer = user.http().send(request.unwrap()).await;
    answer.expect(200).json()
}

fn request_of(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params, "id": 1})
}

/// The number of spans with this outcome.
async fn count_spans(server: &TestServer, outcome: &str) -> u64 {
    let metrics = server.http().request("GET", "/metrics", &[], "").await;
    let text = metrics.expect(200).text();
    let series = format!("svc_trace_spans_total{{outcome=\"{outcome}\"}} ");
    let mut values = text.lines().filter_map(|line| line.strip_prefix(&series));
    let value = values.next().expect("the metric exists");
    value.parse().expect("a number")
}

/// Waits until at least this many spans are exported.
async fn wait_for_spans(server: &TestServer, count: u64) {
    get_eventually(&format!("{count} spans are exported"), SOON, || async {
        (count_spans(server, "exported").await >= count).then_some(())
    })
    .await;
}

/// The spans that the receiver got, decoded by a judge: a Python program with the official package
/// for OTLP. `None` if the judge cannot be installed.
async fn decode(server: &TestServer, receiver: &TestReceiver) -> Option<Vec<Value>> {
    let folder = server.home().join("otlp");
    std::fs::create_dir_all(&folder).unwrap();
    for (number, request) in receiver.received("/v1/traces").iter().enumerate() {
        std::fs::write(folder.join(format!("{number:04}")), &request.body).unwrap();
    }
    let folder = folder.to_str().unwrap();
    let settings = [("OTLP_FOLDER", folder)];
    let said = Judge::Python("otlp").ask(server, &settings);
    let read = |line: &String| serde_json::from_str(line).expect("a line of JSON");
    said.await.map(|lines| lines.iter().map(read).collect())
}

/// The span with this name in a trace.
fn find<'a>(spans: &'a [Value], trace: &str, name: &str) -> &'a Value {
    let mut found = spans
        .iter()
        .filter(|span| span["trace"] == trace && span["name"] == name);
    let span = found
        .next()
        .unwrap_or_else(|| panic!("no {name}: {spans:?}"));
    assert_eq!(found.next(), None, "{name} occurs once");
    span
}

/// Checks that a span is a part of its parent.
fn check_within(span: &Value, parent: &Value) {
    assert_eq!(span["parent"], parent["id"], "{span} {parent}");
    let time = |span: &Value, key: &str| span[key].as_u64().unwrap();
    assert!(
        time(span, "start") >= time(parent, "start"),
        "{span} {parent}"
    );
    assert!(time(span, "end") <= time(parent, "end"), "{span} {parent}");
    assert!(time(span, "start") <= time(span, "end"), "{span}");
}

/// Calls `work` and follows the trace from the caller to the webhook.
async fn follow_trace(command: &Path, args: &[&str]) {
    let receiver = TestReceiver::start().await;
    let headers = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        headers.path(),
        "# for the receiver\nx-api-key: key of the receiver\n",
    )
    .unwrap();
    let server = exporting_to(&receiver, "0")
        .env("SVC_TRACES_HEADERS_FILE", headers.path().to_str().unwrap())
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = publish_work(&space, "work", command, args).await;
    ann.webhook("hook", "custom.done", &receiver.url("/hook"))
        .await;

    let parent = format!("00-{TRACE}-{CALLER_SPAN}-01");
    let body = request_of("work", json!({"text": SECRET}));
    let answer = call_in(&ann, &parent, body).await;
    let seen = result(&answer).clone();
    let hook = receiver.wait_for("/hook", 1, SOON).await;
    wait_for_spans(&server, 5).await;
    for export in receiver.received("/v1/traces") {
        assert_eq!(export.header("content-type"), "application/x-protobuf");
        assert_eq!(export.header("x-api-key"), "key of the receiver");
        let text = String::from_utf8_lossy(&export.body);
        assert!(!text.contains(SECRET) && !text.contains(&ann.token));
    }
    assert!(!server.log().contains("key of the receiver"));
    assert_eq!(seen["tracestate"], STATE);
    assert_eq!(hook[0].header("tracestate"), STATE);

    let Some(spans) = decode(&server, &receiver).await else {
        return;
    };
    assert_eq!(spans.len(), 5, "{spans:?}");
    for span in &spans {
        assert_eq!(
            (&span["trace"], &span["state"]),
            (&json!(TRACE), &json!(STATE))
        );
        assert_eq!(span["status"], "STATUS_CODE_UNSET", "{span}");
    }
    let call = find(&spans, TRACE, "work");
    assert_eq!(call["parent"], CALLER_SPAN);
    assert_eq!(
        (&call["kind"], &call["service"]),
        (&json!("SPAN_KIND_SERVER"), &json!("svc"))
    );
    assert_eq!(call["remote"], true);
    let attributes = &call["attributes"];
    assert_eq!(attributes["rpc.system.name"], "jsonrpc");
    assert_eq!(attributes["rpc.method"], "work");
    assert_eq!(attributes["svc.call.via"], "api");
    let journal = get_eventually("the call is in the journal", SOON, || async {
        ann.list("/api/calls", "calls").await.pop()
    });
    let journal = journal.await;
    assert_eq!(journal["trace_id"], TRACE);
    assert_eq!(attributes["svc.call.id"], journal["id"]);
    let agent = find(&spans, TRACE, "agent work");
    check_within(agent, call);
    assert_eq!(agent["service"], "svc-agent");
    assert_eq!(agent["attributes"]["svc.space.id"], space.id);
    let method_server = find(&spans, TRACE, "method server work");
    check_within(method_server, agent);
    let id = |span: &Value| span["id"].as_str().unwrap().to_owned();
    assert_eq!(
        seen["traceparent"],
        format!("00-{TRACE}-{}-01", id(method_server))
    );
    let emit = find(&spans, TRACE, "emit event");
    assert_eq!(emit["parent"], method_server["id"]);
    assert_eq!(emit["kind"], "SPAN_KIND_PRODUCER");
    assert_eq!(
        emit["attributes"]["messaging.destination.name"],
        "custom.done"
    );
    assert_eq!(
        emit["attributes"]["messaging.message.id"],
        hook[0].header("x-service-event-id")
    );
    let deliver = find(&spans, TRACE, "deliver event");
    assert_eq!(deliver["parent"], emit["id"]);
    assert_eq!(deliver["attributes"]["http.response.status_code"], 200);
    assert_eq!(deliver["attributes"]["svc.attempt"], 1);
    assert_eq!(
        hook[0].header("traceparent"),
        format!("00-{TRACE}-{}-01", id(deliver))
    );
}

#[tokio::test]
async fn a_trace_leads_from_the_caller_to_the_webhook() {
    follow_trace(&svc_program(), &["run-script", "--json-rpc", "setup.py"]).await;
}

#[tokio::test]
async fn a_trace_leads_from_the_caller_to_the_webhook_on_cpython() {
    if have("python3") {
        let args = ["-B", "-m", "svc.jsonrpc", "setup.py"];
        follow_trace(Path::new("python3"), &args).await;
    }
}

#[tokio::test]
async fn without_an_export_the_context_is_passed_on_unchanged() {
    let receiver = TestReceiver::start().await;
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let args = ["run-script", "--json-rpc", "setup.py"];
    let agent = publish_work(&space, "work", &svc_program(), &args).await;
    ann.webhook("hook", "custom.done", &receiver.url("/hook"))
        .await;
    let passed =
        json!({"traceparent": format!("00-{TRACE}-{CALLER_SPAN}-01"), "tracestate": STATE});
    let parent = passed["traceparent"].as_str().unwrap();
    let answer = call_in(&ann, parent, request_of("work", json!({"text": "x"}))).await;
    assert_eq!(result(&answer), &passed);
    let hook = receiver.wait_for("/hook", 1, SOON).await;
    assert_eq!(hook[0].header("traceparent"), parent);
    assert_eq!(hook[0].header("tracestate"), STATE);

    // A script on the server continues the trace of its request.
    let source = "from svc import api\ndef main(params):\n    return api.call('work', {})\n";
    let script = ann.script("tool", "one", source).await;
    let path = format!("/api/scripts/{}/run", script.id);
    let ran = post_in(&ann, &path, parent, json!({})).await;
    assert_eq!(ran["result"], passed, "{ran}");

    // A call without a context has no trace. An invalid context is ignored.
    assert_eq!(result(&ann.call("work", json!({})).await), &json!({}));
    let answer = call_in(&ann, "00-zz-01", request_of("work", json!({}))).await;
    assert_eq!(result(&answer), &json!({}));
    // A program that was started as a part of a trace continues it.
    let cli = || agent.cli().env("TRACEPARENT", parent);
    let said = cli().run(&["method", "call", "work", "{}"]).await.expect(0);
    assert!(said.stdout.contains(parent), "{}", said.stdout);
    cli().run(&["event", "done", "{}"]).await.expect(0);
    let hook = receiver.wait_for("/hook", 2, SOON).await;
    assert_eq!(hook[1].header("traceparent"), parent);

    // A method server gets the trace context only if its registration asks for it.
    let registration = RegistrationToml::of(&svc_program(), &args).with(method("work", "work"));
    agent.register(registration).await.expect(0);
    let answer = call_in(&ann, parent, request_of("work", json!({}))).await;
    assert_eq!(result(&answer), &json!({}));
}

#[tokio::test]
async fn calls_of_every_kind_and_their_errors_have_spans() {
    let receiver = TestReceiver::start().await;
    let server = exporting_to(&receiver, "1").start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let registration = svc_testkit::fixture()
        .plain("fail")
        .with(method("echo", "echo").mcp_tool())
        .with(method("on_event", "echo").line("events", r#"["custom.go"]"#));
    let _agent = space.publish(registration).await;
    ann.call("fail", json!({"code": 7, "message": SECRET}))
        .await;
    ann.call("nowhere.to.be.found", json!({})).await;
    crate::mcp::call(&ann, "echo", json!({})).await;
    ann.notify("echo", json!({})).await.expect(204);
    ann.emit("go", json!({"text": SECRET})).await;
    // The number of spans of each: fail 3, nowhere 1, mcp 3, notification 1, emit 1, on_event 3.
    wait_for_spans(&server, 12).await;
    for export in receiver.received("/v1/traces") {
        let text = String::from_utf8_lossy(&export.body);
        assert!(!text.contains(SECRET) && !text.contains("nowhere"));
    }
    let Some(spans) = decode(&server, &receiver).await else {
        return;
    };
    let named = |name: &str| {
        let found = spans.iter().filter(|span| span["name"] == name);
        found.collect::<Vec<_>>()
    };
    let fail = named("fail")[0];
    assert_eq!(fail["status"], "STATUS_CODE_ERROR");
    assert_eq!(fail["attributes"]["error.type"], "7");
    assert_eq!(fail["attributes"]["rpc.response.status_code"], "7");
    assert_eq!(
        (&fail["parent"], &fail["remote"]),
        (&json!(""), &json!(false))
    );
    let unknown = named("_OTHER")[0];
    assert_eq!(unknown["attributes"]["error.type"], "not_found");
    let mut vias: Vec<_> = named("echo")
        .iter()
        .map(|span| span["attributes"]["svc.call.via"].as_str().unwrap())
        .collect();
    vias.sort_unstable();
    assert_eq!(vias, ["api", "mcp"]);
    assert_eq!(
        named("agent echo").len(),
        1,
        "a notification has no span of the agent"
    );
    let (emit, on_event) = (named("emit event")[0], named("on_event")[0]);
    assert_eq!(on_event["parent"], emit["id"]);
    assert_eq!(on_event["kind"], "SPAN_KIND_CONSUMER");
}

#[tokio::test]
async fn json_logs_have_the_ids_of_the_trace_and_the_call() {
    let receiver = TestReceiver::start().await;
    let server = TestServer::builder()
        .allow_loopback_webhooks()
        .env("SVC_LOG_FORMAT", "json")
        .env(
            "SVC_LOG",
            "svc_server::calls=debug,svc_server::deliveries=debug,info",
        )
        .start()
        .await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let args = ["run-script", "--json-rpc", "setup.py"];
    let _agent = publish_work(&space, "work", &svc_program(), &args).await;
    ann.webhook("hook", "custom.done", &receiver.url("/hook"))
        .await;
    let parent = format!("00-{TRACE}-{CALLER_SPAN}-00");
    call_in(&ann, &parent, request_of("work", json!({"text": SECRET}))).await;
    receiver.wait_for("/hook", 1, SOON).await;
    let find_line = |message: &'static str| {
        let server = &server;
        get_eventually(message, SOON, move || async move {
            let log = server.log();
            let mut lines = log.lines().filter(|line| line.contains(message));
            lines.next().map(|line| {
                let line: Value = serde_json::from_str(line).expect("a line of JSON");
                line
            })
        })
    };
    let call = find_line("a call ended").await;
    let attempt = find_line("an attempt ended").await;
    let journal = get_eventually("the call is in the journal", SOON, || async {
        ann.list("/api/calls", "calls").await.pop()
    });
    assert_eq!(call["call_id"], journal.await["id"]);
    assert_eq!(call["trace_id"], TRACE);
    assert_eq!(
        (&call["method.name"], &call["outcome"]),
        (&json!("work"), &json!("ok"))
    );
    assert_eq!(attempt["trace_id"], TRACE);
    assert_eq!(attempt["outcome"], "delivered");
    assert!(!server.log().contains(SECRET) && !server.log().contains(&ann.token));
}
