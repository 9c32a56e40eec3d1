//! Processes and files of a script method server (spec 4.4): its setup and libraries, changes of
//! its files, and how its processes end.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use svc_testkit::{
    Cli, Process, TempDir, children_of, descendants_of, eventually, get_eventually, is_running,
    result, svc_program,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{
    lab::Lab,
    serve::{HOLD, registration},
};
use crate::SOON;

const SPIN: &str = r#"
def spin(params):
    with open("spin.begun", "w") as file:
        file.write("begun")
    while True:
        pass
"#;

fn kill9(id: u32) {
    let status = Command::new("kill").args(["-9", &id.to_string()]).status();
    assert!(status.unwrap().success());
}

async fn wait_until_all_gone(ids: &[u32]) {
    eventually(&format!("{ids:?} end"), SOON, || async {
        !ids.iter().any(|&id| is_running(id))
    })
    .await;
}

#[tokio::test]
async fn s4_4_a_change_of_a_watched_file_is_served_without_a_restart() {
    let version = |text: &str| format!("import parts\n\ndef version(params):\n    return {text}\n");
    let lab = Lab::new().await;
    lab.space.write("parts.py", "N = 1\n");
    lab.serve(&version("['first', parts.N]"), &["--watch"])
        .await;
    let pid = lab.agent.method_server_pid().await;
    let becomes = async |expected: Value| {
        // Every call until then must succeed.
        eventually(&format!("{expected} is served"), SOON, || async {
            lab.call("version").await == expected
        })
        .await;
    };
    becomes(json!(["first", 1])).await;
    let path = lab
        .space
        .write("handlers.py", &version("['second', parts.N]"));
    becomes(json!(["second", 1])).await;
    // Modules that a watched file imports are watched too.
    lab.space.write("parts.py", "N = 22\n");
    becomes(json!(["second", 22])).await;

    for (broken, said) in [
        ("def version(params:\n", "SyntaxError"),
        ("1 / 0\n", "ZeroDivisionError"),
        (
            "def another(params):\n    return 1\n",
            "cannot import name 'version'",
        ),
    ] {
        std::fs::write(&path, broken).unwrap();
        lab.space.wait_for_log(said, SOON).await;
        assert_eq!(lab.call("version").await, json!(["second", 22]), "{said}");
    }
    lab.space
        .wait_for_log("the previous setup stays", SOON)
        .await;
    std::fs::write(&path, version("'mended'")).unwrap();
    becomes(json!("mended")).await;
    // A missing module is watched too, although no run has loaded it.
    std::fs::write(&path, format!("import late\n{}", version("late.N"))).unwrap();
    lab.space.wait_for_log("'late'", SOON).await;
    lab.space.write("late.py", "N = 'late'\n");
    becomes(json!("late")).await;
    // The setup file is watched too.
    lab.space.write(
        "setup.py",
        "from svc import jsonrpc\njsonrpc.method('version', 'parts.n')\n",
    );
    lab.space
        .write("parts.py", "def n(params):\n    return 'rerouted'\n");
    becomes(json!("rerouted")).await;
    assert_eq!(
        lab.agent.method_server_pid().await,
        pid,
        "the method server never ended"
    );
}

#[tokio::test]
async fn s4_4_without_watch_a_change_waits_for_the_next_registration() {
    let version = |n: u32| format!("def version(params):\n    return {n}\n");
    let lab = Lab::serving(&version(1), &[]).await;
    lab.space.write("handlers.py", &version(2));
    assert_eq!(lab.call("version").await, 1);
    lab.serve(&version(2), &[]).await;
    assert_eq!(lab.call("version").await, 2);
}

#[tokio::test]
async fn s4_4_stopping_the_agent_leaves_no_process_of_a_handler() {
    let handlers = format!("{HOLD}{SPIN}");
    let args = ["--workers", "2", "--timeout", "20"];
    let mut lab = Lab::serving(&handlers, &args).await;
    let held = lab.hold("stop").await;
    lab.release(held).await;
    let spinning = lab.ann.start_call("spin", json!({}));
    lab.wait_for_file("spin.begun").await;
    let below = descendants_of(lab.agent.process().id());
    let server = lab.agent.method_server_pid().await;
    let workers = children_of(server);
    assert!(below.contains(&server) && !workers.is_empty(), "{below:?}");
    assert_eq!(lab.agent.stop().await.code(), Some(0));
    wait_until_all_gone(&below).await;
    // The call was in flight, and gets an error.
    let answer = spinning.await.unwrap();
    assert!(answer["error"]["code"].is_i64(), "{answer}");
}

