//! Prints a space's log, and follows it.

use std::time::Duration;

use serde::de::DeserializeOwned;
use svc_client::Client;
use svc_core::{SpaceId, space::LogLevel};
use svc_protocol::api::{LogLine, LogQuery, LogSource, NumberedLine};

use crate::{
    commands::Shell,
    exit::{Exit, Failure, Outcome},
    output::{Format, clean_except, json_name},
};

/// How long `--follow` waits after an answer without lines.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);

#[derive(clap::Args, Debug)]
pub struct LogArgs {
    /// Keep printing new lines; with -o json one object per line
    #[arg(short, long)]
    pub follow: bool,
    /// Maximum number of lines
    #[arg(long, value_name = "N")]
    pub limit: Option<u32>,
    /// Only lines of one source: stderr, stdout, agent or script
    #[arg(long, value_parser = by_name::<LogSource>, value_name = "SOURCE")]
    pub source: Option<LogSource>,
    /// Only lines of this level or a higher one: trace, debug, info, warning or error; lines that
    /// name no level are shown too
    #[arg(long, value_parser = by_name::<LogLevel>, value_name = "LEVEL")]
    pub level: Option<LogLevel>,
    /// Only lines that contain this text, in upper or lower case
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
}

/// Reads a value by its name in JSON.
fn by_name<T: DeserializeOwned>(name: &str) -> Result<T, String> {
    serde_json::from_value(name.into()).map_err(|error| error.to_string())
}

pub async fn print_logs(shell: &Shell, client: &Client, space: SpaceId, args: &LogArgs) -> Outcome {
    let mut query = LogQuery {
        limit: args.limit.map(u64::from),
        cursor: None,
        source: args.source,
        level: args.level,
        search: args.search.clone(),
    };
    let first = client.space_logs(space, &query).await?;
    if !args.follow {
        if shell.output.format == Format::Table {
            for line in &first.logs {
                print(shell, line)?;
            }
        } else {
            shell.output.data(&first)?;
        }
        return Ok(Exit::Ok);
    }
    let mut last = None;
    let mut logs = first;
    loop {
        for line in &logs.logs {
            // A page may be read twice. Lines up to the number `last` are already printed.
            if last.is_none_or(|last| line.n > last) {
                if !print(shell, line)? {
                    return Ok(Exit::Ok);
                }
                last = Some(line.n);
            }
        }
        let next = logs.next_cursor.and_then(|cursor| cursor.parse().ok());
        query.cursor = next.or(query.cursor);
        if logs.logs.is_empty() {
            tokio::time::sleep(FOLLOW_INTERVAL).await;
        }
        logs = client.space_logs(space, &query).await?;
    }
}

/// Prints a line. `false` if stdout is closed.
fn print(shell: &Shell, numbered: &NumberedLine) -> Result<bool, Failure> {
    if shell.output.format != Format::Table {
        let text = serde_json::to_string(numbered).expect("a log line is always JSON");
        return shell.output.next_line(text);
    }
    let LogLine { at, source, line } = &numbered.line;
    let (source, text) = (json_name(source), clean_except(line, &['\t']));
    shell.output.next_line(format!("{at} {source:<6} {text}"))
}
