//! Tests of the host of a space. Most of them use an agent's socket that returns prepared answers.

mod processes;

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

/// A host whose agent returns these answers (status and body) one after the other. Also returns the
/// requests that the agent receives.
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
    let agent = Some(socket);
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
fn a_link_out_of_the_folder_is_refused() {
    let outside = folder(&[("secret.py", "s")]);
    let inside = folder(&[]);
    let link = inside.path().join("secret.py");
    symlink(outside.path().join("secret.py"), link).expect("linked");
    let text = message(alone(inside.path()).library("secret"));
    assert!(text.contains("outside the script's folder"), "{text}");
}

#[test]
fn stored_libraries_are_read_once_and_those_of_the_owner_take_precedence() {
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
                    Some("c&1"),
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
            "GET /api/scripts?limit=16&kind=library HTTP/1.1",
            "GET /api/scripts?limit=16&cursor=c%261&kind=library HTTP/1.1"
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
fn only_the_refusal_of_the_last_registration_is_kept() {
    let folder = folder(&[]);
    let problem = |status: u16| {
        let problem = json!({
            "type": "about:blank", "title": "No", "status": status, "detail": "no", "code": "no",
        });
        (status, problem.to_string())
    };
    let (mut host, _questions) = with_agent(
        folder.path(),
        vec![
            problem(404),
            problem(422),
            (200, r#"{"removed":[],"remaining":[]}"#.to_owned()),
            problem(422),
        ],
    );
    let registration = r#"{"server":{"command":"svc"},"methods":[]}"#;
    message(host.call("unregister", r#"{"local_name":"x"}"#));
    assert!(host.take_refusal().is_none(), "no registration");
    message(host.call("register", registration));
    // A later `unregister` does not clear the refusal.
    host.call("unregister", "{}").expect("done");
    assert!(host.take_refusal().is_some());
    message(host.call("register", registration));
    message(host.call("register", "[]"));
    assert!(
        host.take_refusal().is_none(),
        "the last registration was never sent"
    );
}

#[test]
fn the_api_passes_bodies_through_unchanged() {
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
fn only_paths_of_the_api_are_requested() {
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
        "/api/calls/stream",
    ] {
        let argument = json!({"method": "GET", "path": path}).to_string();
        let raised = host.call("api", &argument).expect_err(path);
        assert_eq!(raised.exception, Exception::ValueError, "{path}");
    }
    let raised = host.call("api", r#"{"method":"CONNECT","path":"/api/x"}"#);
    assert!(message(raised).contains("CONNECT"));
}

#[test]
fn without_an_agent_or_a_server_the_error_says_what_to_do() {
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
            "svc.event has no server to ask",
        ),
        (
            "api",
            r#"{"method":"GET","path":"/api/x"}"#,
            "svc.api has no server to ask",
        ),
        ("event", "null", "event accessors are for sink scripts"),
        ("nonsense", "null", "there is no operation `nonsense`"),
        ("emit", "[]", "the argument of `emit` is invalid"),
    ] {
        let text = message(host.call(operation, argument));
        assert!(text.starts_with(begins), "{text}");
    }
    assert_eq!(host.library("absent").expect("no error"), None);
}

#[test]
fn an_invalid_registration_has_the_same_error_as_at_the_agent() {
    let folder = folder(&[]);
    let mut host = alone(folder.path());
    for (registration, says) in [
        (
            r#"{"server":{"command":"x"},"methods":[{"name":"a","description":"d","scope":"all"}]}"#,
            "the registration is wrong: `methods[0].scope`: method `a`: expected one of `private` or `shared`, not the text `all`",
        ),
        (
            r#"{"server":{"command":"x","timeout":-1}}"#,
            "the registration is wrong: `server.timeout`: expected a whole number from 0 to 4294967295, not the number -1",
        ),
    ] {
        let raised = host.call("register", registration).expect_err("wrong");
        assert_eq!(raised.exception, Exception::RuntimeError);
        assert!(raised.message.starts_with(says), "{}", raised.message);
        assert!(!raised.message.contains(" at line "), "{}", raised.message);
    }
}