#[tokio::test]
async fn s4_4_the_script_method_server_reports_to_its_agent_that_it_is_ready() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let setup = "from svc import jsonrpc\njsonrpc.method('hold', 'handlers.hold')\n";
    write("setup.py", setup);
    write("handlers.py", HOLD);
    let serve = ["run-script", "--json-rpc", "setup.py"];
    let svc = || Cli::new(folder.path()).folder(folder.path()).input("");
    let under_agent = svc().env("SVC_AGENT_SOCKET", "agent.sock");
    let served = under_agent.run(&serve).await.expect(0);
    assert_eq!(
        served.stdout,
        "{\"jsonrpc\":\"2.0\",\"method\":\"$/ready\"}\n"
    );
    // Without an agent, no ready message is written: other readers do not expect it.
    assert_eq!(svc().run(&serve).await.expect(0).stdout, "");
    // If the setup fails, no ready message is written.
    write("setup.py", "1 / 0\n");
    let failed = svc().env("SVC_AGENT_SOCKET", "agent.sock").run(&serve);
    assert_eq!(failed.await.stdout, "");
}

/// Sends Ctrl-C as a terminal does: to the whole foreground group.
#[tokio::test]
async fn s4_4_ctrl_c_lets_the_request_in_flight_finish() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let setup = "from svc import jsonrpc\njsonrpc.method('hold', 'handlers.hold')\n";
    write("setup.py", setup);
    write("handlers.py", HOLD);
    let mut server = tokio::process::Command::new(svc_program())
        .args(["run-script", "--json-rpc", "setup.py"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let request = json!({
        "jsonrpc": "2.0", "method": "hold", "id": 1, "params": {"begun": "begun", "until": "until"},
    });
    let line = format!("{request}\n");
    input.write_all(line.as_bytes()).await.unwrap();
    let begun = folder.path().join("begun");
    eventually("the request runs", SOON, || async { begun.exists() }).await;
    let group = format!("-{}", server.id().unwrap());
    let sent = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(sent.unwrap().success());
    // Long enough to notice a process that ends at once.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    write("until", "");
    let mut answer = String::new();
    let mut output = server.stdout.take().unwrap();
    output.read_to_string(&mut answer).await.unwrap();
    let answer: Value = serde_json::from_str(&answer).expect("one answer");
    assert_eq!(result(&answer), "held");
    assert_eq!(server.wait().await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn s4_4_a_killed_method_server_ends_its_workers_and_is_restarted() {
    let handlers = format!("{HOLD}{SPIN}def echo(params):\n    return params\n");
    let lab = Lab::serving(&handlers, &["--workers", "2"]).await;
    let spinning = lab.ann.start_call("spin", json!({}));
    lab.wait_for_file("spin.begun").await;
    let server = lab.agent.method_server_pid().await;
    let workers = children_of(server);
    assert!(!workers.is_empty());
    kill9(server);
    wait_until_all_gone(&workers).await;
    assert_eq!(spinning.await.unwrap()["error"]["code"], -32002);
    let echoed = lab.ann.call("echo", json!([1])).await;
    assert_eq!(result(&echoed), &json!([1]));
    assert_ne!(lab.agent.method_server_pid().await, server);
}

#[tokio::test]
async fn s4_4_processes_of_a_handler_end_at_its_timeout_and_with_its_method_server() {
    let handlers = r#"
import subprocess

def waits(params):
    subprocess.run(["sh", "-c", "echo $$ > shell.pid; exec sleep 600"])
"#;
    for (timeout, kill) in [("10", false), ("60", true)] {
        let lab = Lab::serving(handlers, &["--timeout", timeout]).await;
        let waiting = lab.ann.start_call("waits", json!({}));
        let path = lab.space.folder().join("shell.pid");
        let shell: u32 = get_eventually("the process runs", SOON, || async {
            std::fs::read_to_string(&path).ok()?.trim().parse().ok()
        })
        .await;
        assert!(is_running(shell));
        if kill {
            kill9(lab.agent.method_server_pid().await);
        }
        wait_until_all_gone(&[shell]).await;
        let code = if kill { -32002 } else { -32001 };
        assert_eq!(waiting.await.unwrap()["error"]["code"], code);
    }
}

#[tokio::test]
async fn s4_4_a_killed_worker_fails_its_own_call_only() {
    let handlers = format!("{HOLD}{SPIN}");
    let lab = Lab::serving(&handlers, &["--workers", "2"]).await;
    let server = lab.agent.method_server_pid().await;
    let spinning = lab.ann.start_call("spin", json!({}));
    lab.wait_for_file("spin.begun").await;
    let its_worker = children_of(server);
    assert_eq!(its_worker.len(), 1, "workers start as they are needed");
    let held = lab.hold("other").await;
    kill9(its_worker[0]);
    let answer = spinning.await.unwrap();
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert_eq!(answer["error"]["data"]["reason"], "worker", "{answer}");
    lab.release(held).await;
    let held = lab.hold("after").await;
    lab.release(held).await;
    assert_eq!(lab.agent.method_server_pid().await, server);
}

#[tokio::test]
async fn s4_4_a_killed_agent_leaves_no_process_of_a_handler() {
    let handlers = format!("{HOLD}{SPIN}");
    let args = ["--workers", "2", "--timeout", "20"];
    let mut lab = Lab::serving(&handlers, &args).await;
    let spinning = lab.ann.start_call("spin", json!({}));
    lab.wait_for_file("spin.begun").await;
    let below = descendants_of(lab.agent.process().id());
    assert!(below.len() >= 2, "{below:?}");
    lab.agent.kill9();
    wait_until_all_gone(&below).await;
    assert!(spinning.await.unwrap()["error"]["code"].is_i64());
}

#[tokio::test]
async fn s4_4_a_setup_that_fails_refuses_the_registration_with_its_error() {
    let good = "def version(params):\n    return 1\n";
    let lab = Lab::serving(good, &[]).await;
    let route = "from svc import jsonrpc\njsonrpc.method('version', 'handlers.version')\n";
    for (setup, handlers, said) in [
        ("x = = 1\n", good, "setup.py\", line 1"),
        ("print('no routes')\n", good, "assigns no methods"),
        (route, "x = = 1\n", "handlers.py\", line 1"),
        (route, "x = 1\n", "`handlers.version`"),
        ("import nowhere\n", good, "nowhere"),
        (
            "from svc import jsonrpc\njsonrpc.method('version', 'version')\n",
            good,
            "line 2",
        ),
    ] {
        lab.space.write("setup.py", setup);
        lab.space.write("handlers.py", handlers);
        let refused = lab.agent.register(registration(good, &[])).await.expect(6);
        assert!(refused.stderr.contains(said), "{said}: {}", refused.stderr);
        assert_eq!(
            lab.call("version").await,
            1,
            "the former setup keeps serving"
        );
    }
}

const LIBRARIES: &str = r#"
import beside
import shared_words
from pack.sub import inner
from words import WORD

def top(params):
    return [beside.NAME, inner(), WORD, shared_words.WORD]

def lazy(params):
    import lazy_beside
    import lazy_words
    return [lazy_beside.NAME, lazy_words.WORD]
"#;

#[tokio::test]
async fn s4_4_handlers_import_libraries_beside_the_script_and_stored_ones() {
    let lab = Lab::new().await;
    let admin = lab.server.admin().await;
    let word = |text: &str| format!("WORD = '{text}'\n");
    for (user, owner, name, text) in [
        (&lab.ann, "user", "words", "of ann"),
        (&admin, "global", "words", "of everybody"),
        (&admin, "global", "shared_words", "shared"),
        (&lab.ann, "user", "lazy_words", "late"),
        // A file beside the script has priority.
        (&lab.ann, "user", "beside", "not this one"),
    ] {
        let body = json!({"name": name, "kind": "library", "owner": owner, "source": word(text)});
        user.post("/api/scripts", body).await.expect(201);
    }
    std::fs::create_dir(lab.space.folder().join("pack")).unwrap();
    for (file, text) in [
        ("beside.py", "NAME = 'beside'\n"),
        ("lazy_beside.py", "NAME = 'lazily beside'\n"),
        ("pack/__init__.py", ""),
        ("pack/sub.py", "def inner():\n    return 'in a package'\n"),
    ] {
        lab.space.write(file, text);
    }
    lab.serve(LIBRARIES, &[]).await;
    for _ in 0..2 {
        let expected = json!(["beside", "in a package", "of ann", "shared"]);
        assert_eq!(lab.call("top").await, expected);
        assert_eq!(lab.call("lazy").await, json!(["lazily beside", "late"]));
    }
}

const AT_HOME: &str = r#"
import os
from svc import api, event

def double(params):
    return 2 * params["n"]

def look(params):
    return {
        "event": event.emit("lab.used", {"by": params["by"]}),
        "doubled": api.call("double", {"n": 21}),
        "refused": api.call_response("nowhere")["error"]["code"],
        "me": api.me()["username"],
        "space": api.get_space("lab")["name"],
        "methods": [method["name"] for method in api.list_methods()],
        "variables": sorted([name for name in os.environ if name.startswith("SVC_")]),
        "file": os.path.exists("handlers.py"),
    }
"#;

#[tokio::test]
async fn s4_4_handlers_emit_and_call_without_an_address_or_a_token() {
    let lab = Lab::serving(AT_HOME, &["--workers", "2"]).await;
    let response = lab.ann.call("look", json!({"by": "ann"})).await;
    let mut found = result(&response).clone();
    let id = found["event"].take();
    let variables = found["variables"].take();
    assert_eq!(
        found,
        json!({
            "event": null, "doubled": 42, "refused": -32601, "me": "ann", "space": "lab",
            "methods": ["double", "look"], "variables": null, "file": true,
        })
    );
    for secret in ["SVC_TOKEN", "SVC_AGENT_TOKEN"] {
        let named = variables.as_array().unwrap().contains(&json!(secret));
        assert!(!named, "{variables}");
    }
    let event = get_eventually("the event is there", SOON, || async {
        let path = "/api/events?type=custom.lab.used";
        let events = lab.ann.get(path).await.expect(200).json();
        events["events"].as_array().unwrap().first().cloned()
    })
    .await;
    assert_eq!(event["event_id"], id);
    assert_eq!(event["data"], json!({"by": "ann"}));
    assert_eq!(event["space_id"], lab.space.id);
    let pid = lab.agent.method_server_pid().await;
    lab.agent
        .cli()
        .run(&["methods", "unregister"])
        .await
        .expect(0);
    Process::wait_until_gone(pid, SOON).await;
}
