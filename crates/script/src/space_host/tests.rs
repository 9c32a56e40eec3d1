//! The host of a space against a socket that answers what the test says.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    sync::mpsc,
    thread,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
    folder
}

fn alone(folder: &Path) -> SpaceHost {
    SpaceHost::new(folder.join("main.py"), None)
}

/// A host whose agent gives these answers (status, body) in turn, and what the agent was asked.
fn with_agent(
    folder: &Path,
    answers: Vec<(u16, String)>,
) -> (SpaceHost, mpsc::Receiver<(String, String)>) {
    let socket = folder.join("agent.sock");
    let listener = UnixListener::bind(&socket).expect("bound");
    let (asked, questions) = mpsc::channel();
    thread::spawn(move || {
        for (status, answer) in answers {
            let (stream, _) = listener.accept().expect("a caller");
            let mut reader = BufReader::new(stream.try_clone().expect("cloned"));
            let mut head = String::new();
            let mut length = 0;
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).expect("read");
                if line.trim().is_empty() {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                if head.is_empty() {
                    line.clone_into(&mut head);
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).expect("a body");
            let body = String::from_utf8(body).expect("text");
            let _ = asked.send((head.trim().to_owned(), body));
            write!(
                &stream,
                "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                answer.len()
            )
            .expect("answered");
        }
    });
    let agent = Some(AgentAccess { socket });
    let host = SpaceHost::new(folder.join("main.py"), agent);
    (host, questions)
}

fn message<T: std::fmt::Debug>(raised: Result<T, Raise>) -> String {
    raised.expect_err("raised").message
}

#[test]
fn modules_are_found_beside_the_script_in_the_order_of_cpython() {
    let folder = folder(&[
        ("one.py", "1"),
        ("pack/__init__.py", "p"),
        ("pack/two.py", "2"),
        ("pack.py", "never"),
        ("data/file.txt", ""),
    ]);
    let mut host = alone(folder.path());
    for (module, text) in [
        ("one", Some("1")),
        ("pack", Some("p")),
        ("pack.two", Some("2")),
        ("data", None),
        ("absent", None),
        ("one.two", None),
        ("", None),
        ("..one", None),
        ("../one", None),
    ] {
        let found = host.library(module).expect("no error");
        assert_eq!(
            found.as_ref().map(|found| found.text.as_str()),
            text,
            "{module}"
        );
        if let Some(Source { file, .. }) = found {
            assert!(Path::new(&file).exists(), "{file} can be watched");
        }
    }
}

#[test]
fn a_link_out_of_the_folder_is_no_module() {
    let outside = folder(&[("secret.py", "s")]);
    let inside = folder(&[]);
    let link = inside.path().join("secret.py");
    symlink(outside.path().join("secret.py"), link).expect("linked");
    let text = message(alone(inside.path()).library("secret"));
    assert!(text.contains("outside the script's folder"), "{text}");
}

#[test]
fn stored_libraries_are_asked_for_once_and_own_ones_win() {
    let script = |name: &str, owner: &str, source: &str| {
        json!({
            "id": uuid::Uuid::nil(), "name": name, "kind": "library", "owner": owner,
            "owner_id": uuid::Uuid::nil(), "description": "", "source": source,
            "params_schema": null, "created_at": "2026-01-01T00:00:00.000Z",
            "updated_at": "2026-01-01T00:00:00.000Z",
        })
    };
    let page = |scripts: &[Value], next: Option<&str>| {
        json!({"scripts": scripts, "next_cursor": next}).to_string()
    };
    let folder = folder(&[("near.py", "beside")]);
    let (mut host, questions) = with_agent(
        folder.path(),
        vec![
            (
                200,
                page(
                    &[script("both", "user", "own"), script("near", "user", "far")],
                    Some("c1"),
                ),
            ),
            (
                200,
                page(
                    &[
                        script("both", "global", "global"),
                        script("rest", "global", "r"),
                    ],
                    None,
                ),
            ),
        ],
    );
    let mut text = |module: &str| {
        let found = host.library(module).expect("no error");
        found.map(|source| source.text)
    };
    assert_eq!(text("near").as_deref(), Some("beside"));
    assert_eq!(text("both").as_deref(), Some("own"));
    assert_eq!(text("rest").as_deref(), Some("r"));
    assert_eq!(text("absent"), None);
    let heads: Vec<String> = questions.try_iter().map(|(head, _)| head).collect();
    assert_eq!(
        heads,
        [
            "GET /api/scripts?kind=library&limit=16 HTTP/1.1",
            "GET /api/scripts?kind=library&limit=16&cursor=c1 HTTP/1.1"
        ]
    );
}

