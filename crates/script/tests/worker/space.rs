//! Tests of the workers of a space. Such a worker runs the user's own handlers, and uses a fresh
//! evaluator for each request.

use std::{
    io::{Read, Write},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use svc_script::{
    Abilities, ErrorKind, Evaluator, Flavour, Limits, Setting, Source, SpaceHost, Stream,
    worker::{
        NoHost, WorkTimeout, Worker, WorkerEnvironment,
        protocol::{self, Probe, ToWorker},
    },
};

use crate::support::{KILL_AFTER, MEMORY_BYTES, SOON, eventually, program};

const HANDLERS: &str = r#"
count = 0

def add(params):
    global count
    count += params["n"]
    return {"count": count}

def say(params):
    print("said", params)

def fail(params):
    return params["absent"]

def hang(params):
    while True:
        pass

def eat(params):
    kept = []
    while True:
        kept.append("x" * 1000 + str(len(kept)))

def shell(params):
    import subprocess
    done = subprocess.run(["sh", "-c", "echo loud; ulimit -v"])
    caught = subprocess.run(["cat"], input="é", capture_output=True)
    return [done.returncode, done.stdout, caught.stdout]
"#;

const SETUP: &str = "from svc import jsonrpc\nfor name in ['add', 'say', 'fail', 'hang', 'eat', 'shell']:\n    jsonrpc.method(name, 'handlers.' + name)\n";

fn patience(time: Duration) -> WorkTimeout {
    WorkTimeout {
        time: Some(time),
        kill_after: KILL_AFTER,
    }
}

/// The message that loads a snapshot into a worker. Runs the setup once and takes the snapshot, as
/// a supervisor does. The setup runs on a separate thread, because `SpaceHost` has its own async
/// runtime.
fn load(folder: &Path) -> ToWorker {
    std::fs::write(folder.join("handlers.py"), HANDLERS).expect("written");
    let path = folder.join("setup.py");
    let setting = Setting {
        flavour: Flavour::Space,
        abilities: Abilities::Full {
            folder: folder.to_owned(),
        },
        limits: Limits {
            memory_bytes: Some(MEMORY_BYTES),
            ..Limits::OWN
        },
        args: vec!["setup.py".to_owned()],
    };
    std::thread::scope(|scope| {
        let snapshot = scope.spawn(|| {
            let mut host = SpaceHost::new(path.clone(), None);
            let mut evaluator = Evaluator::new(&setting);
            let script = Source {
                file: path.display().to_string(),
                text: SETUP.to_owned(),
            };
            evaluator.run(&script, &mut host).expect("set up");
            evaluator.load_routes(&mut host).expect("loaded");
            assert_eq!(evaluator.routes().len(), 6);
            evaluator.snapshot().expect("a snapshot").to_bytes()
        });
        ToWorker::Load {
            snapshot: STANDARD.encode(snapshot.join().expect("no panic")),
            script: path.display().to_string(),
            agent_socket: None,
        }
    })
}

fn invoke(function: &str, params: &str) -> ToWorker {
    ToWorker::Invoke {
        handler: format!("handlers.{function}"),
        params: params.to_owned(),
        trace: None,
    }
}

async fn loaded(folder: &Path) -> Worker {
    let mut worker = Worker::start(&program("--space"), WorkerEnvironment::Inherited)
        .await
        .expect("started");
    let done = worker
        .run(&load(folder), &NoHost, |_, _| {}, patience(SOON))
        .await;
    assert_eq!(done, Ok(None));
    worker
}

#[tokio::test]
async fn each_request_has_a_fresh_evaluator() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut worker = loaded(folder.path()).await;
    for _ in 0..3 {
        let done = worker
            .run(
                &invoke("add", r#"{"n":2}"#),
                &NoHost,
                |_, _| {},
                patience(SOON),
            )
            .await;
        assert_eq!(done, Ok(Some(r#"{"count":2}"#.to_owned())));
    }
    let mut said = Vec::new();
    let done = worker
        .run(
            &invoke("say", r#"{"x":1}"#),
            &NoHost,
            |stream, text| said.push((stream, text.to_owned())),
            patience(SOON),
        )
        .await;
    assert_eq!(done, Ok(Some("null".to_owned())));
    assert_eq!(said, [(Stream::Stdout, "said {'x': 1}\n".to_owned())]);
    let error = worker
        .run(&invoke("fail", "{}"), &NoHost, |_, _| {}, patience(SOON))
        .await
        .expect_err("there is no such key");
    assert_eq!(error.message, "KeyError: 'absent'");
    let place = error.place().expect("a place");
    assert!(
        place.file.ends_with("handlers.py") && place.line == 13,
        "{place:?}"
    );
    assert!(worker.is_usable(), "an exception is an answer");
}

#[tokio::test]
async fn a_handler_over_its_limits_ends_only_its_worker() {
    let folder = tempfile::tempdir().expect("a folder");
    let cases = [
        ("hang", ErrorKind::TimeLimit, Duration::from_millis(300)),
        ("eat", ErrorKind::MemoryLimit, SOON),
    ];
    for (function, kind, time) in cases {
        let mut worker = loaded(folder.path()).await;
        let error = worker
            .run(&invoke(function, "{}"), &NoHost, |_, _| {}, patience(time))
            .await
            .expect_err("a limit");
        assert_eq!(error.kind, kind, "{error}");
        assert!(!worker.is_usable());
    }
}

#[tokio::test]
async fn the_memory_gauge_stops_a_script_before_the_operating_system_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut worker = loaded(folder.path()).await;
    let eaten = worker
        .run(&invoke("eat", "{}"), &NoHost, |_, _| {}, patience(SOON))
        .await;
    assert_eq!(eaten.expect_err("too much").kind, ErrorKind::MemoryLimit);
    assert!(worker.pid().is_some(), "the process itself has not ended");
}

#[tokio::test]
async fn processes_that_a_handler_starts_do_not_print_into_frames_and_have_no_memory_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut worker = loaded(folder.path()).await;
    let mut said = String::new();
    let done = worker
        .run(
            &invoke("shell", "{}"),
            &NoHost,
            |_, text| said.push_str(text),
            patience(SOON),
        )
        .await;
    assert_eq!(done, Ok(Some(r#"[0,null,"é"]"#.to_owned())));
    assert_eq!(said, "loud\nunlimited\n");
}

#[tokio::test]
async fn only_a_sandboxed_worker_is_confined() {
    let mut answers = Vec::new();
    for role in ["--space", "--sandbox"] {
        let mut worker = Worker::start(&program(role), WorkerEnvironment::Nothing)
            .await
            .expect("started");
        assert_eq!(worker.warning(), None);
        let answer = worker
            .run(&ToWorker::Probe, &NoHost, |_, _| {}, patience(SOON))
            .await;
        let text = answer.expect("answered").expect("a result");
        answers.push(serde_json::from_str::<Probe>(&text).expect("a probe"));
    }
    let all = |can| Probe {
        open_file: can,
        open_socket: can,
        start_process: can,
    };
    assert_eq!(answers, [all(true), all(false)]);
}

#[tokio::test]
async fn work_for_another_kind_of_worker_is_refused() {
    let mut worker = Worker::start(&program("--sandbox"), WorkerEnvironment::Nothing)
        .await
        .expect("started");
    let error = worker
        .run(&invoke("add", "{}"), &NoHost, |_, _| {}, patience(SOON))
        .await
        .expect_err("not in a sandbox");
    assert_eq!(error.kind, ErrorKind::Worker);
}

#[tokio::test]
async fn a_program_that_is_not_a_worker_is_an_error() {
    let mut program = program("--space");
    program.args = vec!["--nonsense".into(), "1".into()];
    let error = Worker::start(&program, WorkerEnvironment::Nothing)
        .await
        .expect_err("it does not start");
    assert!(
        error.message.contains("`--nonsense` is not a role"),
        "{error}"
    );
    program.path = "/does/not/exist".into();
    let error = Worker::start(&program, WorkerEnvironment::Nothing).await;
    assert_eq!(error.expect_err("absent").kind, ErrorKind::Worker);
}

#[test]
fn a_worker_ends_with_its_parent_in_the_middle_of_a_script() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = program("--space");
    let mut child = Command::new(&program.path)
        .args(&program.args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = child.stdout.take().expect("a pipe");
    for work in [load(folder.path()), invoke("hang", "{}")] {
        let frame = protocol::encode(&work, protocol::SPACE_FRAME_BYTES_MAX).expect("encoded");
        stdin.write_all(&frame).expect("written");
    }
    // Read `Ready` and the answer to `Load`. After that, the handler runs.
    for _ in 0..2 {
        let mut length = [0; protocol::LENGTH_BYTES];
        stdout.read_exact(&mut length).expect("a length");
        let mut body = vec![
            0;
            protocol::decode_length(length, protocol::SPACE_FRAME_BYTES_MAX)
                .expect("short")
        ];
        stdout.read_exact(&mut body).expect("a body");
    }
    assert!(child.try_wait().expect("asked").is_none(), "it hangs");
    // Closes the pipe, as the end of the parent would.
    drop(stdin);
    let child = std::sync::Mutex::new(child);
    eventually("it ends", || {
        let mut child = child.lock().expect("one thread");
        child.try_wait().expect("asked").is_some()
    });
}
