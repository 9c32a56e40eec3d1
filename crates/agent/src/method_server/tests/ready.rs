//! `$/ready`: this notification of a method server ends the check for an early exit.

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
    timeout(Duration::from_secs(10), starting)
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