#[test]
fn a_registration_goes_to_the_agent_and_its_refusal_stays_typed() {
    let folder = folder(&[]);
    let problem = json!({
        "type": "about:blank", "title": "Invalid", "status": 422,
        "detail": "group `ops` does not exist", "code": "invalid_registration",
    });
    let (host, questions) = with_agent(
        folder.path(),
        vec![
            (422, problem.to_string()),
            (
                200,
                json!({"methods": ["a.b"], "warnings": ["w"]}).to_string(),
            ),
        ],
    );
    let mut host = host.replacing_conflicting(true);
    let registration = r#"{"server":{"command":"svc"},"methods":[{"name":"a.b","local_name":"b","description":"d"}]}"#;
    let text = message(host.call("register", registration));
    assert_eq!(text, "group `ops` does not exist");
    assert!(host.registered().is_none());
    let refusal = host.take_refusal().expect("kept");
    assert_eq!(refusal.problem_code(), Some("invalid_registration"));

    let answer = host.call("register", registration).expect("accepted");
    assert_eq!(answer, r#"{"methods":["a.b"],"warnings":["w"]}"#);
    assert_eq!(host.registered().expect("kept").methods, ["a.b"]);
    assert!(host.take_refusal().is_none());

    let (head, body) = questions.recv().expect("asked");
    assert_eq!(head, "POST /registration HTTP/1.1");
    let body: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(
        body["path"],
        folder.path().join("main.py").display().to_string()
    );
    assert_eq!(body["replace_conflicting"], true);
    assert_eq!(body["registration"]["methods"][0]["name"], "a.b");
    assert_eq!(body.get("text"), None);
}

#[test]
fn the_api_passes_bodies_through_as_they_are() {
    let folder = folder(&[]);
    let (mut host, questions) = with_agent(
        folder.path(),
        vec![
            (
                200,
                r#"{"big": 123456789012345678901234567890, "a":1}"#.to_owned(),
            ),
            (204, String::new()),
            (500, "no JSON".to_owned()),
        ],
    );
    let mut call = |argument: &str| host.call("api", argument).expect("answered");
    assert_eq!(
        call(r#"{"method":"post","path":"/api/x?y=1","body":{"n": 12345678901234567890123}}"#),
        r#"{"status":200,"body":{"big": 123456789012345678901234567890, "a":1}}"#
    );
    assert_eq!(
        call(r#"{"method":"DELETE","path":"/api/x"}"#),
        r#"{"status":204,"body":null}"#
    );
    assert_eq!(
        call(r#"{"method":"GET","path":"/api/x","body":null}"#),
        r#"{"status":500,"body":"no JSON"}"#
    );
    let (head, body) = questions.recv().expect("asked");
    assert_eq!(head, "POST /api/x?y=1 HTTP/1.1");
    assert_eq!(body, r#"{"n": 12345678901234567890123}"#);
    assert_eq!(questions.recv().expect("asked").1, "");
}

#[test]
fn only_paths_of_the_api_are_asked_for() {
    let folder = folder(&[]);
    let (mut host, _questions) = with_agent(folder.path(), Vec::new());
    for path in [
        "/registration",
        "/api",
        "api/x",
        "/api/../stop",
        "/api/x y",
        "/api/x\r\nx: y",
        "/api/x#y",
        "http://h/api/",
        "/api/events/stream",
        "/api/events/stream?pattern=*",
    ] {
        let argument = json!({"method": "GET", "path": path}).to_string();
        let raised = host.call("api", &argument).expect_err(path);
        assert_eq!(raised.exception, Exception::ValueError, "{path}");
    }
    let raised = host.call("api", r#"{"method":"CONNECT","path":"/api/x"}"#);
    assert!(message(raised).contains("CONNECT"));
}

#[test]
fn without_anybody_to_ask_the_way_out_is_named() {
    let folder = folder(&[]);
    let mut host = alone(folder.path());
    let registration = r#"{"server":{"command":"x"},"methods":[]}"#;
    for (operation, argument, begins) in [
        (
            "register",
            registration,
            "svc.methods works inside a space only: no agent was found (SVC_AGENT_SOCKET is not set",
        ),
        ("unregister", "{}", "svc.methods works inside a space only"),
        (
            "emit",
            r#"{"type":"x","payload":{}}"#,
            "svc.event has nobody to ask",
        ),
        (
            "api",
            r#"{"method":"GET","path":"/api/x"}"#,
            "svc.api has nobody to ask",
        ),
        ("event", "null", "event accessors are for sink scripts"),
        ("nonsense", "null", "there is no operation `nonsense`"),
        ("emit", "[]", "`emit` does not take this"),
    ] {
        let text = message(host.call(operation, argument));
        assert!(text.starts_with(begins), "{text}");
    }
    assert_eq!(host.library("absent").expect("no error"), None);
}

#[test]
fn processes_run_with_bounds() {
    let folder = folder(&[]);
    let mut host = alone(folder.path());
    let mut run = |order: Value| host.call("process", &order.to_string());
    let answer = run(json!({
        "args": ["sh", "-c", "cat; echo err >&2; echo $A; pwd; exit 3"],
        "cwd": folder.path(), "env": {"A": "b", "PATH": "/usr/bin:/bin"}, "input": "in\n",
        "capture": true,
    }));
    let answer: Value = serde_json::from_str(&answer.expect("ran")).expect("JSON");
    let real = folder.path().canonicalize().expect("real");
    assert_eq!(
        answer,
        json!({"returncode": 3, "stdout": format!("in\nb\n{}\n", real.display()), "stderr": "err\n"})
    );
    let raised = run(json!({"args": ["no-such-program"], "capture": true})).expect_err("absent");
    assert_eq!(
        raised.message,
        "[Errno 2] No such file or directory: 'no-such-program'"
    );
    let start = std::time::Instant::now();
    let raised = run(json!({"args": ["sleep", "60"], "timeout": 0.1})).expect_err("too long");
    assert_eq!(raised.exception, Exception::TimeoutError);
    assert!(start.elapsed() < std::time::Duration::from_secs(20));
    let raised = run(json!({"args": ["sh", "-c", "kill -9 $$"], "capture": true}));
    assert!(raised.expect("ran").contains(r#""returncode":-9"#));
    let raised = run(json!({"args": ["yes"], "capture": true})).expect_err("endless");
    assert!(raised.message.contains("larger than"), "{}", raised.message);
    assert_eq!(
        run(json!({"args": []})).expect_err("empty").exception,
        Exception::ValueError
    );
}
