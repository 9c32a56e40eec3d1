//! Method servers as real processes: small shell scripts.

mod end;
mod flow;
mod ready;
mod restart;

use std::{collections::BTreeMap, fs, path::Path};

use rustix::process::Pid;
use svc_core::registration::{Mode, ServerType};
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
        trace: false,
        env: BTreeMap::new(),
    }
}

async fn start_with(definition: ServerDefinition, policy: Policy) -> Result<Bench, StartError> {
    let folder = tempfile::tempdir().expect("a folder");
    let env = BTreeMap::from([("SVC_SPACE_NAME".to_owned(), "lab".to_owned())]);
    let outbox = Arc::new(Outbox::new(policy.link_queue_bytes_max));
    let frames = outbox.open_home(1);
    let setup = Setup {
        launch: Launch::new(&definition, folder.path(), env).expect("sh exists"),
        definition,
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
        simulated: None,
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
        let caller = Caller { link: 1, frame };
        self.server.enqueue(user, Some(caller), json);
    }

    /// The next answer. Skips control messages and times.
    async fn answer(&mut self) -> (u64, FrameKind, String) {
        let next = async {
            loop {
                let frame = self.frames.next().await;
                if !matches!(frame.kind, FrameKind::Control | FrameKind::Times) {
                    let payload = String::from_utf8_lossy(&frame.payload).into_owned();
                    return (frame.id, frame.kind, payload);
                }
            }
        };
        timeout(Duration::from_secs(60), next)
            .await
            .expect("an answer in time")
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }
}

async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
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
