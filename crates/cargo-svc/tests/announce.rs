//! The program behind `cargo svc`, with a script in place of cargo.
#![allow(clippy::unwrap_used)]

use std::{env, fs, os::unix::fs::PermissionsExt, process::Command};

/// Prints its arguments and the value of a variable that cargo sets for programs that it runs.
/// `cargo-svc` must not pass this variable on, so the value must be empty.
const SCRIPT: &str = "#!/bin/sh\necho \"$@\" \"${CARGO_PKG_NAME-}\"\n";

#[test]
fn only_the_first_build_is_announced() {
    let target = env::temp_dir().join(format!("cargo-svc-{}", std::process::id()));
    fs::create_dir_all(target.join("debug")).unwrap();
    let program = target.join("debug/cargo-svc");
    fs::copy(env!("CARGO_BIN_EXE_cargo-svc"), &program).unwrap();
    let cargo = target.join("cargo");
    fs::write(&cargo, SCRIPT).unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    let run = || {
        let mut command = Command::new(&program);
        command.args(["up", "-o", "json"]).env("CARGO", &cargo);
        command.env("CARGO_PKG_NAME", "cargo-svc");
        let ran = command.output().unwrap();
        let [stdout, stderr] = [ran.stdout, ran.stderr].map(|out| String::from_utf8(out).unwrap());
        let expected = "run --profile quick --ignore-rust-version --package svc -- up -o json \n";
        assert_eq!(stdout, expected);
        stderr
    };
    let announced = run();
    assert!(announced.contains("first run builds svc"), "{announced}");
    fs::create_dir(target.join("quick")).unwrap();
    fs::write(target.join("quick/svc"), "").unwrap();
    assert_eq!(run(), "");
    fs::remove_dir_all(&target).unwrap();
}
