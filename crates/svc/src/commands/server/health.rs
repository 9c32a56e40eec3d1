//! `svc server health`: asks a server whether it is ready. Sends no credential.

use std::{net::SocketAddr, path::Path, time::Duration};

use http::{HeaderMap, Method, StatusCode};
use serde::{Deserialize, Serialize};
use svc_client::{Answer, Client, Policy, Target, first_address};
use svc_protocol::env;

use crate::{
    commands::Shell,
    config,
    context::Contexts,
    exit::{Exit, Failure, Outcome},
    output::Format,
};

/// Time for the whole check. Container engines usually allow 5 s or more.
const TIMEOUT: Duration = Duration::from_secs(4);
/// The largest answer that is read. A usual answer has less than 1 KiB.
const ANSWER_BYTES_MAX: usize = 16 * 1024;
/// Longest reason that is shown, in characters.
const REASON_MAX: usize = 300;

/// Check whether a server is ready: exit code 0 if it is, 1 if not; needs no credential
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc server health\n  svc server health --url https://svc.example.com")]
pub struct Args {
    /// Server to check; by default the server of this machine, at `listen` of its configuration [env: SVC_URL]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

/// What is printed with `-o json` and `-o yaml`.
#[derive(Serialize)]
struct Report {
    url: String,
    ready: bool,
    /// Why the server is not ready.
    reason: Option<String>,
    /// `unavailable` if a server of a zone works without its database for the moment. `disk_full` or
    /// `not_writable` if the embedded database can only be read.
    database: Option<String>,
}

/// The answer of `/readyz`.
#[derive(Deserialize)]
struct Readiness {
    status: String,
    reason: Option<String>,
    database: Option<String>,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    // Every failure has exit code 1: container engines reserve the other codes of a health check.
    let target = target(shell, args.url.as_deref()).map_err(|failure| Failure {
        exit: Exit::Failure,
        ..failure
    })?;
    let report = check(target).await;
    if shell.output.format != Format::Table {
        shell.output.data(&report)?;
        return Ok(Exit::ok_if(report.ready, Exit::Failure));
    }
    if let Some(reason) = report.reason {
        return Err(Failure::failed(reason));
    }
    let database = report.database.map(|state| format!("; database: {state}"));
    let database = database.unwrap_or_default();
    let line = format!("{} is ready{database}", report.url);
    shell.output.line(line).map(|()| Exit::Ok)
}

/// The server to check: from `--url`, `--context` or `SVC_URL`, else the server of this machine.
fn target(shell: &Shell, url: Option<&str>) -> Result<Target, Failure> {
    let environment = &shell.environment;
    if let (None, Some(name)) = (url, &shell.globals.context) {
        let contexts = Contexts::load(&environment.config_folder()?)?;
        return contexts.get(name)?.target();
    }
    if let Some(url) = url.or_else(|| environment.get(env::URL).map(first_address)) {
        let ca_file = environment.get(env::CA_FILE).map(Path::new);
        return Ok(Target::parse(url, ca_file)?);
    }
    own_server(&shell.config()?.server)
}

/// The server of this machine.
fn own_server(server: &config::Server) -> Result<Target, Failure> {
    let mut address: SocketAddr = server.listen;
    if address.port() == 0 {
        return Err(Failure::failed(
            "`listen` has port 0, so the port of the server is not known; name the server with --url",
        ));
    }
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    let tls = server.tls_cert.is_some();
    Ok(Target::of_own_server(address, tls)?)
}

async fn check(target: Target) -> Report {
    let url = target.to_string();
    let policy = Policy {
        connect_timeout: TIMEOUT,
        answer_timeout: TIMEOUT,
        answer_bytes_max: ANSWER_BYTES_MAX,
        ..Policy::default()
    };
    let client = Client::with_policy(target, policy);
    let headers = HeaderMap::new();
    let asked = client.send_raw(Method::GET, "/readyz", headers, None, Some(TIMEOUT));
    let (reason, database) = match asked.await.map(|answer| read(&url, &answer)) {
        Ok(Ok(database)) => (None, database),
        Ok(Err(reason)) => (Some(reason), None),
        Err(error) => (Some(error.to_string()), None),
    };
    Report {
        url,
        ready: reason.is_none(),
        reason: reason.map(|reason| one_line(&reason)),
        database,
    }
}

/// The state of the database if the server is ready, or else the reason why it is not.
fn read(url: &str, answer: &Answer) -> Result<Option<String>, String> {
    let status = answer.status;
    match serde_json::from_slice::<Readiness>(&answer.body) {
        Ok(body) if status == StatusCode::OK && body.status == "ready" => Ok(body.database),
        Ok(Readiness {
            reason: Some(reason),
            ..
        }) => Err(format!("`{url}` is not ready: {reason}")),
        _ => Err(format!(
            "`{url}` answered {status} but not in the form of an svc server"
        )),
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(REASON_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_of_a_ready_server_counts() {
        let check = |status: u16, body: &'static str, expected: Result<Option<&str>, &str>| {
            let answer = Answer {
                status: StatusCode::from_u16(status).expect("a status"),
                headers: HeaderMap::new(),
                body: body.into(),
            };
            let expected = expected
                .map(|database| database.map(str::to_owned))
                .map_err(|why| format!("`http://x` {why}"));
            assert_eq!(read("http://x", &answer), expected, "{body}");
        };
        check(200, r#"{"status":"ready"}"#, Ok(None));
        let without = r#"{"status":"ready","database":"unavailable"}"#;
        check(200, without, Ok(Some("unavailable")));
        let stopping = r#"{"status":"unready","reason":"the server is stopping"}"#;
        check(503, stopping, Err("is not ready: the server is stopping"));
        let other = Err("answered 200 OK but not in the form of an svc server");
        check(200, r#"{"status":"ok"}"#, other);
        check(200, "<html>hello</html>", other);
        let refused = "answered 503 Service Unavailable but not in the form of an svc server";
        check(503, r#"{"status":"ready"}"#, Err(refused));
    }

    #[test]
    fn a_reason_is_one_short_line() {
        assert_eq!(one_line("a\nb\r\n  c"), "a b c");
        assert_eq!(one_line(&"x".repeat(9_999)).len(), REASON_MAX);
    }
}
