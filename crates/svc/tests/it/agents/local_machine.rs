//! The agent and the command line on a machine with other users and programs, and the pace of
//! recorded health changes.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::Path,
    time::Duration,
};

use serde_json::json;
use svc_core::{Timestamp, space::Health};
use svc_link::Control;
use svc_testkit::{
    Cli, Process, RawLink, RegistrationToml, TestServer, eventually, fixture, get_eventually,
    is_running, result, under,
};
use tokio::process::Command;

use super::copy_program;
use crate::SOON;

/// A user id that has no account. Root can give files to it and start processes with it.
const STRANGER: u32 = 54_321;

#[tokio::test]
async fn s1_killing_an_agent_ends_its_method_server() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    // The process and its child read nothing and ignore SIGTERM.
    let script = "trap '' TERM HUP INT; sh -c 'trap \"\" TERM HUP INT; echo $$ >child; while :; do sleep 1; done' & \
                  while :; do sleep 1; done";
    let mut agent = space
        .publish(RegistrationToml::shell(script).plain("x"))
        .await;
    let method_server = agent.method_server_pid().await;
    let child = get_eventually("the method server has a child", SOON, || async {
        let text = fs::read_to_string(space.folder().join("child")).ok()?;
        text.trim().parse::<u32>().ok()
    })
    .await;
    agent.kill9();
    Process::wait_until_gone(method_server, SOON).await;
    Process::wait_until_gone(child, SOON).await;
}

#[tokio::test]
async fn a_killed_guard_process_is_replaced() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let script = "trap '' TERM HUP INT; while :; do sleep 1; done";
    let mut agent = space
        .publish(RegistrationToml::shell(script).plain("x"))
        .await;
    let first = agent.method_server_pid().await;
    let guard = find_guard(agent.process().id()).await;
    let status = Command::new("kill")
        .args(["-9", &guard.to_string()])
        .status();
    assert!(status.await.expect("kill runs").success());
    Process::wait_until_gone(guard, SOON).await;
    // The agent notices the missing guard when it starts the next child.
    agent
        .register(RegistrationToml::shell(script).plain("y"))
        .await
        .expect(0);
    let second = get_eventually("the new method server runs", SOON, || async {
        let pid = agent.method_server_pid().await;
        (pid != first).then_some(pid)
    })
    .await;
    agent.kill9();
    Process::wait_until_gone(second, SOON).await;
}

async fn find_guard(agent: u32) -> u32 {
    get_eventually("the agent has a guard", SOON, || async {
        svc_testkit::children_of(agent).into_iter().find(|child| {
            fs::read_to_string(format!("/proc/{child}/cmdline"))
                .is_ok_and(|line| line.contains("agent-guard"))
        })
    })
    .await
}

/// Root can read every process, so a test run by root starts the agent as another user.
#[tokio::test]
async fn the_agents_environment_is_hidden_from_its_children() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("svc");
    copy_program(&program);
    let is_root = rustix::process::geteuid().is_root();
    for path in [folder.path(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
        if is_root {
            chown(path, Some(STRANGER), Some(STRANGER)).expect("given away");
        }
    }
    let user = STRANGER.to_string();
    let as_stranger = [
        "setpriv",
        "--reuid",
        &user,
        "--regid",
        &user,
        "--clear-groups",
    ];
    let as_user = |command: &std::process::Command| match is_root {
        true => under(&as_stranger, command),
        false => under(&["env"], command),
    };
    let mut agent = std::process::Command::new(&program);
    agent
        .args(["agent", "start", "--listen", "127.0.0.1:0"])
        .env("SVC_URL", server.url())
        .env("SVC_AGENT_TOKEN", &space.agent_token)
        .env("HOME", folder.path())
        .current_dir(folder.path());
    let agent = space.spawn_command(folder.path(), as_user(&agent));
    agent.wait_until_linked().await;
    let pid = agent.discovery().await["pid"].to_string();
    let reads = |pid: &str| {
        let mut cat = std::process::Command::new("cat");
        cat.arg(format!("/proc/{pid}/environ"));
        let output = as_user(&cat).output().expect("cat runs");
        String::from_utf8_lossy(&output.stdout).contains(&space.agent_token)
    };
    assert!(!reads(&pid), "the token is in the agent's environment");
    // The same check finds the variable in an ordinary process.
    let mut sleep = std::process::Command::new("sleep");
    sleep.arg("60").env("SVC_AGENT_TOKEN", &space.agent_token);
    let mut sleep = as_user(&sleep).spawn().expect("sleep runs");
    let id = sleep.id().to_string();
    eventually(
        "an ordinary process shows its environment",
        SOON,
        || async { reads(&id) },
    )
    .await;
    sleep.kill().expect("killable");
    let _ = sleep.wait();
}

