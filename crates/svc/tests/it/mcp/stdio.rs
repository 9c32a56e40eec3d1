//! `svc mcp stdio`, the bridge between a server and a client that uses stdin and stdout: correct
//! and misbehaving clients.

use std::{path::Path, process::Stdio, time::Duration};

use serde_json::{Value, json};
use svc_testkit::{
    RegistrationToml, TestServer, TestUser, error_code, eventually, fixture, method, result,
    svc_program,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::{
    SOON,
    mcp::{LEGACY, MODERN, meta, names, text, with_echo},
};

/// Time for one line, on a busy machine.
const LINE_LIMIT: Duration = Duration::from_secs(60);
/// Time in which the bridge must write nothing.
const QUIET: Duration = Duration::from_millis(700);

/// The client's side of a bridge.
struct Bridge {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

/// `svc` with only `HOME` and these environment variables.
fn svc(home: &Path, environment: &[(&str, &str)], args: &[&str]) -> Command {
    let mut command = Command::new(svc_program());
    command
        .args(args)
        .env_clear()
        .env("HOME", home)
        .envs(environment.iter().copied())
        .current_dir(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

impl Bridge {
    fn start(server: &TestServer, user: &TestUser, args: &[&str]) -> Self {
        let environment = [("SVC_URL", server.url()), ("SVC_TOKEN", &*user.token)];
        let args = [&["mcp", "stdio"], args].concat();
        Self::of(svc(server.home(), &environment, &args))
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
        }
    }

    async fn write(&mut self, line: impl AsRef<[u8]>) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_ref()).await.unwrap();
        input.write_all(b"\n").await.unwrap();
        input.flush().await.unwrap();
    }

    async fn send(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id: Value = id.into();
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(message.to_string()).await;
    }

    async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(message.to_string()).await;
    }

    async fn next(&mut self) -> Value {
        let line = timeout(LINE_LIMIT, self.output.next_line()).await;
        let line = line.expect("a line in time").unwrap().expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    async fn ask(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.send(id, method, params).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    async fn initialize(&mut self) {
        let params = json!({"protocolVersion": LEGACY, "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"}});
        let answer = self.ask(0, "initialize", params).await;
        assert_eq!(result(&answer)["protocolVersion"], LEGACY);
        self.notify("notifications/initialized", json!({})).await;
    }

    async fn is_quiet(&mut self) {
        let written = timeout(QUIET, self.output.next_line()).await;
        assert!(written.is_err(), "{written:?}");
    }

    /// Closes stdin, waits for the end of the bridge, and returns its stderr.
    async fn end(mut self) -> String {
        drop(self.input.take());
        let status = timeout(LINE_LIMIT, self.child.wait()).await;
        assert!(status.expect("the bridge ends").unwrap().success());
        let mut log = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut log).await.unwrap();
        log
    }
}

fn modern(mut params: Value) -> Value {
    params["_meta"] = meta();
    params
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

fn is_list_change(message: &Value) -> bool {
    message["method"] == "notifications/tools/list_changed"
}

#[tokio::test]
async fn a_legacy_client_lists_and_calls_tools_and_gets_list_changes() {
    let (server, ann, (agent, _space)) = with_echo().await;
    let mut bridge = Bridge::start(&server, &ann.scoped(&["mcp"]).await, &[]);
    bridge.initialize().await;
    let listed = bridge.ask(1, "tools/list", json!({})).await;
    assert_eq!(names(result(&listed)), ["notes_echo"]);
    let called = bridge
        .ask(2, "tools/call", call("notes_echo", json!({"a": "é\n"})))
        .await;
    assert_eq!(result(&called)["structuredContent"], json!({"a": "é\n"}));
    let unknown = bridge.ask(3, "tools/call", call("none", json!({}))).await;
    assert_eq!(error_code(&unknown), -32602);
    assert_eq!(result(&bridge.ask(4, "ping", json!({})).await), &json!({}));

    let more = fixture().with(method("more", "echo").mcp_tool());
    agent.register(more).await.expect(0);
    assert!(is_list_change(&bridge.next().await));
    let log = bridge.end().await;
    assert!(log.contains("relays to"), "{log}");
}

#[tokio::test]
async fn a_modern_client_subscribes_and_its_arguments_are_repeated_in_headers() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let schema =
        r#"{type = "object", properties = {region = {type = "string", x-mcp-header = "Region"}}}"#;
    let tool = method("run", "echo").mcp_tool();
    let with_header = fixture().with(tool.clone().line("params_schema", schema));
    let agent = space.publish(with_header).await;
    let mut bridge = Bridge::start(&server, &ann, &[]);
    let discovered = bridge.ask(1, "server/discover", modern(json!({}))).await;
    assert_eq!(result(&discovered)["supportedVersions"][0], MODERN);
    let filter = json!({"notifications": {"toolsListChanged": true}});
    bridge
        .send("s", "subscriptions/listen", modern(filter))
        .await;
    let acknowledged = bridge.next().await;
    let expected = "notifications/subscriptions/acknowledged";
    assert_eq!(acknowledged["method"], expected);
    let arguments = json!({"region": " é"});
    let params = modern(call("run", arguments.clone()));
    let called = bridge.ask(2, "tools/call", params.clone()).await;
    assert_eq!(result(&called)["structuredContent"], arguments);

    // The schema changes, so the required headers change too.
    agent.register(fixture().with(tool)).await.expect(0);
    let changed = bridge.next().await;
    assert!(is_list_change(&changed), "{changed}");
    let id = &changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(id, "s");
    result(&bridge.ask(3, "tools/call", params).await);

    // The subscription is cancelled by its id.
    bridge
        .notify("notifications/cancelled", json!({"requestId": "s"}))
        .await;
    agent.register(fixture().plain("no_tool")).await.expect(0);
    bridge.is_quiet().await;
    bridge.end().await;
}

