//! Stopping, dropping and draining a method server.

use rustix::process::test_kill_process;

use super::*;

/// A process is gone if it cannot be signalled, or is a zombie.
fn is_gone(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    test_kill_process(pid).is_err()
        || stat.is_ok_and(|stat| {
            stat.rsplit(')')
                .next()
                .is_some_and(|rest| rest.starts_with(" Z"))
        })
}

#[tokio::test]
async fn stopping_leaves_no_process_of_the_group() {
    let stubborn = r#"
trap '' TERM HUP
sh -c "trap '' TERM HUP; echo \$\$ > grandchild; while :; do sleep 1; done" &
echo $$ > child
while :; do sleep 1; done
"#;
    let bench = start(stubborn).await;
    let (child, grandchild) = (bench.path("child"), bench.path("grandchild"));
    eventually("both run", || {
        read_pid(&child).is_some() && read_pid(&grandchild).is_some()
    })
    .await;
    let pids = [&child, &grandchild].map(|path| read_pid(path).expect("runs"));
    bench.server.stop().await;
    eventually("both are gone", || pids.iter().all(|pid| is_gone(*pid))).await;
}

#[tokio::test]
async fn dropping_the_handle_leaves_no_process() {
    let bench = start("echo $$ > child; sleep 60").await;
    let path = bench.path("child");
    eventually("it runs", || read_pid(&path).is_some()).await;
    let pid = read_pid(&path).expect("runs");
    drop(bench);
    eventually("it is gone", || is_gone(pid)).await;
}

#[tokio::test]
async fn draining_waits_for_calls_in_flight() {
    let script = r#"
while read -r line; do
  sleep 0.2; id=${line##*\"id\":}; echo "{\"id\":${id%\}},\"result\":1}"
done"#;
    let mut bench = start(script).await;
    bench.call(1);
    bench.server.drain(Duration::from_secs(10)).await;
    bench.call(2);
    assert_eq!(bench.answer().await.1, FrameKind::Result);
    assert_eq!(bench.answer().await.1, FrameKind::Unavailable);
    bench.server.stop().await;
}
