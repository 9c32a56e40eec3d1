//! The HTTP references that `svc` is compared with, each a separate process with one thread.
//!
//! **B** is the minimum that an HTTP server in Rust does. **C** passes calls to a stdio program
//! without agents, names and access control.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader as LineReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use axum::{
    Router,
    extract::State,
    response::{IntoResponse, Response},
    routing::post,
    serve::ListenerExt,
};
use bytes::Bytes;
use http::{StatusCode, header};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::TcpListener,
    process::{ChildStdin, ChildStdout},
    sync::{mpsc, oneshot},
};

const PATH: &str = "/api/methods/call";
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of lines in one write.
const LINES_PER_WRITE: usize = 256;

/// A running reference.
pub struct Reference {
    process: Child,
    pub address: SocketAddr,
}

impl Reference {
    pub fn start(command: &str) -> anyhow::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg(command)
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = process.stdout.take().context("stdout is a pipe")?;
        let mut line = String::new();
        LineReader::new(stdout).read_line(&mut line)?;
        let address = line.trim().parse();
        let address = address.with_context(|| format!("`{command}` did not start"))?;
        Ok(Self { process, address })
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// B: returns the body of the request.
pub async fn bare_echo() -> anyhow::Result<()> {
    let echo = |body: Bytes| async move { json(body) };
    serve(Router::new().route(PATH, post(echo))).await
}

/// C: passes each call to one stdio program.
pub async fn http_to_stdio() -> anyhow::Result<()> {
    let mut child = tokio::process::Command::new(std::env::current_exe()?)
        .arg("echo-method-server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let (lines, queue) = mpsc::unbounded_channel();
    let calls = Arc::new(Calls {
        next: AtomicU64::new(1),
        waiting: Mutex::default(),
        lines,
    });
    tokio::spawn(write(child.stdin.take().context("a pipe")?, queue));
    let stdout = child.stdout.take().context("a pipe")?;
    tokio::spawn(read(stdout, Arc::clone(&calls)));
    serve(Router::new().route(PATH, post(call)).with_state(calls)).await
}

async fn serve(router: Router) -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let listener = listener.tap_io(|stream| {
        // Ignore an error: it would only show as a higher latency.
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}

fn json(body: impl Into<Bytes>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.into()).into_response()
}

struct Calls {
    next: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Bytes>>>,
    lines: mpsc::UnboundedSender<Vec<u8>>,
}

#[derive(Deserialize)]
struct Request<'a> {
    method: &'a str,
    #[serde(borrow)]
    params: &'a RawValue,
    #[serde(borrow)]
    id: &'a RawValue,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    result: &'a RawValue,
    id: u64,
}

async fn call(State(calls): State<Arc<Calls>>, body: Bytes) -> Response {
    let Ok(request) = serde_json::from_slice::<Request<'_>>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let id = calls.next.fetch_add(1, Ordering::Relaxed);
    let (method, params) = (request.method, request.params.get());
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{params},\"id\":{id}}}\n"
    );
    let (sender, answer) = oneshot::channel();
    calls.waiting().insert(id, sender);
    let _ = calls.lines.send(line.into_bytes());
    let Ok(Ok(result)) = tokio::time::timeout(CALL_TIMEOUT, answer).await else {
        return StatusCode::GATEWAY_TIMEOUT.into_response();
    };
    let mut body = Vec::with_capacity(result.len() + 48);
    body.extend_from_slice(br#"{"jsonrpc":"2.0","result":"#);
    body.extend_from_slice(&result);
    body.extend_from_slice(br#","id":"#);
    body.extend_from_slice(request.id.get().as_bytes());
    body.push(b'}');
    json(body)
}

impl Calls {
    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Bytes>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    let (mut lines, mut bytes) = (Vec::new(), Vec::new());
    while queue.recv_many(&mut lines, LINES_PER_WRITE).await > 0 {
        bytes.clear();
        for line in lines.drain(..) {
            bytes.extend_from_slice(&line);
        }
        if stdin.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

async fn read(stdout: ChildStdout, calls: Arc<Calls>) {
    let mut reader = BufReader::with_capacity(64 * 1024, stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line).await {
            Ok(count) if count > 0 => {}
            _ => return,
        }
        if let Ok(answer) = serde_json::from_slice::<Line<'_>>(&line)
            && let Some(waiter) = calls.waiting().remove(&answer.id)
        {
            let result = Bytes::copy_from_slice(answer.result.get().as_bytes());
            let _ = waiter.send(result);
        }
    }
}
