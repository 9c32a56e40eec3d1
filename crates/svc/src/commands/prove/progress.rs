//! The progress of a run on stderr: a bar on a terminal, otherwise lines.

use std::io::{IsTerminal, Write, stderr};

use super::{Plan, harm::Harm, rounds::Run};

/// Cells of the bar.
const WIDTH: usize = 24;
/// Lines of a run that is not shown on a terminal, at most.
const LINES_MAX: usize = 100;

pub struct Progress {
    rounds: usize,
    terminal: bool,
    has_bar: bool,
}

impl Progress {
    pub fn new(rounds: usize) -> Self {
        Self {
            rounds,
            terminal: stderr().is_terminal(),
            has_bar: false,
        }
    }

    pub fn begin(&mut self, plan: &Plan) {
        let kinds: Vec<String> = plan.harms.iter().map(ToString::to_string).collect();
        let on = match &plan.database {
            Some((_, schema)) => format!("{} servers, schema `{schema}`", plan.servers),
            None => "one server, embedded database".to_owned(),
        };
        let (seed, rounds, folder) = (plan.seed, plan.rounds, plan.folder.display());
        let kinds = kinds.join(", ");
        eprintln!("seed {seed}: {rounds} rounds of {kinds} ({on}), in `{folder}`");
    }

    /// A round has ended.
    pub fn round(&mut self, number: usize, harm: Harm, what: &str, run: &Run) {
        let (events, rounds) = (run.shared.acknowledged(), self.rounds);
        if self.terminal {
            let bar = bar(number, rounds);
            eprint!("\r\x1b[2K{bar} {number} of {rounds}  {harm}  {events} events");
            let _ = stderr().flush();
            self.has_bar = true;
        } else if number.is_multiple_of(rounds.div_ceil(LINES_MAX)) {
            eprintln!("round {number} of {rounds}: {what}; {events} events so far");
        }
    }

    /// Ends the line of the bar.
    pub fn end(&mut self) {
        if std::mem::take(&mut self.has_bar) {
            eprintln!();
        }
    }
}

fn bar(number: usize, rounds: usize) -> String {
    let filled = (WIDTH * number / rounds.max(1)).min(WIDTH);
    format!("[{}{}]", "#".repeat(filled), ".".repeat(WIDTH - filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_full_at_the_last_round_only() {
        let check = |number, rounds, filled: usize| {
            let bar = bar(number, rounds);
            assert_eq!(bar.matches('#').count(), filled, "{bar}");
            assert_eq!(bar.len(), WIDTH + 2);
        };
        check(0, 20, 0);
        check(10, 20, 12);
        check(999, 1_000, 23);
        check(1_000, 1_000, 24);
    }
}
