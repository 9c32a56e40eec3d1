//! Two users of one machine: what a stranger can do to the agent of a victim. Only root can become
//! other users, so most of these tests need root.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use svc_testkit::{Cli, Process, TempDir, TestAgent, TestServer, TestSpace, TestUser, under};

use super::copy_program;
use crate::SOON;

/// User ids that have no account.
const VICTIM: u32 = 54_321;
const STRANGER: u32 = 54_322;

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("SKIPPED: becoming another OS user needs root");
    }
    is_root
}

fn run_as(user: u32, command: &Command) -> Command {
    let user = user.to_string();
    let as_user = ["setpriv", "--reuid", &user, "--regid", &user];
    under(&[&as_user[..], &["--clear-groups"]].concat(), command)
}

/// A folder of the victim with a copy of `svc`, which every user may run.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        chown(folder.path(), Some(VICTIM), Some(VICTIM)).expect("given away");
        set_mode(folder.path(), 0o755);
        copy_program(&folder.path().join("svc"));
        Self(folder)
    }

    fn svc(&self) -> PathBuf {
        self.0.path().join("svc")
    }

    /// Starts an agent of the victim, with more environment variables.
    async fn agent(&self, space: &TestSpace, environment: &[(&str, &str)]) -> TestAgent {
        let mut command = Command::new(self.svc());
        command
            .args(["agent", "start", "--listen", "127.0.0.1:0"])
            .env("SVC_URL", agent_variable(space, "SVC_URL"))
            .env("SVC_AGENT_TOKEN", &space.agent_token)
            .env("HOME", self.0.path())
            .envs(environment.iter().copied())
            .current_dir(self.0.path());
        let agent = space.spawn_command(self.0.path(), run_as(VICTIM, &command));
        agent.wait_until_linked().await;
        agent
    }
}

fn agent_variable(space: &TestSpace, name: &str) -> String {
    let command = space.agent_command(space.folder());
    let mut variables = command.get_envs();
    let value = variables.find_map(|(found, value)| (found == name).then_some(value)?);
    value
        .and_then(|value| value.to_str())
        .expect("set")
        .to_owned()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
}

async fn url(agent: &TestAgent) -> String {
    let url = agent.discovery().await["agent_url"].clone();
    url.as_str().expect("the port is on").to_owned()
}

