//! `svc event`: emits one custom event.

use clap::ValueEnum;
use serde_json::Value;
use svc_core::event::{check_payload, custom_type};
use svc_protocol::{
    api::{Emit, EmittedEvent},
    document::not_json,
};

use super::Shell;
use crate::{
    context::{self, Connection, Emitter},
    exit::{Exit, Failure, Outcome},
    output::{Format, Table},
    prompt,
};

/// The largest number of characters in an idempotency key.
const KEY_MAX: usize = 255;

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
    /// Payload as a JSON object; `-`, or no argument with redirected stdin, reads stdin; empty
    /// means {}
    #[arg(allow_hyphen_values = true)]
    payload: Option<String>,
    /// Where to send the event: to the space's agent or to the server [default: the agent, if one is
    /// found]
    #[arg(long, value_enum)]
    via: Option<Route>,
    /// Commands with the same key within 24 hours emit one event only
    #[arg(long, value_name = "KEY", value_parser = parse_key)]
    idempotency_key: Option<String>,
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
    let key = args.idempotency_key.as_deref();
    let emitted = emit_by(shell, args.via, &emit, key).await?;
    match shell.output.format {
        // Only the id, for use in `$(…)`.
        Format::Table => shell.output.line(emitted.event_id.to_string())?,
        Format::Json | Format::Yaml => shell.output.document(&emitted, || Table::new(&[]))?,
    }
    Ok(Exit::Ok)
}

async fn emit_by(
    shell: &Shell,
    via: Option<Route>,
    emit: &Emit,
    key: Option<&str>,
) -> Result<EmittedEvent, Failure> {
    let named = shell.globals.context.as_deref();
    let emitter = match via {
        Some(Route::Agent) => Emitter::Agent(context::find_agent(&shell.environment)?),
        Some(Route::Server) => Emitter::Server(context::to_server(named, &shell.environment)?),
        None => context::for_events(named, &shell.environment)?,
    };
    match emitter {
        Emitter::Server(Connection { client, .. }) => Ok(client.emit(emit, key).await?),
        Emitter::Agent(agent) => agent.emit(emit, key).await.map_err(|error| {
            let failure = Failure::from(error);
            if failure.exit == Exit::Unreachable {
                failure.hint("svc agent status shows its state; --via server bypasses the agent")
            } else {
                failure
            }
        }),
    }
}

/// Checks type and payload before any request: an invalid event is a usage error.
fn read(r#type: String, payload: &str) -> Result<Emit, Failure> {
    custom_type(&r#type).map_err(|error| Failure::usage(error.to_string()))?;
    let payload: Value = if payload.trim().is_empty() {
        Value::Object(serde_json::Map::new())
    } else {
        serde_json::from_str(payload).map_err(|error| {
            Failure::usage("the payload is not JSON")
                .why(not_json(payload.as_bytes(), &error))
                .hint("quote it for the shell: svc event <type> '{\"key\": \"value\"}'")
        })?
    };
    check_payload(&payload).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Emit { r#type, payload })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_payload_is_an_empty_object() {
        for payload in ["", " \n"] {
            let emit = read("a.b".into(), payload).expect("valid");
            assert_eq!(emit.payload, json!({}));
        }
        let emit = read("a".into(), " {\"b\": [1]}\n").expect("valid");
        assert_eq!(emit.payload, json!({"b": [1]}));
    }

    #[test]
    fn what_would_be_refused_is_a_usage_error() {
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
    fn keys_fit_a_header() {
        assert!(parse_key("run-42").is_ok());
        for bad in ["", "a b", "a\n", "é", &"x".repeat(256)] {
            assert!(parse_key(bad).is_err(), "{bad:?}");
        }
    }
}
