//! A method server for the tests: well-behaved, or badly behaved on request.
//!
//! An example and not a binary: `cargo test` builds it, but `cargo install` does not install it.
//! The local name of a method selects the behaviour; see [`Fixture::handle`].

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

#[derive(Deserialize)]
struct Request<'a> {
    method: String,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}

/// Reads the parameter `name` of a request as a number.
fn number(params: &Value, name: &str) -> u64 {
    params[name].as_u64().unwrap_or_default()
}

#[derive(Default)]
struct Fixture {
    calls: AtomicUsize,
    notifications: AtomicUsize,
    running: AtomicUsize,
    peak: AtomicUsize,
    /// Methods of the received notifications, in order.
    notified: Mutex<Vec<String>>,
    /// Values of `push`, in order.
    pushed: Mutex<Vec<Value>>,
}

fn main() {
    if let Ok(text) = std::env::var("FIXTURE_STDERR") {
        eprintln!("{text}");
    }
    if let Some(code) = std::env::var("FIXTURE_EXIT")
        .ok()
        .and_then(|code| code.parse().ok())
    {
        std::process::exit(code);
    }
    let fixture = Arc::new(Fixture::default());
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let Ok(request) = serde_json::from_str::<Request<'_>>(&line) else {
            eprintln!("not a request: {} bytes", line.len());
            continue;
        };
        match request.id {
            Some(id) => {
                fixture.calls.fetch_add(1, Ordering::SeqCst);
                let id = id.get().to_owned();
                let raw = request.params.map_or("null", RawValue::get).to_owned();
                fixture.handle(&request.method, &id, &raw, &line);
            }
            None => fixture.notice(&request),
        }
    }
}

impl Fixture {
    fn notice(&self, request: &Request<'_>) {
        self.notifications.fetch_add(1, Ordering::SeqCst);
        lock(&self.notified).push(request.method.clone());
        if request.method == "push" {
            let value = request
                .params
                .and_then(|raw| serde_json::from_str(raw.get()).ok());
            lock(&self.pushed).push(value.unwrap_or_default());
        }
    }

    fn handle(self: &Arc<Self>, method: &str, id: &str, raw: &str, line: &str) {
        let params: Value = serde_json::from_str(raw).unwrap_or_default();
        match method {
            // The params, byte for byte.
            "echo" => result(id, raw),
            // The request, byte for byte, as a string.
            "line" => result(id, &json!(line).to_string()),
            "add" => add(id, &params),
            // The params, byte for byte, as the error object.
            "fail" => write_line(&format!(r#"{{"jsonrpc":"2.0","error":{raw},"id":{id}}}"#)),
            "sleep" => self.sleep(id, &params),
            "push" => {
                lock(&self.pushed).push(params);
                result(id, "null");
            }
            "pushed" => result(id, &json!(*lock(&self.pushed)).to_string()),
            "count" => result(id, &self.count().to_string()),
            "pid" => result(id, &std::process::id().to_string()),
            "env" => {
                let name = params["name"].as_str().unwrap_or_default();
                result(id, &json!(std::env::var(name).ok()).to_string());
            }
            "environment" => {
                let all: BTreeMap<String, String> = std::env::vars().collect();
                result(id, &json!(all).to_string());
            }
            "cwd" => result(id, &json!(std::env::current_dir().ok()).to_string()),
            "grandchild" => result(id, &grandchild().to_string()),
            _ => misbehave(method, id, raw, &params),
        }
    }

    /// Answers after a delay, without blocking other requests. If `until` names a file, the delay
    /// begins when this file exists. Counts how many requests sleep at once.
    fn sleep(self: &Arc<Self>, id: &str, params: &Value) {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(running, Ordering::SeqCst);
        let (fixture, id, ms) = (Arc::clone(self), id.to_owned(), number(params, "ms"));
        let answer = json!({"slept": ms, "pid": std::process::id()}).to_string();
        let until = params["until"].as_str().map(PathBuf::from);
        thread::spawn(move || {
            while until.as_ref().is_some_and(|file| !file.exists()) {
                thread::sleep(Duration::from_millis(5));
            }
            thread::sleep(Duration::from_millis(ms));
            fixture.running.fetch_sub(1, Ordering::SeqCst);
            result(&id, &answer);
        });
    }

    fn count(&self) -> Value {
        json!({
            "calls": self.calls.load(Ordering::SeqCst),
            "notifications": self.notifications.load(Ordering::SeqCst),
            "peak": self.peak.load(Ordering::SeqCst),
            "notified": *lock(&self.notified),
        })
    }
}

/// Behaviours that a method server should not have.
fn misbehave(method: &str, id: &str, raw: &str, params: &Value) {
    match method {
        "crash" => std::process::exit(9),
        "never" => {}
        "noise" => {
            for noise in [
                "hello",
                "",
                "{",
                "[1,2]",
                "{}",
                r#"{"id":null}"#,
                r#"{"id":"x","result":1}"#,
            ] {
                write_line(noise);
            }
            result(id, raw);
        }
        "twice" => {
            result(id, raw);
            result(id, r#""again""#);
        }
        "wrong_id" => {
            result("4503599627370495", r#""nobody asked""#);
            result(id, raw);
        }
        "huge" => {
            let bytes = usize::try_from(number(params, "bytes")).unwrap_or_default();
            result(id, &format!("\"{}\"", "x".repeat(bytes)));
        }
        "stop_reading" => {
            result(id, "true");
            loop {
                thread::park();
            }
        }
        "stderr" => {
            eprintln!("{}", params["text"].as_str().unwrap_or_default());
            result(id, "true");
        }
        other => {
            let error = json!({"code": -32601, "message": format!("no behaviour `{other}`")});
            write_line(&format!(r#"{{"jsonrpc":"2.0","error":{error},"id":{id}}}"#));
        }
    }
}

fn add(id: &str, params: &Value) {
    let sum = params["a"].as_i64().unwrap_or_default() + params["b"].as_i64().unwrap_or_default();
    result(id, &sum.to_string());
}

/// Starts a child process and never ends it: the agent must end it together with this process.
fn grandchild() -> u32 {
    let child = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    child.map_or(0, |child| child.id())
}

fn result(id: &str, raw: &str) {
    write_line(&format!(r#"{{"jsonrpc":"2.0","result":{raw},"id":{id}}}"#));
}

fn write_line(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let written = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    if written.is_err() {
        std::process::exit(1);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
