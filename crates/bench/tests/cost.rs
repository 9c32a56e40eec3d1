//! The one measurement that decides a test, because it is a count and not a time.

use std::process::Command;

/// `svc-bench cost` prints the count and the baseline; without a counter it prints that.
#[test]
fn a_call_takes_no_more_system_calls_than_the_baseline() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_svc-bench"));
    command.arg("cost");
    if std::env::var_os("SVC_REQUIRE_COUNTER").is_some() {
        command.arg("--required");
    }
    let output = command.output().expect("svc-bench starts");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
