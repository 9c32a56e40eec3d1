//! `$/ready`: this notification of a method server ends the check for an early exit.

use std::os::unix::fs::symlink;

use super::*;

/// Longer than any test may take.
const NEVER: Duration = Duration::from_secs(600);
const READY: &str = r#"echo '{"jsonrpc":"2.0","method":"$/ready"}'"#;

async fn start_checked(script: &str, start_check: Duration) -> Result<Bench, StartError> {
    let policy = Policy {
        start_check,
        ..short_policy()
    };
    let starting = start_with(definition(script), policy);
    timeout(Duration::from_secs(60), starting)
        .await
        .expect("it does not wait for the whole check")
}

#[tokio::test]
async fn a_ready_notification_ends_the_start_check() {
    // Repeated and unknown notifications have no effect.
    let unknown = r#"echo '{"jsonrpc":"2.0","method":"$/steady"}'"#;
    let script = format!("{unknown}; {READY}; {READY}; {ECHO}");
    let mut bench = start_checked(&script, NEVER).await.expect("it starts");
    bench.call(1);
    assert_eq!(bench.answer().await.1, FrameKind::Result);
    assert_eq!(bench.server.status().restarts, 0);
    bench.server.stop().await;
}

#[tokio::test]
async fn without_a_ready_notification_the_start_check_takes_its_whole_time() {
    let check = Duration::from_millis(300);
    let begun = Instant::now();
    let bench = start_checked(ECHO, check).await.expect("it starts");
    assert!(begun.elapsed() >= check);
    bench.server.stop().await;
    let failed = start_checked("echo broken >&2; exit 3", NEVER).await;
    let error = failed.err().expect("it ends at once").to_string();
    assert!(error.contains("broken"), "{error}");
}

/// A shell under the name `svc` takes the place of the program.
#[tokio::test]
async fn a_script_that_fails_late_is_refused_and_other_programs_start_sooner() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["svc", "another"] {
        symlink("/bin/sh", folder.path().join(name)).expect("linked");
    }
    let start = async |name: &str, script: &str, args: &[&str]| {
        let args = [&["-c", script], args].concat();
        let definition = ServerDefinition {
            command: folder.path().join(name).to_string_lossy().into_owned(),
            args: args.into_iter().map(str::to_owned).collect(),
            ..definition("")
        };
        let policy = Policy {
            start_check: Duration::from_millis(1),
            script_start_check: NEVER,
            ..short_policy()
        };
        timeout(Duration::from_secs(60), start_with(definition, policy)).await
    };
    let both = ["run-script", "--json-rpc", "setup.py"];
    let failing = start("svc", "sleep 0.2; echo broken >&2; exit 3", &both).await;
    let refused = failing.expect("in time").err().expect("it is refused");
    assert!(refused.to_string().contains("broken"), "{refused}");
    for (name, args) in [
        ("another", &both[..]),
        ("svc", &["run-script"]),
        ("svc", &["--json-rpc"]),
    ] {
        let started = start(name, ECHO, args).await.expect("in time");
        started.expect("it starts").server.stop().await;
    }
}
