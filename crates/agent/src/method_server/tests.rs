//! Method servers as real processes: small shell scripts.

use std::{collections::BTreeMap, fs, path::Path};

use rustix::process::{Pid, test_kill_process};
use svc_core::registration::{ServerDefinition, ServerType};
use svc_link::{FrameKind, OutboxReader};
use tokio::time::timeout;

use super::*;
use crate::backoff::Backoff;

/// Answers each request with the result `[1, 2]`. Needs no JSON parser, because the id comes last.
const ECHO: &str = r#"
while read -r line; do
  id=${line##*\"id\":}
  echo "{\"jsonrpc\":\"2.0\",\"id\":${id%\}},\"result\":[1, 2]}"
done
"#;

struct Bench {
    server: MethodServer,
    frames: OutboxReader,
    folder: tempfile::TempDir,
}

fn short_policy() -> Policy {
    Policy {
        restart: Backoff::from_millis(50, 200),
        restart_wait: Duration::from_millis(300),
        stop_stdin: Duration::from_millis(300),
        stop_term: Duration::from_millis(300),
        stop_output: Duration::from_millis(200),
        tick: Duration::from_millis(10),
        drain_linger: Duration::from_millis(20),
        ..Policy::default()
    }
}

fn definition(script: &str) -> ServerDefinition {
    ServerDefinition {
        r#type: ServerType::Stdio,
        command: "sh".into(),
        args: vec!["-c".into(), script.into()],
        timeout: 1,
        mode: Mode::Concurrent,
        max_in_flight: None,
        env: BTreeMap::new(),
    }
}

async fn start_with(definition: ServerDefinition, policy: Policy) -> Result<Bench, StartError> {
    let folder = tempfile::tempdir().expect("a folder");
    let env = BTreeMap::from([("SVC_SPACE_NAME".to_owned(), "lab".to_owned())]);
    let outbox = Arc::new(Outbox::new(policy.link_queue_bytes_max));
    let frames = outbox.open(1);
    let setup = Setup {
        launch: Launch::new(&definition, folder.path(), env).expect("sh exists"),
        command: definition.command.clone(),
        mode: definition.mode,
        max_in_flight: definition.max_in_flight,
        timeout: Duration::from_secs(definition.timeout.into()),
        held: false,
    };
    let (_, link) = tokio::sync::watch::channel(crate::link_status::LinkStatus::default());
    let nowhere = crate::local_api::tests::servers("http://127.0.0.1:1");
    let services = Services {
        packages: crate::local_api::tests::packages(folder.path(), &nowhere, link),
        outbox,
        log: Arc::new(SpaceLog::new(100)),
        ids: Arc::default(),
        guard: Guard::absent(),
        policy: Arc::new(policy),
    };
    Ok(Bench {
        server: MethodServer::start(setup, services).await?,
        frames,
        folder,
    })
}

async fn start(script: &str) -> Bench {
    start_with(definition(script), short_policy())
        .await
        .expect("it starts")
}

impl Bench {
    fn call(&self, frame: u64) {
        self.call_as(1, frame);
    }

    fn call_as(&self, user: u32, frame: u64) {
        let json = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"m","id":"#);
        self.server.call(user, Caller { link: 1, frame }, json);
    }

    /// The next answer. Skips control messages.
    async fn answer(&mut self) -> (u64, FrameKind, String) {
        let next = async {
            loop {
                let frame = self.frames.next().await;
                if frame.kind != FrameKind::Control {
                    let payload = String::from_utf8_lossy(&frame.payload).into_owned();
                    return (frame.id, frame.kind, payload);
                }
            }
        };
        timeout(Duration::from_secs(10), next)
            .await
            .expect("an answer in time")
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
}

async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

fn read_pid(path: &Path) -> Option<Pid> {
    fs::read_to_string(path)
        .ok()?
        .trim()
        .parse()
        .ok()
        .and_then(Pid::from_raw)
}

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
async fn calls_are_answered_with_the_results_own_bytes() {
    let mut bench = start(ECHO).await;
    for frame in 0..100 {
        bench.call(frame);
    }
    for frame in 0..100 {
        let answer = (frame, FrameKind::Result, "[1, 2]".to_owned());
        assert_eq!(bench.answer().await, answer);
    }
    bench.server.stop().await;
}

#[tokio::test]
async fn a_method_server_that_ends_at_once_is_an_error_with_its_last_lines() {
    let started = start_with(definition("echo bad news >&2; exit 3"), short_policy()).await;
    let error = started.err().expect("it ended").to_string();
    assert!(error.contains("exit status: 3"), "{error}");
    assert!(error.contains("bad news"), "{error}");
    let closed = start_with(definition("exec >&-; sleep 60"), short_policy()).await;
    let error = closed.err().expect("its stdout ended").to_string();
    assert!(error.contains("closed its stdin or stdout"), "{error}");
}

#[tokio::test]
async fn the_environment_names_the_space_and_holds_no_credential() {
    let script = "env > env.txt; pwd > pwd.txt; cat";
    let bench = start(script).await;
    let read = |name| fs::read_to_string(bench.path(name)).unwrap_or_default();
    eventually("the files", || !read("pwd.txt").is_empty()).await;
    assert!(read("env.txt").contains("SVC_SPACE_NAME=lab"));
    assert!(!read("env.txt").contains("SVC_AGENT_TOKEN"));
    let here = bench.folder.path().canonicalize().expect("there");
    assert_eq!(Path::new(read("pwd.txt").trim()), here);
    bench.server.stop().await;
}

#[tokio::test]
async fn a_dead_process_interrupts_its_calls_and_is_replaced() {
    let script = format!("echo $$ > pid; test -e hang && cat > /dev/null; {ECHO}");
    let mut bench = start(&script).await;
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
    eventually("it is down", || bench.server.status().restarts >= 3).await;
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
async fn unexpected_and_huge_lines_do_not_disturb_calls() {
    let script = format!(
        r#"
echo hello; echo '{{"id":"7","result":1}}'; echo '{{"id":123456,"result":1}}'
head -c 17000000 /dev/zero | tr '\0' x; echo
{ECHO}"#
    );
    let mut bench = start(&script).await;
    bench.call(1);
    assert_eq!(bench.answer().await.1, FrameKind::Result);
    assert_eq!(bench.server.status().restarts, 0);
    bench.server.stop().await;
}

#[tokio::test]
async fn a_serial_server_gets_one_call_at_a_time() {
    let mut serial = definition("while read -r line; do echo x >> got; sleep 0.05; done");
    serial.mode = Mode::Serial;
    let mut bench = start_with(serial, short_policy()).await.expect("starts");
    bench.call(1);
    bench.call(2);
    let got = bench.path("got");
    eventually("the first call", || got.exists()).await;
    let status = bench.server.status();
    assert_eq!((status.in_flight, status.queued), (1, 1));
    assert!(bench.server.cancel(Caller { link: 1, frame: 2 }));
    assert_eq!(bench.answer().await.1, FrameKind::CancelledUnsent);
    bench.server.stop().await;
    assert_eq!(
        bench.answer().await,
        (1, FrameKind::Interrupted, String::new())
    );
    assert_eq!(fs::read_to_string(got).expect("there"), "x\n");
}

/// Answers one call at a time, each after a while.
const SLOW_ECHO: &str = r#"
while read -r line; do
  sleep 0.01; id=${line##*\"id\":}; echo "{\"id\":${id%\}},\"result\":1}"
done"#;

impl Bench {
    /// Number of answers to other calls before the answer to this one.
    async fn answers_before(&mut self, frame: u64) -> usize {
        let mut before = 0;
        loop {
            let (id, kind, _) = self.answer().await;
            assert_eq!(kind, FrameKind::Result);
            if id == frame {
                return before;
            }
            before += 1;
        }
    }
}

#[tokio::test]
async fn a_late_user_does_not_wait_for_all_calls_of_another_user() {
    for mode in [Mode::Concurrent, Mode::Serial] {
        let mut slow = definition(SLOW_ECHO);
        slow.mode = mode;
        slow.timeout = 60;
        let mut bench = start_with(slow, short_policy()).await.expect("starts");
        for frame in 0..500 {
            bench.call_as(1, frame);
        }
        assert_eq!(bench.answer().await.1, FrameKind::Result);
        bench.call_as(2, 1_000);
        let first = bench.answers_before(1_000).await;
        assert!(first <= 200, "{mode}: {first} of 500 came first");
        // From now on several users call, and the pipe holds less.
        for frame in 1_001..1_010 {
            bench.call_as(2, frame);
            let before = bench.answers_before(frame).await;
            assert!(before <= 20, "{mode}: {before} came first");
        }
        assert!(bench.server.status().queued > 100);
        bench.server.stop().await;
    }
}

#[tokio::test]
async fn max_in_flight_limits_the_calls_of_a_concurrent_server() {
    let mut limited = definition("cat >> got");
    limited.max_in_flight = Some(3);
    let bench = start_with(limited, short_policy()).await.expect("starts");
    for frame in 0..10 {
        bench.call(frame);
    }
    let got = bench.path("got");
    let lines = || fs::read_to_string(&got).unwrap_or_default().lines().count();
    eventually("three calls", || lines() == 3).await;
    let status = bench.server.status();
    assert_eq!((status.in_flight, status.queued), (3, 7));
    assert_eq!(status.max_in_flight, Some(3));
    // A cancelled call frees no slot: the method server still has the call.
    assert!(bench.server.cancel(Caller { link: 1, frame: 0 }));
    assert_eq!(bench.server.status().in_flight, 3);
    assert_eq!(lines(), 3);
    bench.server.stop().await;
}

#[tokio::test]
async fn lines_of_every_size_arrive_whole_and_in_order() {
    let bench = start("cat > got").await;
    let sizes = [
        10, 4_000, 5_000, 100, 20_000, 30, 200_000, 17_000, 1, 4_096, 3, 1_000_000, 7,
    ];
    let mut expected = String::new();
    for round in 0..5 {
        for (at, size) in sizes.iter().enumerate() {
            let text = format!("{round}-{at}-{}", "x".repeat(*size));
            expected.push_str(&text);
            expected.push('\n');
            bench
                .server
                .notify(u32::try_from(at % 2).expect("small"), text.into());
            // Wait until the line is written, so that the two users do not take turns.
            eventually("it is written", || bench.server.is_idle()).await;
        }
    }
    let got = bench.path("got");
    eventually("all is read", || {
        fs::metadata(&got).is_ok_and(|file| file.len() == expected.len() as u64)
    })
    .await;
    assert!(fs::read_to_string(&got).expect("there") == expected);
    // The same without waiting: nothing is lost.
    for (at, size) in sizes.iter().cycle().take(200).enumerate() {
        let user = u32::try_from(at % 3).expect("small");
        bench.server.notify(user, "y".repeat(*size % 50_000).into());
    }
    let bytes: usize = sizes
        .iter()
        .cycle()
        .take(200)
        .map(|size| size % 50_000 + 1)
        .sum();
    eventually("the rest is read", || {
        fs::metadata(&got).is_ok_and(|file| file.len() == (expected.len() + bytes) as u64)
    })
    .await;
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

#[tokio::test]
async fn calls_to_a_server_that_never_reads_are_refused_when_its_queue_is_full() {
    let policy = Policy {
        unwritten_bytes_max: 300_000,
        ..short_policy()
    };
    let bench = start_with(definition("sleep 60"), policy).await;
    let mut bench = bench.expect("starts");
    let json = Bytes::from(vec![b'x'; 100_000]);
    for frame in 0..8 {
        let caller = Caller { link: 1, frame };
        bench.server.call(1, caller, json.clone());
        tokio::task::yield_now().await;
    }
    assert_eq!(bench.answer().await.1, FrameKind::Unavailable);
    bench.server.stop().await;
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