#[tokio::test]
async fn the_agent_token_may_be_in_a_file() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let file = space.folder().join("token");
    fs::write(&file, format!("{}\n", space.agent_token)).expect("written");
    let mut command = space.agent_command(space.folder());
    command
        .args(["--listen", "127.0.0.1:0"])
        .env_remove("SVC_AGENT_TOKEN")
        .env("SVC_AGENT_TOKEN_FILE", "token");
    let agent = space.spawn_command(space.folder(), command);
    agent.wait_until_linked().await;
    agent.register(fixture().plain("echo")).await.expect(0);
    assert_eq!(result(&ann.call("echo", json!([1])).await), &json!([1]));
    let twice = Cli::new(server.home())
        .folder(space.folder())
        .env("SVC_URL", server.url())
        .env("SVC_AGENT_TOKEN", &space.agent_token)
        .env("SVC_AGENT_TOKEN_FILE", &file)
        .run(&["agent", "start"])
        .await
        .expect(2);
    assert!(twice.stderr.contains("given twice"), "{}", twice.stderr);
}

#[tokio::test]
async fn an_agent_file_of_another_os_user_in_a_parent_folder_is_ignored() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("echo")).await;
    let inner = space.folder().join("inner");
    fs::create_dir(&inner).expect("a folder");
    let call = || async {
        let cli = Cli::new(server.home()).folder(&inner);
        cli.run(&["method", "call", "echo", "[1]"]).await
    };
    call().await.expect(0);
    let svc = space.folder().join(".svc");
    let make_foreign = |path: &Path| match rustix::process::geteuid().is_root() {
        true => chown(path, Some(STRANGER), None).expect("given away"),
        // Only root can change an owner; a file that others can write is refused too.
        false => {
            fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("a mode");
        }
    };
    make_foreign(&svc);
    let refused = call().await.expect(4);
    assert!(
        refused.stderr.contains("agent.json` is ignored: "),
        "{}",
        refused.stderr
    );
    drop(agent);
}

/// A thousand changes do not create a thousand events, and the last change is recorded.
#[tokio::test]
async fn s3_health_changes_are_paced_and_the_newest_is_recorded() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut raw = RawLink::connect(server.address(), &space.agent_token).await;
    let welcome = raw.hello(&[svc_link::VERSION]).await;
    assert!(matches!(welcome, Control::Welcome(_)), "{welcome:?}");
    for n in 0..1_001 {
        let current = match n % 2 {
            0 => Health::Unhealthy,
            _ => Health::Healthy,
        };
        let report = Control::Health {
            current,
            consecutive_failures: 1,
            checked_at: Timestamp(n),
        };
        raw.tell(0, &report).await.expect("the link stays");
    }
    // The answer to a later control message shows that the server has read all reports.
    let answer = raw.ask(7, &Control::Unregister).await;
    assert!(matches!(answer, Control::Unregistered), "{answer:?}");
    let events = || async {
        let types = "space.healthy,space.unhealthy";
        let path = format!("/api/events?limit=500&type={types}");
        let events = ann.get(&path).await.expect(200).json();
        events["events"].as_array().cloned().unwrap_or_default()
    };
    let at_once = events().await.len();
    assert!((1..=30).contains(&at_once), "{at_once} events");
    space
        .wait_for_health("unhealthy", Duration::from_secs(30))
        .await;
    eventually("the newest change has its event", SOON, || async {
        events().await[0]["event_type"] == "space.unhealthy"
    })
    .await;
    // Each recorded change has its event, so the two types alternate.
    let types: Vec<_> = events().await;
    let types: Vec<_> = types.iter().map(|event| &event["event_type"]).collect();
    assert!(types.windows(2).all(|pair| pair[0] != pair[1]), "{types:?}");
    assert!(is_running(server.id()));
}
