//! Runs real processes. `sh` takes the place of the `svc` program: `sh run-script x.py` runs a
//! shell script with the name `run-script`.

use std::{fs, time::Instant};

use rustix::process::{Pid, test_kill_process};
use svc_core::{SpaceId, SpaceName, UserName};
use svc_link::Control;
use svc_protocol::api::{LogLine, LogSource};
use tokio::sync::watch;

use super::*;
use crate::{
    guard::Guard,
    link_status::LinkStatus,
    local_api::tests::{packages, servers},
    outbox::Outbox,
};

struct Bench {
    folder: tempfile::TempDir,
    runner: ScriptRunner,
}

impl Bench {
    fn new(program: &str, command: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("run-script"), command).expect("written");
        let nowhere = servers("http://127.0.0.1:1");
        let (_, link) = watch::channel(LinkStatus::default());
        let runner = ScriptRunner {
            program: program.into(),
            addresses: AgentAddresses {
                url: Some("http://127.0.0.1:9".into()),
                socket: "/run/agent.sock".into(),
            },
            services: Services {
                packages: packages(folder.path(), &nowhere, link),
                outbox: Arc::new(Outbox::new(1_000)),
                log: Arc::new(SpaceLog::new(100)),
                ids: Arc::default(),
                guard: Guard::absent(),
                policy: Arc::default(),
                simulated: None,
            },
        };
        Self { folder, runner }
    }

    async fn run(&self, limit: Duration) -> Result<(), ScriptFailure> {
        let space = SpaceIdentity {
            id: SpaceId::NIL,
            name: SpaceName::parse("lab").expect("valid"),
            owner: UserName::parse("ann").expect("valid"),
            urls: Default::default(),
        };
        let args = ["run-script", "x.py"].map(OsStr::new);
        self.runner
            .run(&args, self.folder.path(), &space, limit)
            .await
    }

    /// The lines that the script has written to the log of the space.
    async fn lines(&self) -> Vec<String> {
        let outbox = Arc::new(Outbox::new(100_000));
        let mut frames = outbox.open_home(1);
        let log = Arc::clone(&self.runner.services.log);
        let forwarding = tokio::spawn(log.forward(outbox, Duration::ZERO));
        let frame = frames.next().await;
        forwarding.abort();
        let Ok(Control::Log { lines, .. }) = serde_json::from_slice(&frame.payload) else {
            panic!("no log: {frame:?}");
        };
        let of_script = |line: &LogLine| line.source == LogSource::Script;
        assert!(lines.iter().all(of_script), "{lines:?}");
        lines.into_iter().map(|line| line.line).collect()
    }
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_failure_holds_the_last_lines_of_the_output() {
    let script = "for i in $(seq 1000); do echo line $i; done; echo ValueError: no >&2; exit 1";
    let bench = Bench::new("sh", script);
    let failure = bench.run(LONG).await.expect_err("it fails");
    let lines: Vec<_> = failure.output.lines().collect();
    assert_eq!(lines.len(), TAIL_LINES);
    assert_eq!(lines[TAIL_LINES - 2..], ["line 1000", "ValueError: no"]);
}

#[tokio::test]
async fn stdout_and_stderr_are_logged_in_order_and_the_environment_names_the_space() {
    let bench = Bench::new(
        "sh",
        r#"echo "$1 in $SVC_SPACE_NAME"; echo "$SVC_AGENT_SOCKET" >&2
echo "$SVC_AGENT_URL ${SVC_AGENT_TOKEN-none}"; echo "$PYTHONPATH" >&2; read x || printf 'no input'"#,
    );
    bench.run(LONG).await.expect("succeeds");
    let lines = bench.lines().await;
    let expected = ["x.py in lab", "/run/agent.sock", "http://127.0.0.1:9 none"];
    assert_eq!(lines[..3], expected);
    assert!(
        lines[3].ends_with("/packages/svc-libraries.zip"),
        "{lines:?}"
    );
    assert_eq!(lines[4..], ["no input"]);
}

#[tokio::test]
async fn a_failure_contains_the_exit_code() {
    let bench = Bench::new("sh", "exit 6");
    let failure = bench.run(LONG).await.expect_err("fails");
    assert_eq!(failure.exit_code(), Some(6));
    assert_eq!(failure.to_string(), "it failed (exit status: 6)");
    let bench = Bench::new("./no-such-program", "");
    let failure = bench.run(LONG).await.expect_err("cannot start");
    assert!(
        failure.to_string().contains("`./no-such-program`"),
        "{failure}"
    );
}

#[tokio::test]
async fn after_the_time_limit_no_process_of_the_script_is_left() {
    let bench = Bench::new("sh", "sleep 600 & echo $!; wait");
    let limit = Duration::from_secs(5);
    let failure = bench.run(limit).await.expect_err("takes too long");
    let cause = &failure.cause;
    assert!(matches!(cause, FailureCause::TimeLimit(_)), "{failure}");
    let lines = bench.lines().await;
    wait_until_gone(&lines[0]).await;
}

#[tokio::test]
async fn dropping_a_run_kills_the_script_and_its_processes() {
    let bench = Bench::new("sh", "sleep 600 & echo $! > pid.new; mv pid.new pid; wait");
    let pid = bench.folder.path().join("pid");
    let started = async {
        while !pid.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        ended = bench.run(LONG) => panic!("{ended:?}"),
        () = started => {}
    }
    wait_until_gone(fs::read_to_string(pid).expect("written").trim()).await;
}

async fn wait_until_gone(pid: &str) {
    let pid = Pid::from_raw(pid.parse().expect("a number")).expect("positive");
    let deadline = Instant::now() + LONG;
    // A zombie counts as dead.
    let is_alive = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        test_kill_process(pid).is_ok() && !stat.is_ok_and(|stat| stat.contains(") Z "))
    };
    while is_alive() {
        assert!(Instant::now() < deadline, "{pid:?} still runs");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
