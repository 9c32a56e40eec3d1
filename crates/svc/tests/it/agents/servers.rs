//! Agents with several addresses: of several servers of a zone, or two addresses of one server.

use std::{
    net::SocketAddr,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::Instant,
};

use serde_json::json;
use svc_testkit::{
    Process, TestAgent, TestServer, TestSpace, TestUser, eventually, fixture, result,
    wait_for_address,
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

use crate::SOON;

/// An address that forwards to a server, or to no server for a while. Dropping this value closes
/// the address and all connections through it.
struct Forwarder {
    url: String,
    target: Arc<Mutex<Option<SocketAddr>>>,
    passing: JoinHandle<()>,
}

impl Forwarder {
    async fn open(to: Option<SocketAddr>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let target = Arc::new(Mutex::new(to));
        let passing = tokio::spawn(pass(listener, Arc::clone(&target)));
        Self {
            url,
            target,
            passing,
        }
    }

    fn forward_to(&self, server: SocketAddr) {
        *self.target.lock().unwrap() = Some(server);
    }
}

async fn pass(listener: TcpListener, target: Arc<Mutex<Option<SocketAddr>>>) {
    let mut connections = JoinSet::new();
    loop {
        let (mut near, _) = listener.accept().await.unwrap();
        let Some(server) = *target.lock().unwrap() else {
            continue;
        };
        connections.spawn(async move {
            if let Ok(mut far) = TcpStream::connect(server).await {
                let _ = copy_bidirectional(&mut near, &mut far).await;
            }
        });
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.passing.abort();
    }
}

async fn linked_agent(space: &TestSpace, urls: &[&str]) -> TestAgent {
    let agent = space.spawn_agent(&["--url", &urls.join(", ")]);
    agent.wait_until_linked().await;
    agent
}

async fn wait_until_linked_to(agent: &TestAgent, url: &str) {
    eventually(&format!("linked to {url}"), SOON, || async {
        let status = agent.find_status().await.unwrap_or_default();
        status["linked"] == true && status["server_url"] == url
    })
    .await;
    eventually("the discovery file has the URL", SOON, || async {
        let found = agent.find_discovery().unwrap_or_default();
        found["server_url"] == url
    })
    .await;
}

/// Waits until the method `pid` returns this process id.
async fn wait_until_served_by(user: &TestUser, pid: u32) {
    eventually("the method is callable again", SOON, || async {
        let answer = user.call("pid", json!({})).await;
        answer.get("result").is_some_and(|found| *found == pid)
    })
    .await;
}

#[tokio::test]
async fn addresses_without_a_server_are_skipped_at_once() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let mut urls = Vec::new();
    // No test listens on a port below 1024.
    for n in 1..13 {
        urls.push(format!("http://127.0.0.{n}:1"));
    }
    urls.push(server.url().to_owned());
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let begun = Instant::now();
    let agent = linked_agent(&space, &urls).await;
    // A back-off after each failure would soon add up to a minute.
    assert!(begun.elapsed() < SOON, "{}", agent.log());
    wait_until_linked_to(&agent, server.url()).await;
    assert_eq!(agent.status().await["server_urls"], json!(urls));
    let shown = agent.cli().run(&["agent", "status"]).await.expect(0);
    assert!(shown.stdout.contains(urls[3]), "{}", shown.stdout);
}

#[tokio::test]
async fn losing_one_address_keeps_the_methods_and_their_process() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let forwarders = [
        Forwarder::open(Some(server.address())).await,
        Forwarder::open(Some(server.address())).await,
    ];
    let agent = linked_agent(&space, &[&forwarders[0].url, &forwarders[1].url]).await;
    agent.register(fixture().plain("pid")).await.expect(0);
    let pid = agent.method_server_pid().await;
    let first = agent.status().await["server_url"].clone();
    let [a, b] = forwarders;
    let (closed, left) = if first == a.url.as_str() {
        (a, b)
    } else {
        (b, a)
    };
    drop(closed);
    wait_until_linked_to(&agent, &left.url).await;
    wait_until_served_by(&ann, pid).await;
    assert_eq!(agent.method_server_pid().await, pid);
    // Programs of the space reach the server too.
    let called = agent.cli().run(&["method", "call", "pid"]).await.expect(0);
    assert_eq!(*result(&called.json()), pid);
    let raised = agent.cli().run(&["event", "moved"]).await;
    raised.expect(0);
}

