//! Programs that a test needs besides `svc`. If a program is missing, the test prints a message and
//! is skipped.

use std::{
    env,
    path::PathBuf,
    process::{Command, Stdio},
};

/// Names of the browser's program in Debian and other systems.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Returns the value of `found`. On an error, prints `what` and the error, and returns `None`. If
/// the environment variable with the name `variable` is `1`, an error fails the test instead.
pub fn found_or_skipped<T>(found: Result<T, String>, variable: &str, what: &str) -> Option<T> {
    found
        .inspect_err(|why| {
            let required = env::var(variable).is_ok_and(|set| set == "1");
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

/// The path in the environment variable `CHROMIUM`, or the first Chromium or Chrome in `PATH`.
pub fn find_browser() -> Result<PathBuf, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places =
        env::split_paths(&path).flat_map(|folder| BROWSERS.map(|name| folder.join(name)));
    env::var_os("CHROMIUM")
        .map(PathBuf::from)
        .or_else(|| places.find(|place| place.is_file()))
        .ok_or_else(|| "no Chromium was found in PATH".to_owned())
}
