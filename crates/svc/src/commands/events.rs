//! `svc events`: lists past events and follows new ones.

mod listen;

use clap::Subcommand;
use svc_client::{Client, Error, EventStream};
use svc_core::{EventId, SpaceId, Timestamp, pattern::Pattern};
use svc_protocol::api::{EventQuery, EventRecord, Events, SEARCH_TEXT_MAX};

use super::{
    Shell,
    records::ListArgs,
    space,
    tail::{POLICY, Tail, TailSource},
    times::parse_time,
};
use crate::{
    exit::{Failure, Outcome},
    output::{Column, Fields, joined, or_dash},
};

/// List past events, and follow new ones
#[derive(Subcommand, Debug)]
#[command(before_help = "  svc events list --type 'space.*'\n  svc events tail")]
pub enum Command {
    /// List past events, newest first
    #[command(
        before_help = "  svc events list --since 2h --text A-17\n  svc events list --type 'custom.build.*' --space lab -o json"
    )]
    List {
        #[command(flatten)]
        filter: Filter,
        #[command(flatten)]
        page: ListArgs,
    },
    /// Show an event, with its data
    #[command(before_help = "  svc events get 0197a1b2-…")]
    Get {
        /// Id of the event
        id: EventId,
    },
    /// Show new events as they arrive, until stopped
    #[command(
        before_help = "  svc events tail\n  svc events tail --pattern 'custom.build.*' -o json | jq .data"
    )]
    Tail {
        /// Only types that match one of these patterns, separated by commas
        #[arg(long, visible_alias = "type", value_name = "PATTERNS", value_parser = parse_patterns)]
        pattern: Option<String>,
    },
    Listen(listen::Args),
}

/// An event must match every given option.
#[derive(clap::Args, Debug)]
pub struct Filter {
    /// Only types that match this pattern: exact, or with a `*` at the end
    #[arg(long = "type", value_name = "PATTERN", value_parser = parse_pattern)]
    pattern: Option<String>,
    /// Only events of this space: name, owner/name or id
    #[arg(long)]
    space: Option<String>,
    /// Only events since this time, such as 2h for 2 hours ago, or 2026-11-17T08:00:00Z
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<Timestamp>,
    /// Only events until this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<Timestamp>,
    /// Only events that this user emitted: name
    #[arg(long, value_name = "USER")]
    actor: Option<String>,
    /// Only events whose payload contains this text; upper and lower case are the same
    #[arg(long, value_name = "TEXT", value_parser = parse_text)]
    text: Option<String>,
}

/// Checks the value of `--text` before a request is sent.
fn parse_text(text: &str) -> Result<String, String> {
    match text.len() {
        1..=SEARCH_TEXT_MAX => Ok(text.to_owned()),
        length => Err(format!(
            "a text has 1 to {SEARCH_TEXT_MAX} bytes; this one has {length}"
        )),
    }
}

/// Checks a pattern before a request is sent.
fn parse_pattern(text: &str) -> Result<String, String> {
    Pattern::parse(text, 1)
        .map(|pattern| pattern.to_string())
        .map_err(|error| error.to_string())
}

/// Checks several patterns, separated by commas, before a request is sent.
pub fn parse_patterns(text: &str) -> Result<String, String> {
    Pattern::parse_list(text)
        .map(joined)
        .map_err(|error| error.to_string())
}

pub async fn run(shell: &Shell, command: Command) -> Outcome {
    match command {
        Command::List { filter, page } => list(shell, filter, page).await,
        Command::Get { id } => get(shell, id).await,
        Command::Tail { pattern } => {
            let client = shell.client()?;
            let source = EventSource(pattern.as_deref());
            let tail = Tail::open(&client, source, POLICY).await?;
            tail.print_all(|event| print_line(shell, event)).await
        }
        Command::Listen(args) => listen::run(shell, &args).await,
    }
}

async fn list(shell: &Shell, filter: Filter, args: ListArgs) -> Outcome {
    let client = shell.client()?;
    let query = EventQuery {
        r#type: filter.pattern,
        space_id: space::find_id(shell, filter.space.as_deref()).await?,
        since: filter.since,
        until: filter.until,
        actor: filter.actor,
        text: filter.text,
    };
    let document: Events = client.events(&args.page(), &query).await?;
    // The server limits how many events it reads for a page, so a page may be empty although later
    // pages have matching events.
    if let (true, Some(cursor)) = (document.events.is_empty(), &document.next_cursor) {
        eprintln!("no matching events so far; continue with --cursor {cursor}");
    }
    let empty = "no events; emit one with: svc event <type> '{\"key\": \"value\"}'";
    let columns: [Column<EventRecord>; 5] = [
        ("AT", |event| event.event_ts.to_string()),
        ("TYPE", |event| event.event_type.clone()),
        ("ACTOR", |event| event.actor.username.clone()),
        ("ID", |event| event.event_id.to_string()),
        ("DATA", |event| event.data.to_string()),
    ];
    let output = &shell.output;
    output.list(&document, empty, &document.events, &columns)
}

async fn get(shell: &Shell, id: EventId) -> Outcome {
    let found = shell.client()?.event(id).await;
    let event = found.map_err(|error| Failure::of_record(error, "svc events list"))?;
    shell.output.record(&event, || fields(&event))
}

fn fields(event: &EventRecord) -> Fields {
    let space = Some(event.space_id).filter(|id| *id != SpaceId::NIL);
    vec![
        ("id", event.event_id.to_string()),
        ("type", event.event_type.clone()),
        ("at", event.event_ts.to_string()),
        ("space", or_dash(space)),
        ("owner", event.owner_id.to_string()),
        ("actor", event.actor.username.clone()),
        ("data", event.data.to_string()),
    ]
}

/// New events that match a list of patterns.
pub struct EventSource<'a>(pub Option<&'a str>);

impl TailSource for EventSource<'_> {
    type Record = EventRecord;
    const NAME: &'static str = "event";
    const ONE: &'static str = "an event";

    async fn open(&self, client: &Client) -> Result<EventStream, Error> {
        client.event_stream(self.0).await
    }
}

/// Prints an event on one line, in every format. `false` if stdout is closed.
fn print_line(shell: &Shell, event: &EventRecord) -> Result<bool, Failure> {
    shell.output.next_record(event, || {
        format!(
            "{} {} {} {}",
            event.event_ts, event.event_type, event.event_id, event.data
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_checked_before_any_request() {
        assert_eq!(parse_pattern(" space.* ").as_deref(), Ok("space.*"));
        for bad in ["", "*.a", "a,b", "a b"] {
            assert!(parse_pattern(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_patterns("a.*,b").as_deref(), Ok("a.*, b"));
        assert!(parse_patterns("a,,b").is_err());
    }

    #[test]
    fn a_text_to_search_for_is_checked_before_any_request() {
        assert!(parse_text(&"x".repeat(SEARCH_TEXT_MAX)).is_ok());
        for bad in ["", &"x".repeat(SEARCH_TEXT_MAX + 1)] {
            assert!(parse_text(bad).is_err(), "{}", bad.len());
        }
    }
}
