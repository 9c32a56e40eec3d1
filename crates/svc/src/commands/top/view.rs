//! The view of `svc top`: as text for a terminal of 80 columns, and as data for programs.

use std::cmp::Reverse;

use serde::Serialize;
use svc_core::{Timestamp, UserName};
use svc_protocol::api::{RegistrationStatus, Sink, Space};

use super::figures::{Load, MethodFigures};
use crate::{
    columns,
    commands::sink::activity,
    output::{Column, Output, Table, json_name, or_dash, yes_no},
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
        text += &section(output, rows, &self.methods, "no methods", &METHODS);
        if let Some(spaces) = self.spaces.as_ref().filter(|list| !list.is_empty()) {
            text += &section(output, rows, spaces, "no spaces", &SPACES);
        }
        if let Some(sinks) = self.sinks.as_ref().filter(|list| !list.is_empty()) {
            text += &section(output, rows, sinks, "no sinks", &SINKS);
        }
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

/// An empty line, the table, and the number of rows that it does not show.
fn section<T>(
    output: &Output,
    rows: usize,
    items: &[T],
    empty: &str,
    columns: &[Column<T>],
) -> String {
    let shown = &items[..items.len().min(rows)];
    let more = match items.len() - shown.len() {
        0 => String::new(),
        more => format!("… and {more} more\n"),
    };
    let table = Table::of(columns, empty, shown);
    format!("\n{}{more}", output.table_text(&table))
}

const METHODS: [Column<MethodFigures>; 7] = [
    ("METHOD", |one| short(&one.name)),
    ("CALLS/S", |one| rate(one.load.calls_per_second)),
    ("FAILED/S", |one| rate(one.load.failed_per_second)),
    ("P50 MS", |one| or_dash(one.load.p50_ms.map(rate))),
    ("P95 MS", |one| or_dash(one.load.p95_ms.map(rate))),
    ("IN FLIGHT", |one| or_dash(one.in_flight)),
    ("PROVIDERS", |one| one.providers.to_string()),
];

const SPACES: [Column<Space>; 6] = [
    ("SPACE", |space| short(space.name.as_str())),
    ("OWNER", |space| space.owner.to_string()),
    ("STATE", |space| json_name(space.state)),
    ("HEALTH", |space| json_name(space.health)),
    ("LINKED", |space| yes_no(space.linked)),
    ("METHODS", |space| methods(&space.registration)),
];

const SINKS: [Column<Sink>; 7] = [
    ("SINK", |sink| short(&sink.name)),
    ("ACTIVE", activity),
    ("WAITING", |sink| sink.queue_depth.to_string()),
    ("FAILURES", |sink| sink.failures.to_string()),
    ("DEAD", |sink| sink.dead.to_string()),
    ("LOST", |sink| sink.lost.to_string()),
    ("DROPPED", |sink| sink.dropped.to_string()),
];

fn methods(status: &RegistrationStatus) -> String {
    match status {
        RegistrationStatus::None => "0".to_owned(),
        RegistrationStatus::Active { methods } => methods.to_string(),
        RegistrationStatus::Waiting { methods } => format!("{methods} waiting"),
        RegistrationStatus::Refused { .. } => "refused".to_owned(),
    }
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
