//! What the engine itself lacks, without the changes that `rewrite` makes to a script. A newer
//! version of the engine may accept such a program: then code and documents of ours are out of date.

use std::path::Path;

use monty::MontyRun;

use super::programs::{Program, programs_of};
use crate::evaluator::COMPILE;

/// The engine's error for a program; `None` if the program runs without an error.
fn error_of(text: &str) -> Option<String> {
    let mut program = match MontyRun::new(text.to_owned(), "script.py", Vec::new(), COMPILE) {
        Ok(program) => program,
        Err(exception) => return Some(exception.summary()),
    };
    let ended = program.run_no_limits(Vec::new());
    ended.err().map(|exception| exception.summary())
}

fn programs(file: &str) -> Vec<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/python/tests/suite/engine");
    programs_of(&folder.join(file))
}

/// `update` says what to change when the engine accepts a program of this file.
fn check(file: &str, at_least: usize, update: &str) {
    let programs = programs(file);
    assert!(programs.len() >= at_least, "{} programs", programs.len());
    let mut changes = Vec::new();
    for program in &programs {
        let (title, expected) = (&program.title, program.output.trim_end());
        match error_of(&program.text) {
            None => changes.push(format!("monty now accepts `{title}`: {update}")),
            Some(error) if error != expected => changes.push(format!(
                "monty has another error for `{title}`; compare crates/script/src/evaluator/failure.rs:\n  before {expected}\n  now    {error}"
            )),
            Some(_) => {}
        }
    }
    assert!(
        changes.is_empty(),
        "correct also sdk/python/tests/suite/engine/{file}:\n{}",
        changes.join("\n")
    );
}

#[test]
fn the_engine_still_refuses_what_the_guide_calls_refused() {
    check(
        "refused.txt",
        70,
        "update docs/SCRIPTS.md (\"Not supported\") and crates/script/src/rewrite/refuse.rs",
    );
}

#[test]
fn the_engine_still_lacks_what_svc_adds() {
    check(
        "added.txt",
        24,
        "svc need not add this any more; see crates/script/src/rewrite/language.rs and crates/script/src/python",
    );
}