#[tokio::test]
async fn progress_and_cancellation_pass_through() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let script = r#"
while read -r line; do
  id=${line##*\"id\":}; id=${id%\}}
  echo "{\"jsonrpc\":\"2.0\",\"method\":\"\$/progress\",\"params\":{\"id\":$id,\"progress\":1}}"
  case "$line" in *\"hold\"*) ;; *) echo "{\"id\":$id,\"result\":\"done\"}";; esac
done
"#;
    let registration = ["hold", "step"]
        .iter()
        .fold(RegistrationToml::shell(script), |all, name| {
            all.with(method(name, name).mcp_tool())
        });
    let _agent = space.publish(registration).await;
    for era in [LEGACY, MODERN] {
        let mut bridge = Bridge::start(&server, &ann, &[]);
        let params = |tool: &str| {
            let mut params = call(tool, json!({}));
            if era == MODERN {
                params = modern(params);
            }
            params["_meta"]["progressToken"] = json!("p");
            params
        };
        if era == LEGACY {
            bridge.initialize().await;
        }
        bridge.send(1, "tools/call", params("step")).await;
        assert_eq!(bridge.next().await["params"]["progressToken"], "p");
        assert_eq!(text(result(&bridge.next().await)), "done");

        bridge.send(2, "tools/call", params("hold")).await;
        assert_eq!(bridge.next().await["method"], "notifications/progress");
        ann.wait_for_in_flight("hold", 1).await;
        bridge
            .notify("notifications/cancelled", json!({"requestId": 2}))
            .await;
        ann.wait_for_in_flight("hold", 0).await;
        bridge.is_quiet().await;
        bridge.end().await;
    }
}

#[tokio::test]
async fn hostile_lines_are_answered_and_do_no_harm() {
    let (server, ann, _agent) = with_echo().await;
    let mut bridge = Bridge::start(&server, &ann, &[]);
    let check = async |bridge: &mut Bridge, line: &[u8], id: Value, code: i64| {
        bridge.write(line).await;
        let answer = bridge.next().await;
        assert_eq!((&answer["id"], error_code(&answer)), (&id, code));
    };
    check(&mut bridge, b"{", Value::Null, -32700).await;
    check(&mut bridge, b"\xff\xfe", Value::Null, -32700).await;
    check(&mut bridge, b"true", Value::Null, -32600).await;
    check(&mut bridge, br#"{"id":5}"#, json!(5), -32600).await;
    let long = vec![b'x'; 16 * 1024 * 1024 + 1];
    check(&mut bridge, &long, Value::Null, -32600).await;
    // The server's limit is lower, and its refusal is the answer to the request.
    let padding = "x".repeat(9 * 1024 * 1024);
    let large = json!({"jsonrpc": "2.0", "id": 6, "method": "ping", "params": {"p": padding}});
    check(&mut bridge, large.to_string().as_bytes(), json!(6), -32000).await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}1{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    bridge.write(deep).await;
    assert_eq!(bridge.next().await["id"], 7);
    // Neither a response nor an empty line is answered.
    bridge.write("").await;
    bridge
        .write(r#"{"jsonrpc":"2.0","id":8,"result":{}}"#)
        .await;
    bridge.write("\r").await;
    let ping = bridge.ask(9, "ping", json!({})).await;
    assert_eq!(result(&ping), &json!({}));
    let log = bridge.end().await;
    assert!(log.contains("ignores a response"), "{log}");
}

#[tokio::test]
async fn an_id_in_flight_is_not_used_twice_and_answers_come_before_the_end() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let _agent = space
        .publish(fixture().with(method("sleep", "sleep").mcp_tool()))
        .await;
    let mut bridge = Bridge::start(&server, &ann, &[]);
    let params = call("sleep", json!({"ms": 1_500, "until": "go"}));
    bridge.send(1, "tools/call", params.clone()).await;
    bridge.send(1, "tools/call", params).await;
    assert_eq!(error_code(&bridge.next().await), -32600);
    space.write("go", "");
    drop(bridge.input.take());
    let answer = bridge.next().await;
    assert_eq!(result(&answer)["structuredContent"]["slept"], 1_500);
    bridge.end().await;
}

#[tokio::test]
async fn a_call_is_never_sent_twice_and_the_stream_is_opened_again() {
    let mut server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let script = r#"
while read -r line; do
  id=${line##*\"id\":}; id=${id%\}}
  echo call >> calls
  while [ ! -e go ]; do sleep 0.02; done
  echo "{\"id\":$id,\"result\":\"done\"}"
done
"#;
    let registration = RegistrationToml::shell(script).with(method("slow", "slow").mcp_tool());
    let agent = space.publish(registration).await;
    let mut bridge = Bridge::start(&server, &ann, &[]);
    bridge.initialize().await;
    bridge.send(1, "tools/call", call("slow", json!({}))).await;
    let calls = || std::fs::read_to_string(space.folder().join("calls")).unwrap_or_default();
    eventually("the call was made", SOON, || async { calls() == "call\n" }).await;
    server.kill9();
    let failed = bridge.next().await;
    assert_eq!((&failed["id"], error_code(&failed)), (&json!(1), -32000));
    let why = failed["error"]["message"].as_str().unwrap();
    assert!(why.contains("is not repeated"), "{why}");

    // While the server is down, a `tools/list` request waits for the server.
    bridge.send(2, "tools/list", json!({})).await;
    server.start_again().await;
    let (mut list, mut is_changed) = (None, false);
    while list.is_none() || !is_changed {
        let message = bridge.next().await;
        is_changed |= is_list_change(&message);
        if message["id"] == 2 {
            list = Some(message);
        }
    }
    assert!(list.unwrap()["result"]["tools"].is_array());
    assert_eq!(calls(), "call\n", "the call was made once");
    space.write("go", "");
    agent.wait_until_linked().await;
    bridge.end().await;
}

#[tokio::test]
async fn the_token_comes_only_from_the_environment_or_the_context() {
    let (server, ann, _agent) = with_echo().await;
    let url = ("SVC_URL", server.url());
    let refused = svc(server.home(), &[url], &["mcp", "stdio", "--token", "x"]);
    let refused = Bridge::of(refused).child.wait_with_output().await.unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let without = svc(server.home(), &[url], &["mcp", "stdio"]);
    let without = Bridge::of(without).child.wait_with_output().await.unwrap();
    assert_eq!(without.status.code(), Some(4));

    // With an invalid token, each request gets an error, and nothing else goes to stdout.
    let wrong = [url, ("SVC_TOKEN", "svc_pat_wrong")];
    let mut bridge = Bridge::of(svc(server.home(), &wrong, &["mcp", "stdio"]));
    let answer = bridge.ask(1, "ping", json!({})).await;
    assert_eq!(error_code(&answer), -32000);
    bridge.end().await;

    // The configuration for a client without HTTP works as printed; only `HOME` is set in
    // addition.
    for client in ["claude-desktop", "stdio"] {
        let args = [
            "mcp",
            "config",
            "--client",
            client,
            "--create-token",
            "--search",
        ];
        let printed = server.cli(&ann).run(&args).await.expect(0).json();
        let entry = &printed["mcpServers"]["svc"];
        let mut command = Command::new(entry["command"].as_str().unwrap());
        for arg in entry["args"].as_array().unwrap() {
            command.arg(arg.as_str().unwrap());
        }
        command.env_clear();
        for (name, value) in entry["env"].as_object().unwrap() {
            command.env(name, value.as_str().unwrap());
        }
        command
            .env("HOME", server.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut bridge = Bridge::of(command);
        bridge.initialize().await;
        let listed = bridge.ask(1, "tools/list", json!({})).await;
        assert_eq!(names(result(&listed)), ["tool_search", "execute_tool"]);
        bridge.end().await;
    }
}

#[tokio::test]
async fn a_client_that_stops_reading_ends_the_bridge() {
    let (server, ann, _agent) = with_echo().await;
    let mut bridge = Bridge::start(&server, &ann, &[]);
    bridge.ask(1, "ping", json!({})).await;
    let Bridge {
        mut child,
        mut input,
        output,
    } = bridge;
    drop(output);
    let ping = b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n";
    input.as_mut().unwrap().write_all(ping).await.unwrap();
    // Stdin stays open.
    let status = timeout(LINE_LIMIT, child.wait()).await;
    assert!(status.expect("the bridge ends").unwrap().success());
}
