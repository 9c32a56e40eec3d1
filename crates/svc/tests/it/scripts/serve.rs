//! The script method server behind an agent (spec 4.4): every request runs in a fresh evaluator,
//! and JSON passes unchanged.

use serde_json::{Value, json};
use svc_testkit::{RegistrationToml, error_code, eventually, method, result, svc_program};
use tokio::task::{JoinHandle, JoinSet};

use super::lab::Lab;
use crate::SOON;

impl Lab {
    /// A lab whose method server runs these handlers. Each handler is published under its own
    /// name.
    pub async fn serving(handlers: &str, args: &[&str]) -> Self {
        let lab = Self::new().await;
        lab.serve(handlers, args).await;
        lab
    }

    pub async fn serve(&self, handlers: &str, args: &[&str]) {
        self.write_setup(handlers, "");
        let registration = registration(handlers, args);
        self.agent.register(registration).await.expect(0);
    }

    /// Writes the handlers and a setup script, which routes to each handler and then runs `more`.
    pub fn write_setup(&self, handlers: &str, more: &str) {
        let routes: String = names_of(handlers)
            .map(|name| format!("jsonrpc.method(\"{name}\", \"handlers.{name}\")\n"))
            .collect();
        let setup = format!("from svc import jsonrpc\n{routes}{more}");
        self.space.write("setup.py", &setup);
        self.space.write("handlers.py", handlers);
    }

    /// The result of a call with empty params.
    pub async fn call(&self, name: &str) -> Value {
        result(&self.ann.call(name, json!({})).await).clone()
    }

    /// Starts a call of the handler [`HOLD`], and waits until it runs.
    pub async fn hold(&self, name: &str) -> Held {
        let params = json!({"begun": format!("{name}.begun"), "until": format!("{name}.until")});
        let call = self.ann.start_call("hold", params);
        self.wait_for_file(&format!("{name}.begun")).await;
        Held {
            call,
            name: name.to_owned(),
        }
    }

    pub async fn release(&self, held: Held) {
        self.space.write(&format!("{}.until", held.name), "");
        assert_eq!(result(&held.call.await.unwrap()), "held", "{}", held.name);
    }

    pub async fn wait_for_file(&self, name: &str) {
        let path = self.space.folder().join(name);
        eventually(&format!("`{name}` is there"), SOON, || async {
            path.exists()
        })
        .await;
    }
}

/// A call in flight.
pub struct Held {
    call: JoinHandle<Value>,
    name: String,
}

/// A handler that runs until a file exists.
pub const HOLD: &str = r#"
import os
import time

def hold(params):
    with open(params["begun"], "w") as file:
        file.write("begun")
    while not os.path.exists(params["until"]):
        time.sleep(0.01)
    return "held"
"#;

/// A registration of the script method server, with a method for each handler.
pub fn registration(handlers: &str, args: &[&str]) -> RegistrationToml {
    let all = [&["run-script", "--json-rpc", "setup.py"], args].concat();
    let server = RegistrationToml::of(&svc_program(), &all);
    names_of(handlers).fold(server, |registration, name| registration.plain(name))
}

/// The names of the handlers: the functions that take `params`.
fn names_of(handlers: &str) -> impl Iterator<Item = &str> {
    handlers.lines().filter_map(|line| {
        line.strip_prefix("def ")?
            .strip_suffix("(params):")
            .filter(|name| !name.is_empty())
    })
}

const COUNTING: &str = r#"
import helper
from svc import jsonrpc

COUNT = 0
SEEN = []

def kept(so_far=[]):
    so_far.append(1)
    return len(so_far)

def count(params):
    global COUNT
    COUNT += 1
    SEEN.append(params)
    helper.STATE["n"] = helper.STATE.get("n", 0) + 1
    jsonrpc.method("count", "handlers.other")
    return [COUNT, len(SEEN), helper.STATE["n"], kept()]

def other(params):
    return "another"
"#;

