//! `svc sink deliveries`: lists the deliveries of a sink, and follows their changes.

use std::{collections::BTreeMap, time::Duration};

use svc_client::Client;
use svc_core::SinkId;
use svc_protocol::api::{Delivery, DeliveryQuery, DeliveryState, Sink};

use super::{
    SinkArg,
    exchange::{self, AttemptArg},
};
use crate::{
    commands::{
        Shell,
        choice::choice,
        records::{self, LIMIT_DEFAULT, ListArgs},
    },
    exit::{Exit, Failure, Outcome},
    output::{Column, json_name, or_dash},
};

/// Time between two requests of `--follow`.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);
/// The number of deliveries that `--follow` watches: a full queue of 100, and as many finished
/// deliveries.
const FOLLOW_LIMIT: u32 = 200;

/// Show a sink's deliveries and their attempts, newest first
#[derive(clap::Args, Debug)]
#[command(
    before_help = "  svc sink deliveries builds --state dead\n  svc sink deliveries builds -f\n  \
                   svc sink deliveries builds --attempt 17\n  svc sink deliveries builds --attempt 17.1 --curl"
)]
pub struct Args {
    #[command(flatten)]
    which: SinkArg,
    /// Only deliveries in this state
    #[arg(long, value_parser = choice::<DeliveryState>(&["pending", "delivered", "dead"]))]
    state: Option<DeliveryState>,
    /// Show each change as it happens; with -o json one object per line
    #[arg(short, long, conflicts_with = "cursor")]
    follow: bool,
    /// Show what attempt K of delivery N sent and received [default for K: the last attempt]. The
    /// sink needs --delivery keep_exchanges=true
    #[arg(
        long,
        value_name = "N[.K]",
        value_parser = exchange::parse_attempt,
        conflicts_with_all = ["follow", "state", "cursor", "limit"]
    )]
    attempt: Option<AttemptArg>,
    /// Show the request of the attempt as a curl command; secrets are placeholders
    #[arg(long, requires = "attempt")]
    curl: bool,
    #[command(flatten)]
    page: ListArgs,
}

pub async fn run(shell: &Shell, args: Args) -> Outcome {
    let (client, sink) = records::open::<Sink>(shell, &args.which.sink).await?;
    if let Some(attempt) = args.attempt {
        return exchange::show(shell, &client, &sink, attempt, args.curl).await;
    }
    let state = args.state;
    if args.follow {
        return follow(shell, &client, sink.id, state, args.page.limit).await;
    }
    let page = args.page.page();
    let query = DeliveryQuery {
        state,
        limit: page.limit,
        cursor: page.cursor,
        ..DeliveryQuery::default()
    };
    let document = client.deliveries(sink.id, &query).await?;
    let columns: [Column<Delivery>; 6] = [
        ("N", |delivery| delivery.n.to_string()),
        ("STATE", |delivery| json_name(delivery.state)),
        ("TYPE", |delivery| delivery.event_type.clone()),
        ("EVENT", |delivery| delivery.event_id.to_string()),
        ("ATTEMPTS", |delivery| delivery.attempts.len().to_string()),
        ("LAST ATTEMPT", last_attempt),
    ];
    let output = &shell.output;
    output.list(&document, "no deliveries", &document.deliveries, &columns)
}

/// Prints one delivery as a record.
pub fn show(shell: &Shell, delivery: &Delivery) -> Outcome {
    shell.output.record(delivery, || {
        vec![
            ("n", delivery.n.to_string()),
            ("event", delivery.event_id.to_string()),
            ("type", delivery.event_type.clone()),
            ("state", json_name(delivery.state)),
        ]
    })
}

fn last_attempt(delivery: &Delivery) -> String {
    let last = delivery.attempts.last();
    or_dash(last.map(|attempt| {
        let status = attempt.status.map(|status| format!(" {status}"));
        let error = attempt.error.as_ref().map(|error| format!(" {error}"));
        let omitted = match attempt.output_omitted {
            true => " (texts not kept: quota event_bytes)",
            false => "",
        };
        format!(
            "{}{} {} ms{}{omitted}",
            attempt.at,
            status.unwrap_or_default(),
            attempt.ms,
            error.unwrap_or_default(),
        )
    }))
}

