//! The results of a run, as text, JSON and Markdown.

mod figures;

use std::{fmt::Write, path::Path};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use self::figures::Figure;
use super::{cases::Case, load::Slice, stdio::Pipe};
use crate::links::Links;

/// The tables of a document are between these marks.
const MARKS: (&str, &str) = ("<!-- calls: begin -->", "<!-- calls: end -->");

pub struct Report {
    cases: Vec<Measured>,
    pub stdio: Option<Pipe>,
    /// Microseconds of each registration of ten methods on a server with 100,000 methods.
    pub registration: Option<Vec<f64>>,
    /// Sorted by the number of links.
    pub links: Vec<Links>,
    /// Sentences about the cores on which the processes ran.
    pub notes: Vec<String>,
}

/// A case and its measurements.
struct Measured {
    name: String,
    connections: usize,
    slices: Vec<Slice>,
    system_calls: Option<f64>,
}

/// First quartile, median, third quartile.
#[derive(Clone, Copy, Debug)]
struct Quartiles([f64; 3]);

impl Quartiles {
    fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let at = |part: usize| values.get((values.len() - 1) * part / 4).copied();
        Self([1, 2, 3].map(|part| at(part).unwrap_or(f64::NAN)))
    }

    fn median(self) -> f64 {
        self.0[1]
    }
}

impl Measured {
    fn rates(&self) -> impl Iterator<Item = f64> {
        self.slices
            .iter()
            .map(|slice| slice.calls as f64 / slice.seconds)
    }

    fn cpu(&self) -> impl Iterator<Item = f64> {
        self.slices.iter().map(|slice| slice.cpu.iter().sum())
    }

    fn json(&self) -> Value {
        let quartiles = |values: Quartiles| json!(values.0);
        let processes = self.slices.first().map_or(0, |slice| slice.cpu.len());
        let cpu = (0..processes)
            .map(|n| Quartiles::of(self.slices.iter().map(|slice| slice.cpu[n])).median());
        json!({
            "case": self.name,
            "connections": self.connections,
            "calls_per_second": quartiles(Quartiles::of(self.rates())),
            "p50_us": quartiles(Quartiles::of(self.slices.iter().map(|slice| slice.p50))),
            "p99_us": quartiles(Quartiles::of(self.slices.iter().map(|slice| slice.p99))),
            "cpu_us_per_call": quartiles(Quartiles::of(self.cpu())),
            "cpu_us_per_call_by_process": cpu.collect::<Vec<_>>(),
            "system_calls_per_call": self.system_calls,
        })
    }
}

impl Report {
    pub fn new(cases: &[Case], slices: Vec<Vec<Slice>>, calls: Vec<Option<f64>>) -> Self {
        let cases = cases.iter().zip(slices).zip(calls);
        let cases = cases.map(|((case, slices), system_calls)| Measured {
            name: case.name.clone(),
            connections: case.connections,
            slices,
            system_calls,
        });
        Self {
            cases: cases.collect(),
            stdio: None,
            registration: None,
            links: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn case(&self, name: &str) -> Option<&Measured> {
        self.cases.iter().find(|case| case.name == name)
    }

    pub fn json(&self) -> String {
        let figures: Vec<Value> = self.figures().iter().map(Figure::json).collect();
        let cases: Vec<Value> = self.cases.iter().map(Measured::json).collect();
        let links: Vec<Value> = self.links.iter().map(Links::json).collect();
        let whole =
            json!({"notes": self.notes, "figures": figures, "cases": cases, "links": links});
        format!("{whole:#}\n")
    }

    /// The report as text for a terminal.
    pub fn text(&self) -> String {
        self.markdown().replace("**", "")
    }

    pub fn markdown(&self) -> String {
        let mut text = String::from(
            "| Metric | Median | Quartiles | Gate | Goal | |\n|---|--:|--:|--:|--:|---|\n",
        );
        for figure in self.figures() {
            text += &figure.row();
        }
        text += "\n| Case | Calls/s | p50 µs | p99 µs | CPU µs per call (server + agent + method server) | System calls per call |\n|---|--:|--:|--:|--:|--:|\n";
        for case in &self.cases {
            let median = |of: fn(&Slice) -> f64| Quartiles::of(case.slices.iter().map(of)).median();
            let processes = case.slices.first().map_or(0, |slice| slice.cpu.len());
            let cpu: Vec<String> = (0..processes)
                .map(|n| Quartiles::of(case.slices.iter().map(|slice| slice.cpu[n])).median())
                .map(|cpu| format!("{cpu:.1}"))
                .collect();
            let system_calls = case.system_calls.map(|calls| format!("{calls:.1}"));
            let _ = writeln!(
                text,
                "| {} | {:.0} | {:.0} | {:.0} | {} | {} |",
                case.name,
                Quartiles::of(case.rates()).median(),
                median(|slice| slice.p50),
                median(|slice| slice.p99),
                cpu.join(" + "),
                system_calls.unwrap_or_else(|| "–".to_owned()),
            );
        }
        if let Some(Pipe { round_trip, rate }) = self.stdio {
            let _ = writeln!(
                text,
                "\nA, the pipe alone: {round_trip:.1} µs for one round trip, and {rate:.0} lines per second with 64 lines in flight."
            );
        }
        for links in &self.links {
            let _ = writeln!(
                text,
                "\n{} idle links, each with one method: {} bytes of server memory for each link. All links were up after {:.1} s. When the server was killed and restarted, all were up again after {:.1} s.",
                links.count,
                links.bytes_each(),
                links.linking.as_secs_f64(),
                links.storm.as_secs_f64(),
            );
        }
        for note in &self.notes {
            let _ = writeln!(text, "\n{note}");
        }
        text
    }
}

/// Replaces the tables between the marks of a document.
pub fn renew(document: &Path, tables: &str) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(document)?;
    let begin = text.find(MARKS.0).context("it has no begin mark")? + MARKS.0.len();
    let end = text.find(MARKS.1).context("it has no end mark")?;
    ensure!(begin <= end, "its marks are in the wrong order");
    let renewed = format!("{}\n\n{tables}\n{}", &text[..begin], &text[end..]);
    std::fs::write(document, renewed)?;
    Ok(())
}
