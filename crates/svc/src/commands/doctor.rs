//! `svc doctor`: checks the server, the connection to it, and the space of this folder.

mod agent;
mod server;

use serde::Serialize;
use svc_protocol::api::{Check, CheckStatus};

use super::Shell;
use crate::{
    columns::padded,
    context,
    exit::{Exit, Failure, Outcome},
    output::{Format, clean, json_name},
};

/// Check the server and the space of this folder, and say what to do
#[derive(clap::Args, Debug)]
#[command(before_help = "  svc doctor\n  svc doctor --context work -o json")]
pub struct Args {}

/// The document of `-o json`.
#[derive(Serialize)]
struct Report {
    /// `true` if no check found an error. A warning is not an error.
    ok: bool,
    groups: Vec<Group>,
}

/// The checks of the server or of the space.
#[derive(Serialize)]
struct Group {
    /// Such as `server https://svc.example.com`.
    name: String,
    checks: Vec<Check>,
}

pub async fn run(shell: &Shell) -> Outcome {
    let groups = vec![server::check(shell).await, agent::check(shell).await];
    let report = Report {
        ok: groups
            .iter()
            .all(|group| group.count(CheckStatus::Error) == 0),
        groups,
    };
    if shell.output.format == Format::Table {
        print(shell, &report)?;
    } else {
        shell.output.data(&report)?;
    }
    Ok(Exit::ok_if(report.ok, Exit::Failure))
}

impl Group {
    fn count(&self, status: CheckStatus) -> usize {
        let checks = self.checks.iter();
        checks.filter(|check| check.status == status).count()
    }
}

fn print(shell: &Shell, report: &Report) -> Result<(), Failure> {
    let output = &shell.output;
    for group in &report.groups {
        output.line(clean(&group.name))?;
        for check in &group.checks {
            let status = json_name(check.status);
            let (name, detail) = (clean(&check.name), clean(&check.detail));
            output.line(format!("  {status:<7}  {}  {detail}", padded(&name, 14)))?;
            if let Some(advice) = &check.advice {
                output.line(format!("           -> {}", clean(advice)))?;
            }
        }
        output.line("")?;
    }
    output.line(summary(report))
}

fn summary(report: &Report) -> String {
    let count = |status| -> usize {
        let groups = report.groups.iter();
        groups.map(|group| group.count(status)).sum()
    };
    let counted = |number: usize, word: &str| match number {
        1 => format!("1 {word}"),
        _ => format!("{number} {word}s"),
    };
    match (count(CheckStatus::Error), count(CheckStatus::Warning)) {
        (0, 0) => "everything that was checked is all right".to_owned(),
        (errors, warnings) => {
            let errors = counted(errors, "error");
            format!("{errors}, {}", counted(warnings, "warning"))
        }
    }
}
