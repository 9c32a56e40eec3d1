//! `svc script run`: runs a tool or a sink script on the server once.

use std::io::{self, IsTerminal};

use serde_json::Value;
use svc_protocol::{
    api::{RunScript, ScriptRunResult},
    document::not_json,
};

use super::{ScriptArg, find};
use crate::{
    commands::Shell,
    exit::{Exit, Failure, Outcome},
    output::{Format, Table, clean_text},
    prompt,
};

/// Run a tool, or a sink script with a sample event, on the server as your user; exit 1 if it fails
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc script run summary '{\"days\": 7}'\n  \
                   svc script run alarm --event-type space.unhealthy")]
pub struct Args {
    #[command(flatten)]
    which: ScriptArg,
    /// Params of a tool as a JSON object; `-`, or no argument with redirected stdin, reads stdin
    #[arg(allow_hyphen_values = true)]
    params: Option<String>,
    /// For a sink script: type of the sample event
    #[arg(long, value_name = "TYPE", conflicts_with = "params")]
    event_type: Option<String>,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    let request = RunScript {
        params: match &args.event_type {
            Some(_) => None,
            None => parse_params(&prompt::argument_or_stdin(args.params)?)?,
        },
        event_type: args.event_type,
    };
    let client = shell.client()?;
    let kind = args.which.kind.map(Into::into);
    let script = find::find(&client, &args.which.script, kind).await?;
    let ran = client.run_script(script.id, &request).await?;
    print(shell, &ran)?;
    Ok(match ran.error {
        Some(_) => Exit::Failure,
        None => Exit::Ok,
    })
}

fn parse_params(text: &str) -> Result<Option<Value>, Failure> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let refuse = || Failure::usage("the params must be a JSON object");
    let params: Value = serde_json::from_str(text)
        .map_err(|error| refuse().why(not_json(text.as_bytes(), &error)))?;
    if params.is_object() {
        Ok(Some(params))
    } else {
        Err(refuse())
    }
}

fn print(shell: &Shell, ran: &ScriptRunResult) -> Result<(), Failure> {
    if shell.output.format != Format::Table {
        return shell.output.document(ran, || Table::new(&[]));
    }
    say(&ran.output);
    if let Some(error) = &ran.error {
        say(&error.traceback);
        return Ok(());
    }
    shell.output.line(ran.result.get())
}

/// Prints to stderr, and ends the last line.
fn say(text: &str) {
    if text.is_empty() {
        return;
    }
    let shown = if io::stderr().is_terminal() {
        clean_text(text)
    } else {
        text.to_owned()
    };
    if shown.ends_with('\n') {
        eprint!("{shown}");
    } else {
        eprintln!("{shown}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_are_an_object_or_nothing() {
        assert_eq!(parse_params(" ").expect("valid"), None);
        assert!(parse_params("{\"a\": 1}").expect("valid").is_some());
        for bad in ["[]", "1", "{", "null"] {
            assert_eq!(parse_params(bad).expect_err(bad).exit, Exit::Usage);
        }
    }
}
