//! The agent's two listeners (spec 4.2).

use std::{
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;
use svc_testkit::{Http, TestServer, TestSpace, fixture};

use super::copy_program;
use crate::SOON;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn s4_2_only_the_owner_can_open_the_unix_socket_and_the_discovery_file() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.agent().await;
    let discovery = agent.discovery().await;
    let socket = PathBuf::from(discovery["agent_socket"].as_str().unwrap());
    assert_eq!(mode(&socket), 0o600);
    assert_eq!(mode(&space.folder().join(".svc")), 0o700);
    assert_eq!(mode(&space.folder().join(".svc/agent.json")), 0o600);
    assert_eq!(discovery["space_id"], space.id);
    assert_eq!(discovery["space"], "lab");
    assert_eq!(discovery["server_url"], server.url());
    assert_eq!(discovery["pid"], agent.process().id());
    // Both files are removed when the agent ends.
    agent.stop().await;
    assert!(!socket.exists());
    assert!(agent.find_discovery().is_none());
}

/// Runs `svc agent status` on the socket as another OS user.
fn status_as_nobody(space: &TestSpace, socket: &Path) -> std::process::Output {
    let program = space.folder().join("svc-for-nobody");
    copy_program(&program);
    set_mode(&program, 0o755);
    Command::new(program)
        .args(["agent", "status"])
        .env_clear()
        .env("SVC_AGENT_SOCKET", socket)
        .env("HOME", "/nonexistent")
        .current_dir("/")
        .uid(65_534)
        .gid(65_534)
        .output()
        .unwrap()
}

#[tokio::test]
async fn s4_2_the_unix_socket_refuses_another_os_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: becoming another OS user needs root");
        return;
    }
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let socket = PathBuf::from(agent.discovery().await["agent_socket"].as_str().unwrap());
    // Every parent folder is accessible, so only the socket's mode or the agent itself can refuse
    // the other user.
    set_mode(space.folder(), 0o755);
    set_mode(socket.parent().unwrap(), 0o755);
    for socket_mode in [0o600, 0o666] {
        set_mode(&socket, socket_mode);
        let output = status_as_nobody(&space, &socket);
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success(),
            "with mode {socket_mode:o}: {said}"
        );
        assert!(
            !said.contains(&space.id),
            "with mode {socket_mode:o}: {said}"
        );
    }
    assert_eq!(agent.status().await["linked"], true);
}

#[tokio::test]
async fn s4_2_the_tcp_listener_refuses_browsers_and_foreign_hosts() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.agent().await;
    let url = agent.discovery().await["agent_url"]
        .as_str()
        .unwrap()
        .to_owned();
    let http = Http::to_url(&url);
    let port = url.rsplit(':').next().unwrap().to_owned();
    let event = json!({"type": "kettle.boiled", "payload": {}}).to_string();
    let post = |headers: Vec<(&'static str, String)>, body: String| {
        let http = http.clone();
        async move {
            let headers: Vec<_> = headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            http.request("POST", "/event", &headers, body).await
        }
    };
    let json = || ("content-type", "application/json".to_owned());
    for host in [
        "elsewhere.example",
        "elsewhere.example:80",
        "127.0.0.1.elsewhere.example",
        "10.0.0.1",
    ] {
        let answer = post(vec![json(), ("host", host.to_owned())], event.clone())
            .await
            .expect(403);
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json"),
            "{host}"
        );
        let headers = [("host", host)];
        http.request("GET", "/packages/x.zip", &headers, "")
            .await
            .expect(403);
    }
    for origin in ["https://elsewhere.example", "null", &url] {
        post(vec![json(), ("origin", origin.to_owned())], event.clone())
            .await
            .expect(403);
    }
    for content_type in [
        "application/x-www-form-urlencoded",
        "text/plain",
        "multipart/form-data",
    ] {
        post(
            vec![("content-type", content_type.to_owned())],
            event.clone(),
        )
        .await
        .expect(415);
    }
    post(vec![], event.clone()).await.expect(415);
    for body in [
        "{",
        "[]",
        r#"{"payload":{}}"#,
        r#"{"type":"a b","payload":{}}"#,
        r#"{"type":"x","payload":1}"#,
    ] {
        post(vec![json()], body.to_owned()).await.expect(400);
    }
    let large = json!({"type": "x", "payload": {"x": "y".repeat(600 << 10)}}).to_string();
    post(vec![json()], large).await.expect(413);
    // Every name of the loopback address is accepted.
    for host in [
        "localhost",
        "127.0.0.1",
        "[::1]",
        "127.0.0.1:1",
        "localhost:80",
    ] {
        let answer = post(vec![json(), ("host", host.to_owned())], event.clone()).await;
        assert!(
            [202, 503].contains(&answer.status),
            "{host}: {}",
            answer.text()
        );
    }
    // The routes of the Unix socket are not served here.
    for path in ["/status", "/registration", "/api/methods"] {
        let host = format!("127.0.0.1:{port}");
        http.request("GET", path, &[("host", host.as_str())], "")
            .await
            .expect(404);
    }
}

