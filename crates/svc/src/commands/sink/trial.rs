//! `svc sink test`: shows the body that a sink builds for an event, and the receiver's answer.

use svc_core::EventId;
use svc_protocol::api::{Preview, PreviewResult, Sink};

use super::{SinkArg, content::read_text};
use crate::{
    commands::{Shell, records},
    exit::{Exit, Outcome},
    output::{Format, Table, clean, or_dash},
    prompt,
};

/// Send an event to a sink at once, bypassing its queue; exit 1 if the delivery fails
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc sink test builds\n  \
                   svc sink test builds --dry-run --type custom.build.done --data '{\"commit\":\"4f2a\"}'\n  \
                   svc sink test builds --dry-run --body-template @new.json --event-id 0197a1b2-…")]
pub struct Args {
    #[command(flatten)]
    which: SinkArg,
    /// Only show the body, send nothing
    #[arg(long)]
    dry_run: bool,
    /// Use a past event instead of a sample event
    #[arg(long, value_name = "ID", conflicts_with_all = ["type", "data"])]
    event_id: Option<EventId>,
    /// Type of the sample event
    #[arg(long)]
    r#type: Option<String>,
    /// Data of the sample event, as a JSON object
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
    /// Use this template, or @file, instead of the sink's own
    #[arg(long, value_name = "TEXT|@FILE")]
    body_template: Option<String>,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    let parse = |text: &str| prompt::parse_object("`--data`", text);
    let preview = Preview {
        body_template: read_text(&shell.environment, args.body_template)?,
        event_id: args.event_id,
        event_type: args.r#type,
        data: args.data.as_deref().map(parse).transpose()?,
        dry_run: args.dry_run,
        ..Preview::default()
    };
    let (client, sink) = records::open::<Sink>(shell, &args.which.sink).await?;
    let previewed = client.act(&sink, &preview).await?;
    print(shell, &previewed)?;
    Ok(exit_of(&previewed))
}

fn print(shell: &Shell, previewed: &PreviewResult) -> Outcome {
    if shell.output.format != Format::Table {
        return shell.output.data(previewed);
    }
    let Some(attempt) = &previewed.attempt else {
        // Only the body, as a receiver would get it.
        shell.output.raw(previewed.body.as_bytes())?;
        return Ok(Exit::Ok);
    };
    shell.output.table(&Table::record(vec![
        ("body", previewed.body.clone()),
        ("status", or_dash(attempt.status)),
        ("ms", attempt.ms.to_string()),
        ("error", or_dash(attempt.error.as_ref())),
        ("answer", or_dash(attempt.output.as_deref().map(clean))),
    ]))
}

fn exit_of(previewed: &PreviewResult) -> Exit {
    match &previewed.attempt {
        Some(attempt) if attempt.error.is_some() => Exit::Failure,
        // A redirect is a failure too.
        Some(attempt) => match attempt.status {
            Some(200..=299) | None => Exit::Ok,
            Some(_) => Exit::Failure,
        },
        None => Exit::Ok,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_an_event_that_arrived_is_a_success() {
        let check = |attempt: Value, exit: Exit| {
            let previewed: PreviewResult =
                serde_json::from_value(json!({"body": "{}", "attempt": attempt})).expect("valid");
            assert_eq!(exit_of(&previewed), exit, "{attempt}");
        };
        let attempt = |status: Value, error: Value| json!({"at": "1970-01-01T00:00:00.000Z", "status": status, "ms": 1, "error": error, "output": null});
        check(Value::Null, Exit::Ok);
        check(attempt(json!(204), json!(null)), Exit::Ok);
        check(attempt(json!(500), json!(null)), Exit::Failure);
        check(attempt(json!(301), json!(null)), Exit::Failure);
        check(attempt(json!(null), json!("refused")), Exit::Failure);
    }

    #[test]
    fn data_is_an_object() {
        assert!(prompt::parse_object("`--data`", "{\"a\": 1}").is_ok());
        for bad in ["", "[]", "1", "{"] {
            let failure = prompt::parse_object("`--data`", bad).expect_err(bad);
            assert_eq!(failure.exit, Exit::Usage);
        }
    }
}
