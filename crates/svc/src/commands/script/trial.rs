//! `svc script run`: runs a tool or a sink script on the server once.

use std::io::{self, IsTerminal};

use serde_json::value::RawValue;
use svc_protocol::api::RunScript;

use super::{ScriptArg, find};
use crate::{
    commands::Shell,
    exit::{Exit, Failure, Outcome},
    output::{Format, clean_text},
    prompt,
};

/// Run a tool, or a sink script with a sample event, on the server as your user; exit 1 on failure
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc script run summary '{\"days\": 7}'\n  \
                   svc script run alarm --event-type space.unhealthy")]
pub struct Args {
    #[command(flatten)]
    which: ScriptArg,
    /// Params of a tool as a JSON object; `-` means stdin, the default if stdin is redirected
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
        event_id: None,
        source: None,
    };
    let client = shell.client()?;
    let script = find::find(&client, &args.which.script, args.which.kind).await?;
    let ran = client.act(&script, &request).await?;
    if shell.output.format != Format::Table {
        shell.output.data(&ran)?;
    } else {
        say(&ran.output);
        match &ran.error {
            Some(error) => say(&error.traceback),
            None => shell.output.line(ran.result.get())?,
        }
    }
    Ok(Exit::ok_if(ran.error.is_none(), Exit::Failure))
}

fn parse_params(text: &str) -> Result<Option<Box<RawValue>>, Failure> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    prompt::parse_object("the params", text).map(Some)
}

/// Prints a text to stderr, with a line break at its end.
fn say(text: &str) {
    let shown = match io::stderr().is_terminal() {
        true => clean_text(text),
        false => text.to_owned(),
    };
    if !shown.is_empty() {
        eprintln!("{}", shown.strip_suffix('\n').unwrap_or(&shown));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn params_must_be_an_object_or_empty() {
        assert!(parse_params(" ").expect("valid").is_none());
        assert!(parse_params("{\"a\": 1}").expect("valid").is_some());
        for bad in ["[]", "1", "{", "null"] {
            assert_eq!(parse_params(bad).expect_err(bad).exit, Exit::Usage);
        }
    }
}