#[tokio::test]
async fn s4_2_the_unix_socket_forwards_api_requests_as_the_owner() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let agent = space.publish(fixture().plain("echo")).await;
    let socket = agent.socket().await;
    let headers = [("content-type", "application/json")];
    let body =
        r#"{"jsonrpc":"2.0","method":"echo","params":{"b":9007199254740993,"a":1.10},"id":7}"#;
    let answer = socket
        .request("POST", "/api/methods/call", &headers, body)
        .await
        .expect(200);
    assert_eq!(
        answer.text(),
        r#"{"jsonrpc":"2.0","result":{"b":9007199254740993,"a":1.10},"id":7}"#
    );
    let listed = socket
        .request("GET", "/api/methods?name=echo", &[], "")
        .await
        .expect(200);
    assert_eq!(listed.json()["count"], 1);
    // Requests that an agent token may not make are refused with the message of the server.
    let refused = socket
        .request("GET", "/api/tokens", &[], "")
        .await
        .expect(403);
    assert_eq!(
        refused.header("content-type"),
        Some("application/problem+json")
    );
}

#[tokio::test]
async fn s4_2_the_agent_takes_a_free_port_if_the_default_port_is_taken() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let (one, two) = (ann.space("one").await, ann.space("two").await);
    // Another program may hold the default port; at most one of the two agents gets it.
    let start = |space: &TestSpace| {
        space.spawn_command(space.folder(), space.agent_command(space.folder()))
    };
    let (first, second) = (start(&one), start(&two));
    first.wait_until_linked().await;
    second.wait_until_linked().await;
    let (first, second) = (
        first.discovery().await["agent_url"].clone(),
        second.discovery().await["agent_url"].clone(),
    );
    assert_ne!(first, second);
}

#[tokio::test]
async fn s4_2_the_cli_shows_the_status_and_stops_the_agent() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut agent = space.publish(fixture().plain("echo")).await;
    let status = agent
        .cli()
        .run(&["agent", "status", "-o", "json"])
        .await
        .expect(0)
        .json();
    assert_eq!(status["linked"], true);
    assert_eq!(status["owner"], "ann");
    assert_eq!(status["methods"], json!(["echo"]));
    assert_eq!(status["method_server"]["mode"], "concurrent");
    // Commands in a subfolder find the agent too.
    let below = space.folder().join("deep/er");
    std::fs::create_dir_all(&below).unwrap();
    agent
        .cli()
        .folder(&below)
        .run(&["agent", "status"])
        .await
        .expect(0);
    agent.cli().run(&["agent", "stop"]).await.expect(0);
    assert_eq!(agent.process().wait_for_exit(SOON).await.code(), Some(0));
    space.wait_for_state("stopped", SOON).await;
}
