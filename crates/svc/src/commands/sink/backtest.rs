//! `svc sink backtest`: tries changed patterns, filters and templates on past events, without
//! sending.

use std::path::PathBuf;

use svc_core::Timestamp;
use svc_protocol::api::{Backtest, BacktestResult, PatternsInput, ScriptConfig, Sink};

use super::{
    SinkArg,
    content::{read_script, read_text},
};
use crate::{
    commands::{Shell, records, times::parse_time},
    exit::Outcome,
    output::clean,
};

/// Try changed patterns, filters or templates on past events; nothing is sent
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc sink backtest builds --since 7d --filter 'event.data.ok == false'\n  svc sink backtest builds --body-template @new.json"
)]
pub struct Args {
    #[command(flatten)]
    which: SinkArg,
    /// Only events from this time on: RFC 3339, or 2h for 2 hours ago [default: 7 days ago]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<Timestamp>,
    /// Only events up to this time, the time itself included [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<Timestamp>,
    /// Patterns to try, separated by commas
    #[arg(long)]
    patterns: Option<String>,
    /// Filter to try; an empty text means no filter
    #[arg(long, value_name = "EXPRESSION")]
    filter: Option<String>,
    /// Template to try, or @file; an empty text means the default body
    #[arg(long, value_name = "TEXT|@FILE")]
    body_template: Option<String>,
    /// Not supported: the server refuses to backtest a script and gives the reason
    #[arg(long, value_name = "FILE")]
    script_file: Option<PathBuf>,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    let body_template = read_text(&shell.environment, args.body_template)?;
    let script = read_script(&shell.environment, args.script_file.as_deref())?;
    let backtest = Backtest {
        since: args.since,
        until: args.until,
        patterns: args.patterns.map(PatternsInput::Text),
        filter: args.filter,
        body_template,
        script: script.map(|source| ScriptConfig {
            script_id: None,
            source: Some(source),
        }),
    };
    let (client, sink) = records::open::<Sink>(shell, &args.which.sink).await?;
    let result = client.act(&sink, &backtest).await?;
    report(&result);
    shell.output.record(&result, || {
        vec![
            ("events", result.events.to_string()),
            ("delivered before", result.before.matching.to_string()),
            ("delivered after", result.after.matching.to_string()),
            ("added", result.added.to_string()),
            ("removed", result.removed.to_string()),
            ("changed", result.changed.to_string()),
            ("failures before", result.before.failures.to_string()),
            ("failures after", result.after.failures.to_string()),
        ]
    })
}

/// Prints the first errors and differences, for people.
fn report(result: &BacktestResult) {
    for difference in &result.differences {
        eprintln!("{} {}", difference.event_type, difference.event_id);
        for line in diff(&pretty(&difference.before), &pretty(&difference.after)) {
            eprintln!("  {}", clean(&line));
        }
    }
    for error in &result.errors {
        let text = format!("{} {}: {}", error.event_type, error.event_id, error.error);
        eprintln!("{}", clean(&text));
    }
    if !result.complete {
        match result.through {
            Some(at) => {
                eprintln!("the backtest ended before the last event; continue with --since {at}")
            }
            None => eprintln!(
                "the time limit of the backtest ended before an event was found; use a later --since"
            ),
        }
    }
}

/// JSON on several lines; any other text unchanged.
fn pretty(text: &str) -> String {
    let value = serde_json::from_str::<serde_json::Value>(text);
    let lines = value.and_then(|value| serde_json::to_string_pretty(&value));
    lines.unwrap_or_else(|_| text.to_owned())
}

/// All lines from the first difference to the last, with one common line before and after.
fn diff(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let same = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = same.take_while(|(a, b)| a == b).count();
    let signed = |sign: char| move |line: &&str| format!("{sign} {line}");
    let common_before = start.checked_sub(1).map(|at| &old[at]);
    let common_after = old.get(old.len() - end);
    let removed = old[start..old.len() - end].iter().map(signed('-'));
    let added = new[start..new.len() - end].iter().map(signed('+'));
    let lines = common_before.map(signed(' ')).into_iter();
    let lines = lines.chain(removed).chain(added);
    lines.chain(common_after.map(signed(' '))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_the_lines_that_differ() {
        let (before, after) = (
            pretty(r#"{"a":1,"b":2,"c":3}"#),
            pretty(r#"{"a":1,"b":4,"c":3}"#),
        );
        let expected = [
            "    \"a\": 1,",
            "-   \"b\": 2,",
            "+   \"b\": 4,",
            "    \"c\": 3",
        ];
        assert_eq!(diff(&before, &after), expected);
        assert_eq!(diff("not matched", "x"), ["- not matched", "+ x"]);
        assert_eq!(diff("a", "a\nb"), ["  a", "+ b"]);
    }
}
