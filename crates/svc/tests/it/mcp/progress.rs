//! Progress of a call, from the reports of a method to the client that requested them.

use std::path::Path;

use serde_json::{Value, json};
use svc_testkit::{
    Answer, RegistrationToml, SseStream, TestAgent, TestServer, TestSpace, TestUser, error_code,
    eventually, method, result, svc_program,
};

use crate::{
    SOON,
    examples::have,
    mcp::{LEGACY, MODERN, meta, post, text},
};

/// `steps` reports three times and delays the last until the file `go` exists; `back` also reports
/// lower values; `flood` reports 5,000 times without a pause; `quiet` never reports.
const METHOD_SERVER: &str = r#"
report() { echo "{\"jsonrpc\":\"2.0\",\"method\":\"\$/progress\",\"params\":{\"id\":$id,$1}}"; }
while read -r line; do
  id=${line##*\"id\":}; id=${id%\}}
  case "$line" in
    *\"steps\"*)
      report '"progress":0,"total":100'; report '"progress":50,"total":100,"message":"half"'
      while [ ! -e go ]; do sleep 0.02; done
      report '"progress":100,"total":100';;
    *\"back\"*) for n in 3 1 3 2.5 4 4; do report "\"progress\":$n"; done;;
    *\"flood\"*) n=0; while [ $n -lt 5000 ]; do n=$((n + 1)); report "\"progress\":$n"; done;;
  esac
  echo "{\"id\":$id,\"result\":\"done\"}"
done
"#;

struct Site {
    ann: TestUser,
    space: TestSpace,
    agent: TestAgent,
    _server: TestServer,
}

impl Site {
    async fn start() -> Self {
        let server = TestServer::start().await;
        let ann = server.user("ann").await;
        let space = ann.space("lab").await;
        let names = ["steps", "back", "flood", "quiet"];
        let registration = names
            .iter()
            .fold(RegistrationToml::shell(METHOD_SERVER), |all, name| {
                all.with(method(name, name).mcp_tool())
            });
        let agent = space.publish(registration).await;
        Self {
            ann,
            space,
            agent,
            _server: server,
        }
    }

    fn go(&self) {
        self.space.write("go", "");
    }
}

/// A call of a tool, and the details of its request.
#[derive(Clone)]
struct Call {
    version: &'static str,
    path: &'static str,
    accept: &'static str,
    token: Value,
    params: Value,
}

impl Call {
    fn of(version: &'static str, tool: &str) -> Self {
        Self {
            version,
            path: "/mcp",
            accept: "application/json, text/event-stream",
            token: json!("token 1"),
            params: json!({"name": tool, "arguments": {}}),
        }
    }

    fn head_and_body(&self, user: &TestUser) -> (http::request::Builder, String) {
        let mut params = self.params.clone();
        params["_meta"] = match self.version {
            MODERN => meta(),
            _ => json!({}),
        };
        if !self.token.is_null() {
            params["_meta"]["progressToken"] = self.token.clone();
        }
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        let head = user
            .request("POST", self.path)
            .header("content-type", "application/json")
            .header("accept", self.accept)
            .header("mcp-protocol-version", self.version)
            .header("mcp-method", "tools/call")
            .header("mcp-name", name);
        (head, body.to_string())
    }

    async fn send(&self, user: &TestUser) -> Answer {
        let (head, body) = self.head_and_body(user);
        user.http().send(head.body(body.into()).unwrap()).await
    }

    async fn open(&self, user: &TestUser) -> SseStream {
        let (head, body) = self.head_and_body(user);
        SseStream::open(&user.http(), head.body(body.into()).unwrap()).await
    }

    /// Every message of the stream.
    async fn collect(&self, user: &TestUser) -> Vec<Value> {
        rest(self.open(user).await).await
    }
}

async fn next(stream: &mut SseStream) -> Option<Value> {
    let message = stream.next(SOON).await?;
    assert_eq!(message.event, "message");
    Some(serde_json::from_str(&message.data).expect("JSON"))
}

async fn rest(mut stream: SseStream) -> Vec<Value> {
    let mut all = Vec::new();
    while let Some(message) = next(&mut stream).await {
        all.push(message);
    }
    all
}

fn notification(params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
}

/// The numbers that were reported, and the response.
#[track_caller]
fn split(mut messages: Vec<Value>) -> (Vec<f64>, Value) {
    let response = messages.pop().expect("a response");
    assert_eq!(response["id"], 7, "{response}");
    let number = |message: &Value| {
        assert_eq!(message["method"], "notifications/progress");
        message["params"]["progress"].as_f64().unwrap()
    };
    (messages.iter().map(number).collect(), response)
}

#[tokio::test]
async fn progress_arrives_while_the_call_runs_and_the_result_last() {
    for (version, token) in [(LEGACY, json!("a \"b\"")), (MODERN, json!(9))] {
        let site = Site::start().await;
        let mut call = Call::of(version, "steps");
        call.token = token.clone();
        let mut stream = call.open(&site.ann).await;
        assert_eq!(
            next(&mut stream).await,
            Some(notification(
                json!({"progressToken": token, "progress": 0, "total": 100})
            ))
        );
        assert_eq!(
            next(&mut stream).await,
            Some(notification(
                json!({"progressToken": token, "progress": 50, "total": 100, "message": "half"})
            ))
        );
        site.go();
        let (reported, response) = split(rest(stream).await);
        assert_eq!(reported, [100.0], "{version}");
        assert_eq!(text(result(&response)), "done");
        let is_modern = result(&response)["resultType"] == "complete";
        assert_eq!(is_modern, version == MODERN);
    }
}

#[tokio::test]
async fn progress_only_increases() {
    let site = Site::start().await;
    let told = Call::of(MODERN, "back").collect(&site.ann).await;
    assert_eq!(split(told).0, [3.0, 4.0]);
}

#[tokio::test]
async fn without_a_progress_token_or_a_report_the_response_is_unchanged() {
    let site = Site::start().await;
    site.go();
    for version in [LEGACY, MODERN] {
        let plain = Call::of(version, "steps");
        let mut calls = vec![Call::of(version, "quiet")];
        for token in [json!(null), json!(true), json!(["t"]), json!({})] {
            calls.push(Call {
                token,
                ..plain.clone()
            });
        }
        calls.push(Call {
            accept: "application/json",
            ..plain
        });
        for call in calls {
            let answer = call.send(&site.ann).await.expect(200);
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert_eq!(text(result(&answer.json())), "done", "{}", call.token);
        }
        // Refusals are not streams either.
        let unknown = Call::of(version, "nowhere").send(&site.ann).await;
        assert_eq!(error_code(&unknown.expect(200).json()), -32602);
    }
    let mut call = Call::of(MODERN, "steps");
    call.version = "2099-01-01";
    assert_eq!(
        error_code(&call.send(&site.ann).await.expect(400).json()),
        -32022
    );
    // `POST /api/methods/call` has no stream for reports.
    for name in ["steps", "back", "flood"] {
        assert_eq!(result(&site.ann.call(name, json!({})).await), "done");
    }
}

#[tokio::test]
async fn a_flood_of_reports_is_reduced() {
    let site = Site::start().await;
    let begun = std::time::Instant::now();
    let told = Call::of(LEGACY, "flood").collect(&site.ann).await;
    let seconds = begun.elapsed().as_secs_f64().ceil();
    let (reported, response) = split(told);
    assert_eq!(text(result(&response)), "done");
    assert!(reported.is_sorted(), "{reported:?}");
    assert!(reported.len() as f64 <= 20.0 * seconds, "{reported:?}");
    assert_eq!(reported.last(), Some(&5000.0), "the last one is not lost");
    let log = site.space.log().await;
    assert!(!log.iter().any(|line| line.contains("progress")), "{log:?}");
}

#[tokio::test]
async fn closing_a_stream_of_reports_cancels_the_call() {
    let site = Site::start().await;
    for version in [LEGACY, MODERN] {
        let mut stream = Call::of(version, "steps").open(&site.ann).await;
        next(&mut stream).await.expect("a report");
        site.ann.wait_for_in_flight("steps", 1).await;
        drop(stream);
        site.ann.wait_for_in_flight("steps", 0).await;
        // The method server finishes the call, and then takes the next one.
        site.go();
        let answer = site.ann.call("quiet", json!({})).await;
        assert_eq!(result(&answer), "done");
        std::fs::remove_file(site.space.folder().join("go")).unwrap();
    }
    site.space.wait_for_log("$/progress", SOON).await;
}

#[tokio::test]
async fn a_cancelled_notification_ends_a_stream_of_reports_without_an_answer() {
    let site = Site::start().await;
    let mut stream = Call::of(LEGACY, "steps").open(&site.ann).await;
    next(&mut stream).await.expect("a report");
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7},
    });
    let headers = [("mcp-protocol-version", LEGACY)];
    post(&site.ann, "/mcp", &headers, cancelled)
        .await
        .expect(202);
    let messages = rest(stream).await;
    let is_report = |message: &Value| message["method"] == "notifications/progress";
    assert!(messages.iter().all(is_report), "{messages:?}");
    site.ann.wait_for_in_flight("steps", 0).await;
    site.go();
}

