//! Programs that a test needs besides `svc`. If one is missing, the test is skipped and prints a
//! message.

use std::process::{Command, Stdio};

/// Returns the value of `found`. On an error, prints `what` and the error, and returns `None`. If
/// `variable` is set to `1`, an error fails the test instead.
pub fn found_or_skipped<T>(found: Result<T, String>, variable: &str, what: &str) -> Option<T> {
    found
        .inspect_err(|why| {
            let required = std::env::var(variable).is_ok_and(|set| set == "1");
            assert!(!required, "{what}: {why}");
            eprintln!("SKIPPED: {what}: {why}");
        })
        .ok()
}

/// Fails if a program is not installed. The program must support `--version`.
pub fn require(program: &str) -> Result<(), String> {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        _ => Err(format!("`{program}` is not installed")),
    }
}
