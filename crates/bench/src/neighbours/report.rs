//! Prints the results of a run.

use std::time::Duration;

use super::{
    attacks::Attack,
    victim::{Measured, Times},
};

/// Limit of the victim's p99 under attack: the larger of three times the quiet value, and the quiet
/// value plus 25 ms.
const TIMES: u32 = 3;
const PLUS: Duration = Duration::from_millis(25);

/// Picks the times of one kind of request.
type Kind = fn(&Measured) -> &Times;

pub struct Row {
    pub attack: Attack,
    /// The number of cores that the attack used, in the attacker and in the server. The control
    /// uses the same number.
    pub cores: f64,
    pub quiet: Measured,
    pub attacked: Measured,
    pub control: Measured,
    /// By how much the server grew during the attack.
    pub memory_mib: u64,
    pub disk_mib: u64,
}

impl Row {
    fn is_within(&self, times: Kind) -> bool {
        let quiet = times(&self.quiet).percentile(99);
        let bound = (quiet * TIMES).max(quiet + PLUS);
        times(&self.attacked).percentile(99) <= bound
    }
}

pub fn print_row(row: &Row) {
    println!(
        "\n{}: {} ({:.2} cores)",
        row.attack.name(),
        row.attack.description(),
        row.cores
    );
    let kinds: [(&str, Kind, bool); 4] = [
        ("call", |measured| &measured.calls, true),
        ("emit to first attempt", |measured| &measured.attempts, true),
        ("list", |measured| &measured.lists, false),
        ("login", |measured| &measured.logins, false),
    ];
    println!(
        "  {:<22}{:>20}{:>20}{:>20}{:>12}",
        "p50 / p99", "quiet", "attacked", "control", "p99 ratio"
    );
    for (name, times, is_bound) in kinds {
        let pair = |measured: &Measured| {
            let times = times(measured);
            format!(
                "{} / {}",
                millis(times.percentile(50)),
                millis(times.percentile(99))
            )
        };
        let verdict = match is_bound {
            true if row.is_within(times) => "  within",
            true => "  OVER",
            false => "",
        };
        println!(
            "  {name:<22}{:>20}{:>20}{:>20}{:>12.2}{verdict}",
            pair(&row.quiet),
            pair(&row.attacked),
            pair(&row.control),
            ratio(times(&row.attacked), times(&row.quiet)),
        );
    }
    println!(
        "  the server grew by {} MiB of memory (peak) and {} MiB on disk",
        row.memory_mib, row.disk_mib
    );
    for (when, measured) in [
        ("quiet", &row.quiet),
        ("attacked", &row.attacked),
        ("control", &row.control),
    ] {
        if let Some(why) = &measured.failure {
            println!("  {when}: {} requests failed; {why}", measured.failures);
        }
    }
}

pub fn print(rows: &[Row]) {
    println!(
        "\nratios of p99, for calls and for emit to first attempt: attacked / quiet, control / quiet"
    );
    println!(
        "  {:<22}{:>8}{:>18}{:>18}{:>10}",
        "attack", "cores", "call", "first attempt", "failed"
    );
    for row in rows {
        let pair = |times: Kind| {
            let over = |measured| ratio(times(measured), times(&row.quiet));
            let mark = match row.is_within(times) {
                true => "",
                false => " OVER",
            };
            format!(
                "{:.2}, {:.2}{mark}",
                over(&row.attacked),
                over(&row.control)
            )
        };
        println!(
            "  {:<22}{:>8.2}{:>18}{:>18}{:>10}",
            row.attack.name(),
            row.cores,
            pair(|measured| &measured.calls),
            pair(|measured| &measured.attempts),
            row.attacked.failures,
        );
    }
}

fn ratio(times: &Times, quiet: &Times) -> f64 {
    let quiet = quiet.percentile(99).as_secs_f64();
    times.percentile(99).as_secs_f64() / quiet.max(f64::EPSILON)
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
