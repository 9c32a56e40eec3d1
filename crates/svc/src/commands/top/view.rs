//! The view of `svc top`: as text for a terminal of 80 columns, and as data for programs.

use std::cmp::Reverse;

use serde::Serialize;
use svc_core::{Timestamp, UserName};
use svc_protocol::api::{RegistrationStatus, Sink, Space};

use super::figures::{Load, MethodFigures};
use crate::{
    columns,
    commands::sink::activity,
    output::{Output, Table, json_name, or_dash, yes_no},
};

#[derive(Serialize)]
pub struct View {
    pub at: Timestamp,
    pub server: String,
    pub username: UserName,
    /// `None` if the caller may not see this number.
    pub calls_in_flight: Option<u64>,
    pub events_last_hour: u64,
    /// The busiest methods first.
    pub methods: Vec<MethodFigures>,
    /// Spaces that fail first. `None` if the caller may not see spaces.
    pub spaces: Option<Vec<Space>>,
    /// Sinks with problems first. `None` if the caller may not see sinks.
    pub sinks: Option<Vec<Sink>>,
}

/// The order of the spaces in a view: those that fail first.
pub fn space_order(space: &Space) -> impl Ord + use<> {
    (
        !space.condition().is_failing(),
        space.linked,
        space.name.to_string(),
    )
}

/// The order of the sinks in a view: those that the service paused first.
pub fn sink_order(sink: &Sink) -> impl Ord + use<> {
    let problems = sink.dead + sink.lost + u64::from(sink.failures);
    let rank = (sink.paused.is_some(), problems, sink.queue_depth);
    (Reverse(rank), sink.name.clone())
}

impl View {
    /// The view as text, with at most `rows` rows of each section.
    pub fn text(&self, output: &Output, rows: usize) -> String {
        let mut text = self.head();
        text.push_str(&section(output, &self.methods, rows, methods_table));
        for_list(self.spaces.as_deref(), |spaces| {
            text.push_str(&section(output, spaces, rows, spaces_table));
        });
        for_list(self.sinks.as_deref(), |sinks| {
            text.push_str(&section(output, sinks, rows, sinks_table));
        });
        text
    }

    fn head(&self) -> String {
        let sum = |of: fn(&Load) -> f64| self.methods.iter().map(|one| of(&one.load)).sum();
        let in_flight = self.calls_in_flight;
        let in_flight = in_flight.map(|count| format!(", in flight {count}"));
        format!(
            "{} as {} at {}\ncalls {}/s, failed {}/s{}, events in the last hour {}\n",
            self.server,
            self.username,
            self.at,
            rate(sum(|load| load.calls_per_second)),
            rate(sum(|load| load.failed_per_second)),
            in_flight.unwrap_or_default(),
            self.events_last_hour,
        )
    }
}

fn for_list<T>(list: Option<&[T]>, show: impl FnOnce(&[T])) {
    if let Some(list) = list.filter(|list| !list.is_empty()) {
        show(list);
    }
}

/// An empty line, the table, and the number of rows that it does not show.
fn section<T>(output: &Output, items: &[T], rows: usize, table: fn(&[T]) -> Table) -> String {
    let shown = &items[..items.len().min(rows)];
    let more = match items.len() - shown.len() {
        0 => String::new(),
        more => format!("… and {more} more\n"),
    };
    format!("\n{}{more}", output.table_text(&table(shown)))
}

fn methods_table(methods: &[MethodFigures]) -> Table {
    let head = [
        "METHOD",
        "CALLS/S",
        "FAILED/S",
        "P50 MS",
        "P95 MS",
        "IN FLIGHT",
        "PROVIDERS",
    ];
    Table::list(&head, "no methods", methods, |one| {
        vec![
            short(&one.name),
            rate(one.load.calls_per_second),
            rate(one.load.failed_per_second),
            or_dash(one.load.p50_ms.map(rate)),
            or_dash(one.load.p95_ms.map(rate)),
            or_dash(one.in_flight),
            one.providers.to_string(),
        ]
    })
}

fn spaces_table(spaces: &[Space]) -> Table {
    let head = ["SPACE", "OWNER", "STATE", "HEALTH", "LINKED", "METHODS"];
    Table::list(&head, "no spaces", spaces, |space| {
        let methods = match &space.registration {
            RegistrationStatus::None => "0".to_owned(),
            RegistrationStatus::Active { methods } => methods.to_string(),
            RegistrationStatus::Waiting { methods } => format!("{methods} waiting"),
            RegistrationStatus::Refused { .. } => "refused".to_owned(),
        };
        vec![
            short(space.name.as_str()),
            space.owner.to_string(),
            json_name(space.state),
            json_name(space.health),
            yes_no(space.linked),
            methods,
        ]
    })
}

fn sinks_table(sinks: &[Sink]) -> Table {
    let head = [
        "SINK", "ACTIVE", "WAITING", "FAILURES", "DEAD", "LOST", "DROPPED",
    ];
    Table::list(&head, "no sinks", sinks, |sink| {
        vec![
            short(&sink.name),
            activity(sink),
            sink.queue_depth.to_string(),
            sink.failures.to_string(),
            sink.dead.to_string(),
            sink.lost.to_string(),
            sink.dropped.to_string(),
        ]
    })
}

/// Shortens a name, so that the row fits into 80 columns.
fn short(name: &str) -> String {
    const COLUMNS_MAX: usize = 25;
    columns::cut(name, COLUMNS_MAX)
}

/// Zero is `0`. Other numbers below 10 have two decimals, numbers below 100 one, larger ones none.
fn rate(value: f64) -> String {
    match value {
        _ if value == 0.0 => "0".to_owned(),
        _ if value < 10.0 => format!("{value:.2}"),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
