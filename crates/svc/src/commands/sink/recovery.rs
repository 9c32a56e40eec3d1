//! `svc sink resend` and `svc sink replay`: send past events to a sink again.

use svc_client::Client;
use svc_core::Timestamp;
use svc_protocol::api::{Replay, ReplayOnly, Resend, Sink};

use super::{SinkArg, deliveries};
use crate::{
    commands::{Shell, records, times::parse_time},
    exit::{Failure, Outcome},
    output::{joined, present},
};

/// Send deliveries again; a single delivery is queued at once, several as the queue drains
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc sink resend builds 17\n  svc sink resend builds 17 18 21\n  svc sink resend builds --dead-since 2026-01-31T08:00:00Z --dry-run"
)]
pub struct ResendArgs {
    #[command(flatten)]
    which: SinkArg,
    /// Numbers of deliveries, as `svc sink deliveries` shows them
    #[arg(required_unless_present = "dead_since", conflicts_with = "dead_since")]
    numbers: Vec<u64>,
    /// All deliveries that ended as dead since this time (RFC 3339, or 2h for 2 hours ago) and were
    /// not sent again
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    dead_since: Option<Timestamp>,
    /// Only count the deliveries, and send none
    #[arg(long)]
    dry_run: bool,
}

/// Queue matching past events again
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc sink replay builds --since 2026-01-31T08:00:00Z --until 2026-01-31T09:00:00Z\n  svc sink replay builds --since 2d --only-undelivered --dry-run"
)]
pub struct ReplayArgs {
    #[command(flatten)]
    which: SinkArg,
    /// Only events from this time on: RFC 3339, or 2h for 2 hours ago [default: 24 hours ago]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    since: Option<Timestamp>,
    /// Only events up to this time, the time itself included [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    until: Option<Timestamp>,
    /// Only events that were not delivered and do not wait in the queue. Implies --feed
    #[arg(long)]
    only_undelivered: bool,
    /// Queue events as the queue drains, so that none is dropped
    #[arg(long)]
    feed: bool,
    /// Only count the events, and queue none
    #[arg(long)]
    dry_run: bool,
}

pub async fn resend(shell: &Shell, args: ResendArgs) -> Outcome {
    let reference = &args.which.sink;
    let (client, sink) = records::open::<Sink>(shell, reference).await?;
    match args.numbers[..] {
        [n] if !args.dry_run => resend_one(shell, &client, &sink, reference, n).await,
        _ => resend_many(shell, &client, &sink, args).await,
    }
}

async fn resend_one(
    shell: &Shell,
    client: &Client,
    sink: &Sink,
    reference: &str,
    n: u64,
) -> Outcome {
    let list = format!("svc sink deliveries {reference}");
    let resent = client.resend(sink.id, n).await;
    let delivery = resent.map_err(|error| Failure::of_record(error, list))?;
    eprintln!("delivery {n} is queued again, as delivery {}", delivery.n);
    deliveries::show(shell, &delivery)
}

async fn resend_many(shell: &Shell, client: &Client, sink: &Sink, args: ResendArgs) -> Outcome {
    let resend = Resend {
        deliveries: (!args.numbers.is_empty()).then_some(args.numbers),
        dead_since: args.dead_since,
        dry_run: args.dry_run,
    };
    let result = client.act(sink, &resend).await?;
    let count = result.feeding;
    match args.dry_run {
        true => eprintln!("{count} deliveries would be sent again"),
        false => eprintln!("{count} deliveries are sent again, as the queue drains"),
    }
    shell.output.record(&result, || {
        vec![
            ("feeding", count.to_string()),
            ("skipped", joined(&result.skipped)),
        ]
    })
}

pub async fn replay(shell: &Shell, args: ReplayArgs) -> Outcome {
    let (client, sink) = records::open::<Sink>(shell, &args.which.sink).await?;
    let replay = Replay {
        since: args.since,
        until: args.until,
        only: args.only_undelivered.then_some(ReplayOnly::Undelivered),
        feed: args.feed.then_some(true),
        dry_run: args.dry_run,
    };
    let replayed = client.act(&sink, &replay).await?;
    if replayed.dropped > 0 {
        eprintln!(
            "{} events did not fit into the queue; wait until it is shorter and replay with a later --since, or start again with --feed",
            replayed.dropped
        );
    }
    let (matching, feeding) = (replayed.matching, replayed.feeding);
    let unless_counted = |count: u32| matching.is_none().then(|| count.to_string());
    shell.output.record(&replayed, || {
        present([
            ("matching", matching.map(|count| count.to_string())),
            ("queued", unless_counted(replayed.queued)),
            ("dropped", unless_counted(replayed.dropped)),
            ("feeding", (feeding > 0).then(|| feeding.to_string())),
        ])
    })
}
