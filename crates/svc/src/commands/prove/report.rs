//! The report of a run.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::Serialize;

use super::{
    Plan,
    calls::CallTotals,
    harm::Harm,
    ledger::{Finding, FindingKind, Totals},
    rounds::Run,
};
use crate::{
    exit::{Exit, Outcome},
    output::{Fields, Output, joined},
    runtime,
};

/// Findings that are listed. All are counted.
const LISTED_MAX: usize = 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    Finished,
    /// Ctrl-C or SIGTERM.
    Interrupted,
    Broken,
}

#[derive(Debug, Serialize)]
pub struct Report {
    /// Whether every promise was kept in the finished rounds.
    pub kept_promises: bool,
    interrupted: bool,
    seed: u64,
    rounds: usize,
    finished_rounds: usize,
    /// Finished rounds of each kind.
    disturbances: BTreeMap<Harm, usize>,
    database: &'static str,
    servers: usize,
    seconds: f64,
    #[serde(flatten)]
    totals: Totals,
    calls: CallTotals,
    /// Emits that failed or were not answered, and were sent again with the same key.
    failed_emits: u64,
    /// The longest time until a few emits were acknowledged again, in milliseconds.
    longest_wait_ms: u128,
    lost: usize,
    inverted: usize,
    invented: usize,
    /// Calls that reached the method server twice.
    twice: usize,
    stuck: usize,
    /// The first findings.
    findings: Vec<Finding>,
    /// The command that repeats the choices of the run. The timing of the processes still differs.
    repeat: String,
    /// The folder, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
    /// The schema, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<String>,
}

impl Report {
    pub fn of(plan: &Plan, run: &Run, ending: Ending, time: Duration) -> Self {
        let count = |kind| run.findings.iter().filter(|one| one.kind == kind).count();
        Self {
            kept_promises: run.findings.is_empty(),
            interrupted: ending == Ending::Interrupted,
            seed: plan.seed,
            rounds: plan.rounds,
            finished_rounds: run.done.values().sum(),
            disturbances: run.done.clone(),
            database: match plan.database {
                Some(_) => "postgresql",
                None => "embedded",
            },
            servers: plan.servers,
            seconds: (time.as_secs_f64() * 10.0).round() / 10.0,
            totals: run.shared.ledger().totals(),
            calls: run.call_totals(),
            failed_emits: run.shared.failed_emits(),
            longest_wait_ms: run.longest_wait.as_millis(),
            lost: count(FindingKind::Lost),
            inverted: count(FindingKind::Inverted),
            invented: count(FindingKind::Invented),
            twice: count(FindingKind::Twice),
            stuck: count(FindingKind::Stuck),
            findings: run.findings.iter().take(LISTED_MAX).cloned().collect(),
            repeat: plan.command(),
            folder: None,
            schema: None,
        }
    }

    /// Names the folder and the schema, if they were kept.
    pub fn name_places(&mut self, plan: &Plan, kept: bool) {
        if kept {
            self.folder = Some(plan.folder.clone());
            self.schema = plan.database.as_ref().map(|(_, schema)| schema.clone());
        }
    }

    pub fn print(&self, output: &Output) -> Outcome {
        output.record(self, || self.fields())?;
        for Finding { kind, round, what } in &self.findings {
            eprintln!("{kind}, round {round}: {what}");
        }
        if let Some(folder) = &self.folder {
            eprintln!("kept: `{}`", folder.display());
        }
        if let Some(schema) = &self.schema {
            eprintln!("kept: {}", how_to_remove(schema));
        }
        if !self.kept_promises {
            eprintln!("a promise was broken; to repeat the run: {}", self.repeat);
            return Ok(Exit::Failure);
        }
        let finished = self.finished_rounds;
        if self.interrupted {
            eprintln!("stopped after {finished} of {} rounds", self.rounds);
            let code = u8::try_from(runtime::INTERRUPTED).unwrap_or(u8::MAX);
            return Ok(Exit::Script(code));
        }
        eprintln!("every promise was kept");
        Ok(Exit::Ok)
    }

    fn fields(&self) -> Fields {
        let (totals, calls) = (&self.totals, &self.calls);
        let kinds = self.disturbances.iter();
        let kinds = kinds.map(|(harm, count)| format!("{harm} {count}"));
        let rounds = format!("{} of {}", self.finished_rounds, self.rounds);
        let servers = format!("{}, {} database", self.servers, self.database);
        let acknowledged = format!(
            "{} events, {} deliveries",
            totals.acknowledged, totals.expected
        );
        let arrived = format!(
            "{} deliveries, {} repeated",
            totals.arrived, totals.repeated
        );
        let dead = format!("{} deliveries, refused by the receiver", totals.dead);
        let failed = format!("{}, sent again with the same key", self.failed_emits);
        let results = format!(
            "{} succeeded and {} were executed",
            calls.succeeded, calls.executed
        );
        vec![
            ("rounds", rounds),
            ("disturbances", joined(kinds)),
            ("seed", self.seed.to_string()),
            ("servers", servers),
            ("time", format!("{} s", self.seconds)),
            ("acknowledged", acknowledged),
            ("arrived", arrived),
            ("dead", dead),
            ("failed emits", failed),
            ("longest wait", format!("{} ms", self.longest_wait_ms)),
            ("calls", format!("{}, of which {results}", calls.made)),
            ("lost", self.lost.to_string()),
            ("out of order", self.inverted.to_string()),
            ("invented", self.invented.to_string()),
            ("called twice", self.twice.to_string()),
            ("stuck", self.stuck.to_string()),
        ]
    }
}

/// A schema that was kept, and how to remove it.
pub fn how_to_remove(schema: &str) -> String {
    format!("schema `{schema}`; remove it with: DROP SCHEMA {schema} CASCADE")
}