/// A second server with the data of the first: both act as servers of one zone.
async fn copy_of(server: &mut TestServer) -> (Process, String) {
    assert_eq!(server.terminate().await.code(), Some(0));
    let copy = server.home().join("copy");
    copy_folder(&server.data_dir(), &copy);
    server.start_again().await;
    let mut second = Process::spawn("second server", server.second_server(&copy));
    let url = wait_for_address(&mut second).await;
    (second, url)
}

fn copy_folder(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-r").args([from, to]).status();
    assert!(copied.unwrap().success());
}

#[tokio::test]
async fn a_server_that_stops_hands_its_agents_over_and_finishes_their_calls() {
    let mut server = TestServer::builder()
        .config("drain_seconds = 120")
        .start()
        .await;
    let ann = server.user("ann").await;
    let (quick, slow) = (ann.space("quick").await, ann.space("slow").await);
    let (mut second, second_url) = copy_of(&mut server).await;
    // The second address forwards to no server yet, so that no agent moves early.
    let forwarder = Forwarder::open(None).await;
    let urls = [server.url(), &forwarder.url];
    let (idle, busy) = (
        linked_agent(&quick, &urls).await,
        linked_agent(&slow, &urls).await,
    );
    idle.register(fixture().plain("pid")).await.expect(0);
    busy.register(fixture().plain("sleep")).await.expect(0);
    let (idle_pid, busy_pid) = (
        idle.method_server_pid().await,
        busy.method_server_pid().await,
    );
    let call = ann.start_call("sleep", json!({"ms": 500, "until": "go"}));
    ann.wait_for_in_flight("sleep", 1).await;
    forwarder.forward_to(second_url.trim_start_matches("http://").parse().unwrap());
    server.process().signal(rustix::process::Signal::TERM);
    // The idle agent moves while the other one still has a call.
    wait_until_linked_to(&idle, &forwarder.url).await;
    let there = ann.at_url(&second_url);
    wait_until_served_by(&there, idle_pid).await;
    assert!(!call.is_finished());
    slow.write("go", "");
    assert_eq!(result(&call.await.unwrap())["slept"], 500);
    wait_until_linked_to(&busy, &forwarder.url).await;
    assert_eq!(busy.method_server_pid().await, busy_pid);
    eventually("its methods are there too", SOON, || async {
        there.method_names().await.len() == 2
    })
    .await;
    let log = idle.log();
    assert!(log.contains("the server is stopping"), "{log}");
    assert_eq!(server.process().wait_for_exit(SOON).await.code(), Some(0));
    drop((idle, busy));
    assert_eq!(second.terminate().await.code(), Some(0));
}

#[tokio::test]
async fn invalid_addresses_are_refused_and_named() {
    let server = TestServer::start().await;
    let ann = server.user("ann").await;
    let space = ann.space("lab").await;
    let refusal = async |urls: &str| {
        let start = server.anonymous_cli().folder(space.folder());
        let start = start.env("SVC_AGENT_TOKEN", &space.agent_token);
        let refused = start.env("SVC_URL", urls).run(&["agent", "start"]).await;
        refused.expect(2).stderr
    };
    for (urls, why) in [
        ("http://a,,http://b", "address 2 of"),
        ("http://a, http://a:80", "`http://a` is named twice"),
        ("http://a, b", "`b` is not a server address"),
    ] {
        let said = refusal(urls).await;
        assert!(said.contains(why), "{said}");
    }
    // Commands that use one server take the first address.
    let several = format!("{}, http://127.0.0.1:9", server.url());
    let who = server.cli(&ann).env("SVC_URL", several);
    let who = who.run(&["whoami"]).await.expect(0);
    assert!(who.stdout.contains("ann"), "{}", who.stdout);
}
