//! Measures the cost of MCP:
//! - `tools/call`, compared with `POST /api/methods/call` of the same method;
//! - `tools/list` of 1,000 tools, compared with a bare axum route that returns the same bytes;
//! - a call with the token of a connected app, compared with a call with an API token.
//!
//! The cases take turns in short slices of time. Each result is the ratio of the median rates of
//! two cases.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use axum::{Router, routing::post};
use bytes::Bytes;
use serde_json::{Value, json};
use svc_testkit::{Http, TestServer, TestUser, fixture, method};

use crate::connection::Connection;

const SLICE: Duration = Duration::from_millis(300);
const CONNECTIONS: usize = 16;
const TOOLS: usize = 1_000;
const MODERN: &str = "2026-07-28";

/// One kind of request under load.
struct Case {
    name: &'static str,
    user: TestUser,
    http: Http,
    path: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    body: Bytes,
    /// Text in every correct response.
    expected: &'static str,
}

pub async fn run(rounds: usize) -> anyhow::Result<()> {
    let server = TestServer::builder().large_quotas().start().await;
    let ann = server.user("ann").await;
    let mut registration = fixture().with(method("echo", "echo").mcp_tool());
    for n in 1..TOOLS {
        let schema = r#"{ type = "object", properties = { text = { type = "string", description = "text to echo" } }, required = ["text"] }"#;
        let tool = method(&format!("tool.n{n}"), "echo").mcp_tool();
        registration = registration.with(tool.line("params_schema", schema));
    }
    let _agent = ann.space("lab").await.publish(registration).await;
    let app = ann.connect_app().await;
    let list = list_case(&ann, "tools/list, legacy");
    let answer = first_answer(&list).await?;
    let shown: Value = serde_json::from_slice(&answer)?;
    let tools = shown["result"]["tools"].as_array().map_or(0, Vec::len);
    ensure!(tools == TOOLS, "{tools} tools are listed");
    println!("{TOOLS} tools are listed in {} bytes", answer.len());
    let bare = BareRoute::start(&answer)?;
    let cases = [
        call_case(&ann),
        tool_case(&ann, "tools/call, legacy", false),
        tool_case(&ann, "tools/call, modern", true),
        tool_case(&app, "tools/call, OAuth token", true),
        Case {
            name: "bare route, same bytes",
            http: Http::to_url(&bare.url),
            ..list_case(&ann, "")
        },
        list,
    ];
    let mut rates = vec![Vec::new(); cases.len()];
    for _ in 0..rounds {
        for (case, rates) in cases.iter().zip(&mut rates) {
            rates.push(slice(case).await?);
        }
    }
    report(&cases, &mut rates);
    Ok(())
}

fn report(cases: &[Case], rates: &mut [Vec<f64>]) {
    println!(
        "\n{:<24} {:>10}   {CONNECTIONS} connections",
        "request", "per second"
    );
    let medians: Vec<f64> = rates.iter_mut().map(|rates| median(rates)).collect();
    for (case, rate) in cases.iter().zip(&medians) {
        println!("{:<24} {rate:>10.0}", case.name);
    }
    println!(
        "\ntools/call legacy / api call   {:.2}",
        medians[1] / medians[0]
    );
    println!(
        "tools/call modern / api call   {:.2}",
        medians[2] / medians[0]
    );
    println!(
        "OAuth token / API token        {:.2}",
        medians[3] / medians[2]
    );
    println!(
        "tools/list / bare axum route   {:.2}",
        medians[5] / medians[4]
    );
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn call_case(user: &TestUser) -> Case {
    Case {
        name: "api call",
        user: user.clone(),
        http: user.http(),
        path: "/api/methods/call",
        headers: Vec::new(),
        body: text(
            json!({"jsonrpc": "2.0", "method": "echo", "params": {"text": "hello"}, "id": 1}),
        ),
        expected: "\"text\"",
    }
}

fn tool_case(user: &TestUser, name: &'static str, modern: bool) -> Case {
    let mut params = json!({"name": "echo", "arguments": {"text": "hello"}});
    let mut headers = vec![("mcp-protocol-version", "2025-11-25")];
    if modern {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        headers = vec![
            ("mcp-protocol-version", MODERN),
            ("mcp-method", "tools/call"),
            ("mcp-name", "echo"),
        ];
    }
    Case {
        name,
        user: user.clone(),
        http: user.http(),
        path: "/mcp",
        headers,
        body: text(json!({"jsonrpc": "2.0", "method": "tools/call", "params": params, "id": 1})),
        expected: "structuredContent",
    }
}

fn list_case(user: &TestUser, name: &'static str) -> Case {
    Case {
        name,
        user: user.clone(),
        http: user.http(),
        path: "/mcp",
        headers: vec![("mcp-protocol-version", "2025-11-25")],
        body: text(json!({"jsonrpc": "2.0", "method": "tools/list", "id": 1})),
        expected: "inputSchema",
    }
}

fn text(value: Value) -> Bytes {
    Bytes::from(value.to_string())
}

async fn first_answer(case: &Case) -> anyhow::Result<Bytes> {
    let mut connection = Connection::open_to(&case.http, &case.user).await?;
    connection.headers(&case.headers);
    Ok(connection.post(case.path, &case.body).await?.1)
}

/// Sends requests for one [`SLICE`] and checks every response. Returns the requests per second.
async fn slice(case: &Case) -> anyhow::Result<f64> {
    let begun = Instant::now();
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut connection = Connection::open_to(&case.http, &case.user).await?;
        connection.headers(&case.headers);
        let (path, body, expected) = (case.path, case.body.clone(), case.expected);
        running.spawn(async move {
            let mut count = 0_u32;
            while begun.elapsed() < SLICE {
                let (status, answer) = connection.post(path, &body).await?;
                let is_right = memchr::memmem::find(&answer, expected.as_bytes()).is_some();
                ensure!(status == 200 && is_right, "{path} answered {status}");
                count += 1;
            }
            anyhow::Ok(count)
        });
    }
    let mut count = 0;
    for one in running.join_all().await {
        count += one?;
    }
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}

/// A process that sends the same response to every `POST /mcp`.
struct BareRoute {
    process: Child,
    url: String,
}

impl BareRoute {
    fn start(answer: &[u8]) -> anyhow::Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg("bare-route")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut stdin = process.stdin.take().context("stdin is a pipe")?;
        stdin.write_all(answer)?;
        drop(stdin);
        let mut url = String::new();
        let stdout = process.stdout.take().context("stdout is a pipe")?;
        BufReader::new(stdout).read_line(&mut url)?;
        Ok(Self {
            process,
            url: url.trim().to_owned(),
        })
    }
}

impl Drop for BareRoute {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `svc-bench bare-route`: answers every `POST /mcp` with the bytes from stdin.
pub async fn bare_route() -> anyhow::Result<()> {
    let mut answer = Vec::new();
    std::io::Read::read_to_end(&mut std::io::stdin(), &mut answer)?;
    let answer = Bytes::from(answer);
    let handler = move |_: Bytes| {
        let answer = answer.clone();
        async move { ([("content-type", "application/json")], answer) }
    };
    let router = Router::new().route("/mcp", post(handler));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    axum::serve(listener, router).await?;
    Ok(())
}