/// Sends a request to a loopback port as a user, and returns the answer. If `hurries`, closes the
/// connection at once instead.
async fn ask(user: u32, url: &str, head: &str, body: &str, hurries: bool) -> String {
    let address = url.strip_prefix("http://").expect("an address");
    let (host, port) = address.split_once(':').expect("a port");
    let request = format!(
        "{head} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let script = match hurries {
        true => r#"exec 3<>"/dev/tcp/$1/$2" && printf %s "$3" >&3"#,
        false => r#"exec 3<>"/dev/tcp/$1/$2" && printf %s "$3" >&3 && cat <&3"#,
    };
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "bash", host, port, &request])
        .current_dir("/");
    let output = tokio::task::spawn_blocking(move || run_as(user, &bash).output());
    let output = output.await.expect("ends").expect("bash runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const EVENT: &str = r#"{"type":"deploy.approved","payload":{}}"#;

async fn emit(user: u32, url: &str) -> String {
    ask(user, url, "POST /event", EVENT, false).await
}

#[track_caller]
fn assert_status(answer: &str, status: u16) {
    let start = format!("HTTP/1.1 {status} ");
    assert!(answer.starts_with(&start), "not {status}: {answer}");
}

async fn emitted(user: &TestUser) -> Vec<Value> {
    let events = user.get("/api/events?limit=100&type=custom.deploy.approved");
    let events = events.await.expect(200).json();
    events["events"].as_array().cloned().unwrap_or_default()
}

#[tokio::test]
async fn s4_2_the_loopback_port_answers_only_the_agents_user_and_root() {
    if !is_root() {
        return;
    }
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let home = Home::new();
    let agent = home.agent(&space, &[]).await;
    let url = url(&agent).await;
    let packages = "GET /packages/svc-libraries.zip";
    for user in [VICTIM, 0] {
        assert_status(&emit(user, &url).await, 202);
        assert_status(&ask(user, &url, packages, "", false).await, 200);
    }
    assert_eq!(emitted(&ann).await.len(), 2);
    for head in ["POST /event", packages, "GET /nothing"] {
        let refused = ask(STRANGER, &url, head, EVENT, false).await;
        assert_status(&refused, 403);
        for part in ["foreign_user", "54321", "54322", "SVC_AGENT_LOOPBACK"] {
            assert!(refused.contains(part), "{head}: {refused}");
        }
    }
    // A connection that is closed at once has no user any more.
    for _ in 0..50 {
        ask(STRANGER, &url, "POST /event", EVENT, true).await;
    }
    assert_status(&emit(VICTIM, &url).await, 202);
    assert_eq!(emitted(&ann).await.len(), 3);
    let log = agent.log();
    let refusals = log.matches("tried to use the agent's loopback port");
    assert_eq!(refusals.count(), 1, "one line for all refusals: {log}");
}

#[tokio::test]
async fn the_loopback_port_can_be_opened_to_every_user_or_switched_off() {
    if !is_root() {
        return;
    }
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let home = Home::new();
    let agent = home.agent(&space, &[("SVC_AGENT_LOOPBACK", "any")]).await;
    let open = url(&agent).await;
    assert_status(&emit(STRANGER, &open).await, 202);
    drop(agent);

    let agent = home.agent(&space, &[("SVC_AGENT_LOOPBACK", "off")]).await;
    assert_eq!(agent.discovery().await["agent_url"], Value::Null);
    assert_eq!(agent.status().await["agent_url"], Value::Null);
    assert_eq!(emit(VICTIM, &open).await, "", "nothing listens");
    // The socket has the same routes.
    let socket = agent.socket().await;
    let packages = "/packages/svc-libraries.zip";
    let archive = socket.request("GET", packages, &[], "").await.expect(200);
    assert!(archive.body.starts_with(b"PK"));
    let headers = [("content-type", "application/json")];
    let event = socket.request("POST", "/event", &headers, EVENT).await;
    event.expect(202);
    drop(agent);

    let unknown = Cli::new(server.home())
        .env("SVC_AGENT_LOOPBACK", "everybody")
        .run(&["agent", "start"])
        .await
        .expect(2);
    assert!(unknown.stderr.contains("same-user"), "{}", unknown.stderr);
}

#[tokio::test]
async fn an_agent_of_root_answers_every_user_and_says_so() {
    if !is_root() {
        return;
    }
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    assert_status(&emit(STRANGER, &url(&agent).await).await, 202);
    let log = agent.log();
    assert_eq!(log.matches("the agent runs as root").count(), 1, "{log}");
}

/// The agent's file with its addresses had a name that can be guessed, so a link under that name
/// made the agent replace any file of its user.
#[tokio::test]
async fn an_agent_refuses_a_folder_that_another_user_can_change() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let svc = space.folder().join(".svc");
    fs::create_dir(&svc).expect("a folder");
    set_mode(&svc, 0o777);
    let message = match rustix::process::geteuid().is_root() {
        true => {
            chown(&svc, Some(STRANGER), None).expect("given away");
            format!("belongs to user id {STRANGER}")
        }
        false => "(mode 0777)".to_owned(),
    };
    let refused = async || {
        let mut command = space.agent_command(space.folder());
        command.args(["--listen", "127.0.0.1:0"]);
        let mut agent = Process::spawn("agent", command);
        let status = agent.wait_for_exit(SOON).await;
        assert_eq!(status.code(), Some(1), "{}", agent.stderr());
        agent.stderr()
    };
    let said = refused().await;
    for part in [&message, &svc.display().to_string()] {
        assert!(said.contains(part.as_str()), "{said}");
    }
    assert_eq!(fs::read_dir(&svc).expect("readable").count(), 0);
    // A link in place of the folder leads to files of the agent's user.
    fs::remove_dir(&svc).expect("removed");
    let private = space.folder().join("private");
    fs::create_dir(&private).expect("a folder");
    set_mode(&private, 0o700);
    symlink(&private, &svc).expect("a link");
    let said = refused().await;
    assert!(said.contains("symbolic link"), "{said}");
    assert_eq!(fs::read_dir(&private).expect("readable").count(), 0);
}