#[tokio::test]
async fn s4_4_a_change_of_a_global_is_never_seen_by_the_next_request() {
    let lab = Lab::new().await;
    lab.space.write("helper.py", "STATE = {}\n");
    // Each request starts with the state after the setup.
    lab.write_setup(
        COUNTING,
        "import handlers\nhandlers.SEEN.append('setup')\nhandlers.kept()\n",
    );
    let registration = registration(COUNTING, &["--workers", "2"]);
    lab.agent.register(registration).await.expect(0);
    let fresh = json!([1, 2, 1, 2]);
    for _ in 0..10 {
        assert_eq!(lab.call("count").await, fresh);
    }
    let mut callers = JoinSet::new();
    for caller in 0..16 {
        let ann = lab.ann.clone();
        callers.spawn(async move {
            let mut answers = Vec::new();
            for n in 0..12 {
                answers.push(ann.call("count", json!({"caller": caller, "n": n})).await);
            }
            answers
        });
    }
    let answers = callers.join_all().await.concat();
    assert_eq!(answers.len(), 16 * 12);
    for answer in answers {
        assert_eq!(result(&answer), &fresh);
    }
}

const LOUD: &str = r#"
def echo(params):
    return params

def many_lines(params):
    for n in range(params["lines"]):
        print("y" * 100)
    return "said"

def one_line(params):
    print("z" * params["bytes"])
    return "said"

def half_a_line(params):
    print("the ink", end="")
    return "said"
"#;

#[tokio::test]
async fn s4_4_output_of_handlers_of_any_size_goes_to_the_log() {
    let lab = Lab::serving(LOUD, &[]).await;
    let said = |response: Value| assert_eq!(result(&response), "said");
    // An unfinished line is logged as a line. The output of the next request is not added to it.
    said(lab.ann.call("half_a_line", json!({})).await);
    let line = lab.space.wait_for_log("the ink", SOON).await;
    assert_eq!(line, "the ink");
    let lines = lab.ann.start_call("many_lines", json!({"lines": 200_000}));
    let line = lab.ann.start_call("one_line", json!({"bytes": 20 << 20}));
    assert_eq!(lab.ann.call("echo", json!([1])).await["result"], json!([1]));
    said(lines.await.unwrap());
    said(line.await.unwrap());
    lab.space.wait_for_log(&"y".repeat(100), SOON).await;
    said(lab.ann.call("half_a_line", json!({})).await);
}

#[tokio::test]
async fn s4_4_an_unrouted_local_name_is_method_not_found() {
    let lab = Lab::new().await;
    lab.write_setup(LOUD, "");
    let registration = registration(LOUD, &[]).with(method("nowhere", "no_route"));
    lab.agent.register(registration).await.expect(0);
    let response = lab.ann.call("nowhere", json!({})).await;
    assert_eq!(error_code(&response), -32601, "{response}");
    assert_eq!(lab.ann.call("echo", json!([2])).await["result"], json!([2]));
}

const NOTED: &str = r#"
def note(params):
    with open(params["file"], "w") as file:
        file.write(params["text"])

def spill(params):
    raise ValueError("the ink is spilt")
"#;

#[tokio::test]
async fn s4_4_notifications_run_and_their_failures_are_logged() {
    let lab = Lab::serving(NOTED, &[]).await;
    for n in 0..3 {
        let params = json!({"file": format!("{n}.txt"), "text": "written"});
        lab.ann.notify("note", params).await.expect(204);
        lab.wait_for_file(&format!("{n}.txt")).await;
        lab.ann.notify("spill", json!({})).await.expect(204);
    }
    let path = lab.space.folder().join("2.txt");
    eventually("the file is written", SOON, || async {
        std::fs::read_to_string(&path).unwrap() == "written"
    })
    .await;
    lab.space.wait_for_log("the ink is spilt", SOON).await;
    let path = lab.space.folder().join("3.txt");
    let params = json!({"file": path, "text": "called"});
    assert_eq!(result(&lab.ann.call("note", params).await), &Value::Null);
}

#[tokio::test]
async fn s4_4_numbers_keys_and_null_arrive_unchanged() {
    let handlers = "def echo(params):
    return params
";
    let lab = Lab::serving(handlers, &[]).await;
    for params in [
        r#"{"z":1,"a":null,"m":[123456789012345678901234567890,-98765432109876543210,0],"b":{"y":2,"x":1}}"#,
        r#"[0.1,1e+300,true,false,null,"","\"\\ü\n",[],{}]"#,
        r#"{"18446744073709551616":18446744073709551616}"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"echo","params":{params},"id":"i"}}"#);
        let answer = lab.ann.call_raw(body).await.expect(200).text();
        let expected = format!(r#"{{"jsonrpc":"2.0","result":{params},"id":"i"}}"#);
        assert_eq!(answer.trim(), expected);
    }
}
