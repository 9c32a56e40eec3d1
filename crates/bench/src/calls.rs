//! The cost of a call: `svc` compared with references, in one run on one machine.
//!
//! The references show the limits of the machine: **B** is a bare axum echo, **C** is HTTP to a
//! stdio program without an agent, and **A** is a parent and a child over stdio. The real server, a
//! real agent, an echo method server, B and C run at the same time. Slices of 250 ms are measured
//! in shuffled order, so that other work on the machine disturbs `svc`, B and C alike. A is
//! measured after them. Every answer is compared with the expected bytes.

mod cases;
pub mod compare;
mod cores;
pub mod echo;
mod exchange;
mod instructions;
mod load;
pub mod processes;
pub mod references;
mod registering;
mod report;
mod settings;
mod shuffle;
mod stage;
mod stdio;

use std::{path::Path, time::Duration};

use anyhow::{Context, ensure};

pub use self::settings::{Settings, USAGE};
use self::{
    cases::Case, cores::Cores, load::Slice, report::Report, shuffle::Shuffle, stage::Stage,
};
use crate::links;

/// Folder for the results of a run.
const FOLDER: &str = "target/bench";
/// How many idle links are open in each measurement of links. The report compares only the last
/// measurement with its limits.
const IDLE_LINKS: [usize; 2] = [1_000, 10_000];
/// Length of each of the two measurements of A: of a round trip, and of lines per second.
const STDIO_TIME: Duration = Duration::from_secs(1);

pub async fn run(settings: Settings) -> anyhow::Result<()> {
    if settings.instructions {
        return instructions::run().await;
    }
    let stage = Stage::set(&settings).await?;
    let mut cases = stage.cases().await?;
    if let Some(only) = &settings.only {
        cases.retain(|case| case.name.contains(only.as_str()));
        ensure!(!cases.is_empty(), "no case has `{only}` in its name");
    }
    let cores = Cores::arrange(&cases, settings.pin);
    for note in &cores.notes {
        eprintln!("{note}");
    }
    let mut slices: Vec<Vec<Slice>> = vec![Vec::new(); cases.len()];
    let mut shuffle = Shuffle::seeded();
    for round in 0..=settings.rounds {
        for index in shuffle.order(cases.len()) {
            let slice = cases[index].slice(&cores).await?;
            // The first round is a warm-up.
            if round > 0 {
                slices[index].push(slice);
            }
        }
        eprint!("\rround {round} of {}", settings.rounds);
    }
    eprintln!();
    let calls = system_calls(&cases).await?;
    let mut report = Report::new(&cases, slices, calls);
    report.registration = stage.registration().await?;
    drop(stage);
    cores.release()?;
    report.notes = cores.notes;
    report.stdio = Some(stdio::measure(STDIO_TIME)?);
    if settings.scale {
        for count in IDLE_LINKS {
            report.links.push(links::measure(count, 1).await?);
        }
    }
    println!("{}", report.text());
    let folder = Path::new(FOLDER);
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("calls.json"), report.json())?;
    std::fs::write(folder.join("calls.md"), report.markdown())?;
    println!("\nwritten to {FOLDER}/calls.json and {FOLDER}/calls.md");
    if let Some(document) = &settings.document {
        report::renew(document, &report.markdown())
            .with_context(|| format!("cannot update `{}`", document.display()))?;
    }
    Ok(())
}

/// System calls that one call of a method takes on one connection; `None` if this machine cannot
/// count them.
pub async fn serial_system_calls() -> anyhow::Result<Option<f64>> {
    stage::serial_case().await?.system_calls().await
}

/// Counts system calls of each case, separately from the rounds, because counting costs time.
async fn system_calls(cases: &[Case]) -> anyhow::Result<Vec<Option<f64>>> {
    let mut counted = Vec::new();
    for case in cases {
        counted.push(if case.counts_system_calls {
            case.system_calls().await?
        } else {
            None
        });
    }
    Ok(counted)
}
