//! The only benchmark that is a test: its result is a count, which does not depend on the machine's
//! speed.

use std::process::Command;

/// `svc-bench cost` prints the count and the baseline, or that the system calls cannot be counted.
#[test]
fn the_system_calls_of_a_call_stay_near_the_baseline() {
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
