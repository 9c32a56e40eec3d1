//! Processes that end or hang, and their restarts.

use super::*;

#[tokio::test]
async fn starting_a_method_server_that_ends_at_once_fails_with_its_last_lines() {
    let policy = || Policy {
        start_check: Duration::from_secs(60),
        ..short_policy()
    };
    let started = start_with(definition("echo bad news >&2; exit 3"), policy()).await;
    let error = started.err().expect("it ended").to_string();
    assert!(error.contains("exit status: 3"), "{error}");
    assert!(error.contains("bad news"), "{error}");
    let closed = start_with(definition("exec >&-; sleep 60"), policy()).await;
    let error = closed.err().expect("its stdout ended").to_string();
    assert!(error.contains("closed its stdin or stdout"), "{error}");
}

#[tokio::test]
async fn the_calls_of_a_killed_process_are_interrupted_and_it_is_restarted() {
    let script = format!("echo $$ > pid; test -e hang && cat > /dev/null; {ECHO}");
    let policy = Policy {
        restart_wait: Duration::from_secs(60),
        ..short_policy()
    };
    let started = start_with(definition(&script), policy).await;
    let mut bench = started.expect("it starts");
    fs::write(bench.path("hang"), "").expect("written");
    let first = read_pid(&bench.path("pid")).expect("it runs");
    rustix::process::kill_process(first, rustix::process::Signal::KILL).expect("killed");
    let pid = bench.path("pid");
    eventually("a restart", || {
        read_pid(&pid).is_some_and(|pid| pid != first)
    })
    .await;
    for frame in 0..50 {
        bench.call(frame);
    }
    fs::remove_file(bench.path("hang")).expect("removed");
    let second = read_pid(&bench.path("pid")).expect("it runs");
    rustix::process::kill_process(second, rustix::process::Signal::KILL).expect("killed");
    for _ in 0..50 {
        assert_eq!(bench.answer().await.1, FrameKind::Interrupted);
    }
    bench.call(99);
    assert_eq!(bench.answer().await.1, FrameKind::Result);
    assert!(bench.server.status().restarts >= 2);
    bench.server.stop().await;
}

#[tokio::test]
async fn answers_written_before_the_exit_are_delivered() {
    let script =
        r#"read -r line; id=${line##*\"id\":}; echo "{\"id\":${id%\}},\"result\":7}"; exit 1"#;
    let mut bench = start(script).await;
    for frame in 0..4 {
        eventually("a restart", || bench.server.status().restarts == frame).await;
        bench.call(frame);
        assert_eq!(
            bench.answer().await,
            (frame, FrameKind::Result, "7".into()),
            "call {frame}"
        );
    }
    bench.server.stop().await;
}

#[tokio::test]
async fn calls_wait_for_a_restart_for_a_limited_time() {
    let mut bench = start("test -e broken && exit 1; cat > /dev/null").await;
    fs::write(bench.path("broken"), "").expect("written");
    let pid = bench.server.status().pid.expect("it runs");
    let pid = Pid::from_raw(i32::try_from(pid).expect("small")).expect("positive");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("killed");
    eventually("restarts failed", || bench.server.status().restarts >= 3).await;
    // A call may or may not reach a process that is about to exit. It must end in both cases.
    for frame in 0..10 {
        bench.call(frame);
        let (_, kind, _) = bench.answer().await;
        assert!(
            matches!(kind, FrameKind::Unavailable | FrameKind::Interrupted),
            "{kind:?}"
        );
    }
    bench.server.stop().await;
}

#[tokio::test]
async fn a_serial_server_that_hangs_is_restarted() {
    let script = format!("test -e hung || {{ touch hung; read -r line; sleep 60; }}; {ECHO}");
    let mut serial = definition(&script);
    serial.mode = Mode::Serial;
    let policy = Policy {
        overdue_min: Duration::from_millis(10),
        ..short_policy()
    };
    let mut bench = start_with(serial, policy).await.expect("starts");
    bench.call(1);
    bench.call(2);
    assert_eq!(bench.answer().await.1, FrameKind::Interrupted);
    assert_eq!(bench.answer().await.1, FrameKind::Result);
    bench.server.stop().await;
}