/// Prints the latest deliveries, then each change.
async fn follow(
    shell: &Shell,
    client: &Client,
    sink: SinkId,
    state: Option<DeliveryState>,
    shown_first: Option<u32>,
) -> Outcome {
    // The state is not part of the query. Otherwise, when a delivery leaves the state, an older
    // delivery could move up into the list and would look new.
    let query = DeliveryQuery {
        limit: Some(FOLLOW_LIMIT),
        ..DeliveryQuery::default()
    };
    let mut seen = ShownDeliveries::default();
    let mut first = true;
    loop {
        let latest = client.deliveries(sink, &query).await?.deliveries;
        let mut changed = seen.changes(latest);
        changed.retain(|delivery| state.is_none_or(|state| delivery.state == state));
        if std::mem::take(&mut first) {
            let shown = usize::try_from(shown_first.unwrap_or(LIMIT_DEFAULT)).unwrap_or(usize::MAX);
            changed.drain(..changed.len().saturating_sub(shown));
        }
        for delivery in &changed {
            if !print_line(shell, delivery)? {
                return Ok(Exit::Ok);
            }
        }
        tokio::time::sleep(FOLLOW_INTERVAL).await;
    }
}

/// State and number of attempts of each delivery in the list that was read last.
#[derive(Default)]
struct ShownDeliveries {
    shown: BTreeMap<u64, (DeliveryState, usize)>,
}

impl ShownDeliveries {
    /// New and changed deliveries, oldest first.
    fn changes(&mut self, latest: Vec<Delivery>) -> Vec<Delivery> {
        let now: BTreeMap<u64, (DeliveryState, usize)> = latest
            .iter()
            .map(|delivery| (delivery.n, (delivery.state, delivery.attempts.len())))
            .collect();
        let before = std::mem::replace(&mut self.shown, now);
        let mut changed: Vec<Delivery> = latest
            .into_iter()
            .filter(|delivery| before.get(&delivery.n) != self.shown.get(&delivery.n))
            .collect();
        changed.sort_by_key(|delivery| delivery.n);
        changed
    }
}

fn print_line(shell: &Shell, delivery: &Delivery) -> Result<bool, Failure> {
    shell.output.next_record(delivery, || {
        format!(
            "{:>6} {:<9} {} {} attempts: {} {}",
            delivery.n,
            json_name(delivery.state),
            delivery.event_type,
            delivery.event_id,
            delivery.attempts.len(),
            last_attempt(delivery)
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    fn delivery(n: u64, state: &str, attempts: usize) -> Delivery {
        let attempt = json!({"at": "1970-01-01T00:00:00.000Z", "status": 500, "ms": 7, "error": "no", "output": null});
        serde_json::from_value(json!({
            "n": n, "event_id": Uuid::nil(), "event_type": "a", "state": state,
            "attempts": vec![attempt; attempts],
        }))
        .expect("a delivery")
    }

    #[test]
    fn only_changes_are_shown_oldest_first() {
        let mut seen = ShownDeliveries::default();
        let mut check = |latest: Vec<Delivery>, expected: &[u64]| {
            let changed: Vec<u64> = seen.changes(latest).iter().map(|each| each.n).collect();
            assert_eq!(changed, expected);
        };
        check(
            vec![delivery(2, "pending", 0), delivery(1, "pending", 1)],
            &[1, 2],
        );
        check(
            vec![delivery(2, "pending", 0), delivery(1, "pending", 1)],
            &[],
        );
        check(
            vec![
                delivery(3, "pending", 0),
                delivery(2, "pending", 0),
                delivery(1, "dead", 3),
            ],
            &[1, 3],
        );
    }

    #[test]
    fn the_last_attempt_is_one_line() {
        assert_eq!(
            last_attempt(&delivery(1, "pending", 2)),
            "1970-01-01T00:00:00.000Z 500 7 ms no"
        );
        assert_eq!(last_attempt(&delivery(1, "pending", 0)), "-");
    }
}
