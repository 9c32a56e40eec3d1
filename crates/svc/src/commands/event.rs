//! `svc event`: emits one custom event.

use std::time::Duration;

use clap::ValueEnum;
use http::StatusCode;
use svc_client::{AgentClient, Error};
use svc_core::event::{check_payload, custom_type};
use svc_protocol::{
    api::{Emit, EmittedEvent},
    problem::is_database_outage,
};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::Shell;
use crate::{
    context::{self, Connection, Emitter},
    exit::{Exit, Failure, Outcome},
    prompt,
};

/// The largest number of characters in an idempotency key.
const KEY_MAX: usize = 255;
const RETRY_SECONDS_MAX: u64 = 3_600;
/// The time between attempts.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Emit a custom event and print its id
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc event build.done '{\"commit\":\"4f2a\"}'\n  \
                   echo '{\"commit\":\"4f2a\"}' | svc event build.done",
    after_help = "The type gets the prefix `custom.`. Inside a space, the event belongs to that space; elsewhere it\nbelongs to you and to no space. To see events: svc events list, svc events tail."
)]
pub struct Args {
    /// Event type; the prefix `custom.` is added
    r#type: String,
    /// Payload as a JSON object; `-` means stdin, the default if stdin is redirected; empty
    /// means {}
    #[arg(allow_hyphen_values = true)]
    payload: Option<String>,
    /// Where to send the event: to the space's agent or to the server [default: the agent, if one
    /// is found]
    #[arg(long, value_enum)]
    via: Option<Route>,
    /// Commands with the same key within 24 hours emit one event only [default: a new key]
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    idempotency_key: Option<String>,
    /// How long to retry, with the same key, while the database of the server cannot be reached
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=RETRY_SECONDS_MAX))]
    retry_for: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Route {
    Agent,
    Server,
}

/// The key must be a valid header value and must not be empty.
fn parse_key(text: &str) -> Result<String, String> {
    if !(1..=KEY_MAX).contains(&text.len()) || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "a key is 1 to {KEY_MAX} visible ASCII characters, without spaces"
        ));
    }
    Ok(text.to_owned())
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    let payload = prompt::argument_or_stdin(args.payload)?;
    let emit = read(args.r#type, &payload)?;
    let new_key = || Uuid::now_v7().to_string();
    let attempt = Attempt {
        emitter: find_emitter(shell, args.via)?,
        emit,
        key: args.idempotency_key.unwrap_or_else(new_key),
    };
    let emitted = attempt.repeat(Duration::from_secs(args.retry_for)).await?;
    let id = emitted.event_id.to_string();
    shell.output.line_or_data(&id, &emitted)
}

fn find_emitter(shell: &Shell, via: Option<Route>) -> Result<Emitter, Failure> {
    let named = shell.globals.context.as_deref();
    let emitter = match via {
        Some(Route::Agent) => Emitter::Agent(context::find_agent(&shell.environment)?),
        Some(Route::Server) => Emitter::Server(context::to_server(named, &shell.environment)?),
        None => context::for_events(named, &shell.environment)?,
    };
    Ok(emitter.with_trace(shell.environment.trace()))
}

/// An event, the agent or server that gets it, and its key. All attempts with the same key emit one
/// event.
struct Attempt {
    emitter: Emitter,
    emit: Emit,
    key: String,
}