#[tokio::test]
async fn progress_passes_through_execute_tool() {
    let site = Site::start().await;
    let mut call = Call::of(MODERN, "execute_tool");
    call.path = "/mcp?tools=search";
    call.params["arguments"] = json!({"name": "back", "arguments": {}});
    assert_eq!(split(call.collect(&site.ann).await).0, [3.0, 4.0]);
    call.params = json!({"name": "tool_search", "arguments": {"query": ""}});
    let answer = call.send(&site.ann).await.expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
}

const HANDLERS: &str = r#"
import time

from svc import jsonrpc


def index(params):
    for number in range(params.get("count", 3)):
        jsonrpc.progress(number + 1, params.get("count", 3), "file " + str(number))
        time.sleep(params.get("pause", 0))
    return "indexed"
"#;

async fn script_reports(command: &Path, args: &[&str]) {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    space.write("handlers.py", HANDLERS);
    space.write(
        "setup.py",
        "from svc import jsonrpc\njsonrpc.method('index', 'handlers.index')\n",
    );
    let registration =
        RegistrationToml::of(command, args).with(method("index", "index").mcp_tool());
    let agent = space.publish(registration).await;
    let mut call = Call::of(MODERN, "index");
    let told = call.collect(&ann).await;
    assert_eq!(
        told[1]["params"],
        json!({"progressToken": "token 1", "progress": 2, "total": 3, "message": "file 1"})
    );
    let (reported, response) = split(told);
    assert_eq!(reported, [1.0, 2.0, 3.0]);
    assert_eq!(text(result(&response)), "indexed");

    // A script may report as often as it wants. Not all reports are sent.
    call.params["arguments"] = json!({"count": 20_000});
    let (reported, response) = split(call.collect(&ann).await);
    assert_eq!(text(result(&response)), "indexed");
    assert_eq!(reported.last(), Some(&20_000.0));
    assert!(reported.len() < 1_000, "{}", reported.len());

    // A call without a progress token, and a notification: their reports are dropped.
    assert_eq!(result(&ann.call("index", json!({})).await), "indexed");
    ann.notify("index", json!({})).await.expect(204);
    let is_idle = async || {
        let status = agent.status().await;
        status["method_server"]["in_flight"] == 0
    };
    eventually("the method server is idle", SOON, is_idle).await;
    assert_eq!(result(&ann.call("index", json!({})).await), "indexed");
    let log = space.log().await;
    assert!(!log.iter().any(|line| line.contains("progress")), "{log:?}");
}

