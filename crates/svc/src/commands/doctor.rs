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
    output::{Format, clean},
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
        ok: !groups.iter().any(|group| group.has(CheckStatus::Error)),
        groups,
    };
    if shell.output.format == Format::Table {
        print(shell, &report)?;
    } else {
        shell.output.data(&report)?;
    }
    Ok(if report.ok { Exit::Ok } else { Exit::Failure })
}

impl Group {
    fn has(&self, status: CheckStatus) -> bool {
        self.count(status) > 0
    }

    fn count(&self, status: CheckStatus) -> usize {
        let checks = self.checks.iter();
        checks.filter(|check| check.status == status).count()
    }
}

fn print(shell: &Shell, report: &Report) -> Result<(), Failure> {
    for group in &report.groups {
        shell.output.line(clean(&group.name))?;
        for check in &group.checks {
            let status = word(check.status);
            let (name, detail) = (clean(&check.name), clean(&check.detail));
            shell
                .output
                .line(format!("  {status:<7}  {}  {detail}", padded(&name, 14)))?;
            if let Some(advice) = &check.advice {
                shell
                    .output
                    .line(format!("           -> {}", clean(advice)))?;
            }
        }
        shell.output.line("")?;
    }
    shell.output.line(summary(report))
}

fn word(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Ok => "ok",
        CheckStatus::Skipped => "skipped",
        CheckStatus::Warning => "warning",
        CheckStatus::Error => "error",
    }
}

fn summary(report: &Report) -> String {
    let count = |status| report.groups.iter().map(|group| group.count(status)).sum();
    let (errors, warnings): (usize, usize) =
        (count(CheckStatus::Error), count(CheckStatus::Warning));
    match (errors, warnings) {
        (0, 0) => "everything that was checked is all right".to_owned(),
        _ => format!(
            "{errors} error{}, {warnings} warning{}",
            plural(errors),
            plural(warnings)
        ),
    }
}

fn plural(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}