impl Attempt {
    /// Repeats the attempt while the database of the server cannot be reached.
    async fn repeat(&self, within: Duration) -> Result<EmittedEvent, Failure> {
        let deadline = Instant::now() + within;
        let mut is_retrying = false;
        loop {
            let error = match self.make().await {
                Ok(emitted) => return Ok(emitted),
                Err(error) => error,
            };
            // Only an outage of the database starts the retries. After that, the loss of the server
            // or of the link is retried too.
            let is_outage = error.problem_code().is_some_and(is_database_outage);
            let is_retryable = is_outage || (is_retrying && is_transient(&error));
            if !is_retryable {
                return Err(self.failure(error));
            }
            if Instant::now() + RETRY_PAUSE > deadline {
                return Err(self.given_up(error, within));
            }
            if !is_retrying {
                eprintln!(
                    "the database of the server cannot be reached; retrying for up to {} s",
                    within.as_secs()
                );
                is_retrying = true;
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    async fn make(&self) -> Result<EmittedEvent, Error> {
        match &self.emitter {
            Emitter::Server(Connection { client, .. }) => {
                client.emit(&self.emit, Some(&self.key)).await
            }
            Emitter::Agent(agent) => self.make_by_agent(agent).await,
        }
    }

    /// If the agent is not linked, waits a few seconds for the link and tries again. This creates
    /// no duplicate, because an agent without a link emits nothing.
    async fn make_by_agent(&self, agent: &AgentClient) -> Result<EmittedEvent, Error> {
        let answer = agent.emit_once(&self.emit, &self.key).await;
        if let Err(error) = &answer
            && error.problem_code() == Some("not_linked")
            && context::wait_for_link(agent).await.is_some()
        {
            return agent.emit_once(&self.emit, &self.key).await;
        }
        answer
    }

    fn failure(&self, error: Error) -> Failure {
        let Emitter::Agent(_) = self.emitter else {
            return error.into();
        };
        let hint = match error {
            Error::Unreachable { .. } => {
                "svc agent start starts the agent; --via server bypasses the agent"
            }
            _ => "svc agent status shows its state; --via server bypasses the agent",
        };
        Failure::from(error).hint_for(Exit::Unreachable, hint)
    }

    fn given_up(&self, error: Error, within: Duration) -> Failure {
        let what = match within.as_secs() {
            0 => "the event may or may not be stored".to_owned(),
            seconds => {
                format!("the event may or may not be stored: stopped retrying after {seconds} s")
            }
        };
        Failure::from(error).doing(what).hint(format!(
            "to try again without a duplicate, add --idempotency-key {}; --retry-for <seconds> waits longer",
            self.key
        ))
    }
}

/// Whether the server or the agent may accept the event soon.
fn is_transient(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::Timeout { .. } => true,
        error => matches!(
            error.status(),
            Some(StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT)
        ),
    }
}

/// Checks type and payload before any request: an invalid event is a usage error.
fn read(r#type: String, payload: &str) -> Result<Emit, Failure> {
    custom_type(&r#type).map_err(|error| Failure::usage(error.to_string()))?;
    let payload = match payload.trim() {
        "" => "{}",
        payload => payload,
    };
    let payload = prompt::parse_json(payload).map_err(|why| {
        Failure::usage("the payload is not valid")
            .why(why)
            .hint("quote it for the shell: svc event <type> '{\"key\": \"value\"}'")
    })?;
    let payload = payload.into_raw();
    check_payload(&payload).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Emit { r#type, payload })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_payload_is_an_empty_object() {
        for payload in ["", " \n"] {
            let emit = read("a.b".into(), payload).expect("valid");
            assert_eq!(emit.payload.get(), "{}");
        }
        let emit = read("a".into(), " {\"b\": [1e400]}\n").expect("valid");
        assert_eq!(emit.payload.get(), r#"{"b":[1e400]}"#);
    }

    #[test]
    fn an_invalid_event_is_a_usage_error() {
        for (r#type, payload) in [
            ("a", "{"),
            ("a", "[]"),
            ("a", "1"),
            ("a", "null"),
            ("a", "{} {}"),
            ("a..b", "{}"),
            ("", "{}"),
            ("a b", "{}"),
            ("*", ""),
        ] {
            let failure = read(r#type.to_owned(), payload).expect_err(payload);
            assert_eq!(failure.exit, Exit::Usage, "{type} {payload}");
        }
    }

    #[test]
    fn a_key_must_be_a_valid_header_value() {
        assert!(parse_key("run-42").is_ok());
        for bad in ["", "a b", "a\n", "é", &"x".repeat(256)] {
            assert!(parse_key(bad).is_err(), "{bad:?}");
        }
    }
}