#[tokio::test]
async fn progress_of_a_script_handler() {
    script_reports(&svc_program(), &["run-script", "--json-rpc", "setup.py"]).await;
}

#[tokio::test]
async fn progress_of_a_handler_on_cpython() {
    if have("python3") {
        script_reports(
            Path::new("python3"),
            &["-B", "-m", "svc.jsonrpc", "setup.py"],
        )
        .await;
    }
}

#[tokio::test]
async fn a_delayed_report_is_sent_before_the_result() {
    let site = Site::start().await;
    site.space.write(
        "burst.sh",
        r#"
while read -r line; do
  id=${line##*\"id\":}; id=${id%\}}; n=0
  while [ $n -lt 200 ]; do
    n=$((n + 1))
    echo "{\"method\":\"\$/progress\",\"params\":{\"id\":$id,\"progress\":$n}}"
  done
  while [ ! -e go ]; do sleep 0.02; done
  echo "{\"id\":$id,\"result\":\"done\"}"
done
"#,
    );
    let registration = RegistrationToml::of(Path::new("sh"), &["burst.sh"]);
    let registration = registration.with(method("burst", "burst").mcp_tool());
    site.agent.register(registration).await.expect(0);
    let mut stream = Call::of(LEGACY, "burst").open(&site.ann).await;
    loop {
        let message = stream.next(SOON).await.unwrap();
        if message.data.contains(r#""progress":200"#) {
            break;
        }
    }
    site.go();
    assert_eq!(split(rest(stream).await).0, Vec::<f64>::new());
}
