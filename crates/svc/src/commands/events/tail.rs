//! `svc events tail`: prints new events.

use svc_client::{Client, Error, EventStream};
use svc_protocol::api::EventRecord;

use super::{parse_patterns, print_line};
use crate::{
    commands::{
        Shell,
        tail::{POLICY, Tail, TailSource},
    },
    exit::{Exit, Outcome},
};

/// Show new events as they arrive, until stopped
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc events tail\n  svc events tail --pattern 'custom.build.*' -o json | jq .data"
)]
pub struct Args {
    /// Only types that match one of these patterns, separated by commas
    #[arg(long, visible_alias = "type", value_name = "PATTERNS", value_parser = parse_patterns)]
    pattern: Option<String>,
}

/// New events that match a list of patterns.
pub struct EventSource<'a>(pub Option<&'a str>);

impl TailSource for EventSource<'_> {
    type Record = EventRecord;
    const NAME: &'static str = "event";
    const ONE: &'static str = "an event";
    const MANY: &'static str = "events";
    const LIST: &'static str = "svc events list";

    async fn open(&self, client: &Client) -> Result<EventStream, Error> {
        client.event_stream(self.0).await
    }
}

pub async fn run(shell: &Shell, args: &Args) -> Outcome {
    let client = shell.client()?;
    let source = EventSource(args.pattern.as_deref());
    let mut tail = Tail::open(&client, source, POLICY).await?;
    loop {
        let event = tail.next().await?;
        if !print_line(shell, &event)? {
            return Ok(Exit::Ok);
        }
    }
}