/// A user who can change the folder of a socket can listen in its place.
#[tokio::test]
async fn a_command_sends_nothing_to_an_agent_of_another_user() {
    if !is_root() {
        return;
    }
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let home = Home::new();
    let agent = home.agent(&space, &[]).await;
    let socket = agent.discovery().await["agent_socket"].clone();
    let cli = || {
        let socket = socket.as_str().expect("a path");
        Cli::new(server.home()).env("SVC_AGENT_SOCKET", socket)
    };
    // To root, the victim is another user.
    for args in [
        &["event", "deploy.approved"][..],
        &["method", "call", "x", "{}"],
        &["methods", "unregister"],
    ] {
        let refused = cli().run(args).await.expect(7);
        let said = refused.stderr;
        assert!(said.contains("user id 54321 listens"), "{said}");
    }
    assert!(emitted(&ann).await.is_empty());
    // The same command of the victim.
    let mut event = Command::new(home.svc());
    event
        .args(["event", "deploy.approved"])
        .env("SVC_AGENT_SOCKET", socket.as_str().expect("a path"))
        .env("HOME", home.0.path())
        .current_dir("/");
    let sent = run_as(VICTIM, &event).output().expect("svc runs");
    assert!(sent.status.success(), "{sent:?}");
    assert_eq!(emitted(&ann).await.len(), 1);
}

#[tokio::test]
async fn a_server_refuses_a_data_folder_that_other_users_can_change() {
    let folder = TempDir::new().expect("a folder");
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("a folder");
    set_mode(&data, 0o777);
    let start = async || {
        let args = ["server", "start", "--listen", "127.0.0.1:0", "--data-dir"];
        let mut server = Cli::new(folder.path()).spawn(&[&args[..], &["data"]].concat());
        let status = server.wait_for_exit(SOON).await;
        assert_eq!(status.code(), Some(1), "{}", server.stderr());
        server.stderr()
    };
    let said = start().await;
    assert!(said.contains("chmod go-w"), "{said}");
    assert!(said.contains("(mode 0777)"), "{said}");
    if is_root() {
        set_mode(&data, 0o755);
        chown(&data, Some(STRANGER), None).expect("given away");
        let said = start().await;
        assert!(said.contains("belongs to user id 54322"), "{said}");
    }
    assert_eq!(fs::read_dir(&data).expect("readable").count(), 0);
}

#[tokio::test]
async fn a_server_refuses_files_that_other_users_can_change() {
    let folder = TempDir::new().expect("a folder");
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("a folder");
    // Other users can enter the folder, and cannot create files in it.
    set_mode(&data, 0o755);
    for name in ["svc.db", "svc.db-journal", "secret.key"] {
        let file = data.join(name);
        fs::write(&file, "").expect("written");
        set_mode(&file, 0o664);
        let args = ["server", "start", "--listen", "127.0.0.1:0", "--data-dir"];
        let mut server = Cli::new(folder.path()).spawn(&[&args[..], &["data"]].concat());
        let status = server.wait_for_exit(SOON).await;
        let said = server.stderr();
        assert_eq!(status.code(), Some(1), "{said}");
        for text in ["(mode 0664)", "chmod go-w", name] {
            assert!(said.contains(text), "{text} in {said}");
        }
        set_mode(&file, 0o600);
    }
}

#[tokio::test]
async fn saved_contexts_that_other_users_can_change_are_not_used() {
    let server = TestServer::start().await;
    let home = TempDir::new().expect("a folder");
    let config = home.path().join(".config/svc");
    fs::create_dir_all(&config).expect("a folder");
    let file = config.join("contexts.toml");
    let context = json!({"name": "x", "url": server.url(), "token": "svc_pat_x"});
    let text = format!(
        "current = \"x\"\n[[contexts]]\nname = {}\nurl = {}\ntoken = {}\n",
        context["name"], context["url"], context["token"]
    );
    fs::write(&file, text).expect("written");
    set_mode(&file, 0o666);
    let list = async || Cli::new(home.path()).run(&["space", "list"]).await;
    let refused = list().await.expect(1);
    assert!(refused.stderr.contains("(mode 0666)"), "{}", refused.stderr);
    set_mode(&file, 0o600);
    set_mode(&config, 0o777);
    let refused = list().await.expect(1);
    assert!(refused.stderr.contains("(mode 0777)"), "{}", refused.stderr);
    set_mode(&config, 0o755);
    let sent = list().await;
    assert_eq!(sent.code, 4, "the token is wrong: {}", sent.stderr);
}
