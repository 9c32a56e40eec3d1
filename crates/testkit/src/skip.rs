//! Programs that a test needs besides `svc`: without them the test is skipped and prints so.

use std::process::{Command, Stdio};

/// `None` if something is missing, which is printed; with `variable` set to `1` that fails the
/// test. `what` begins the sentence that `found` ends.
pub fn found_or_skipped<T>(found: Result<T, String>, variable: &str, what: &str) -> Option<T> {
    found
        .inspect_err(|why| {
            let required = std::env::var(variable).is_ok_and(|set| set == "1");
            assert!(!required, "{what}: {why}");
            eprintln!("SKIPPED: {what}: {why}");
        })
        .ok()
}

/// Whether a program is installed that can tell its version.
pub fn require(program: &str) -> Result<(), String> {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("`{program}` is not here")),
    }
}
