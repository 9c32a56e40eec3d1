//! An agent with the addresses of several servers of one zone moves between them with its methods.

use std::time::Duration;

use svc_agent::{Backoff, Exit};
use svc_link::{Control, Goodbye};

use crate::{
    fake_server::{FakeLink, FakeServer, refused},
    test_agent::{TestAgent, eventually},
};

/// Longer than any test may take: an agent that backs off makes no further link during the test.
const NEVER: Backoff = Backoff::from_millis(600_000, 600_000);
/// Long enough for an agent to connect.
const A_WHILE: Duration = Duration::from_millis(300);
const METHODS: &str = r#"
[server]
command = "cat"

[[methods]]
name = "x"
local_name = "x"
description = "d"
"#;

/// Two servers, and an agent with both addresses.
struct Zone {
    servers: [FakeServer; 2],
    agent: TestAgent,
}

impl Zone {
    async fn start() -> Self {
        let servers = [FakeServer::start().await, FakeServer::start().await];
        let urls = format!("{} , {}", servers[0].url(), servers[1].url());
        let agent = start(&urls);
        Self { servers, agent }
    }

    /// The next link, and the server that accepted it.
    async fn next(&self) -> (usize, FakeLink) {
        let [a, b] = &self.servers;
        tokio::select! {
            (link, _) = a.accept() => (0, link),
            (link, _) = b.accept() => (1, link),
        }
    }

    async fn wait_until_linked_to(&self, server: usize) {
        let (url, client) = (self.servers[server].url(), self.agent.client());
        eventually("linked to the other server", async || {
            let status = client.status().await;
            status.is_ok_and(|status| status.linked && status.server_url == url)
        })
        .await;
        let file = self.agent.path().join(".svc/agent.json");
        eventually("the discovery file names the server", async || {
            std::fs::read_to_string(&file).is_ok_and(|text| text.contains(&url))
        })
        .await;
    }

    async fn end(self) {
        self.agent.shutdown.cancel();
        assert_eq!(self.agent.exit().await, Exit::Stopped);
    }
}

fn start(urls: &str) -> TestAgent {
    TestAgent::start_with(urls, |folder, options| {
        std::fs::write(folder.join("methods.toml"), METHODS).expect("written");
        options.methods_file = Some("methods.toml".into());
        options.policy.reconnect_soon = NEVER;
        options.policy.reconnect = NEVER;
    })
}

#[tokio::test]
async fn the_agent_of_a_stopping_server_moves_to_the_other_server_with_its_methods() {
    let zone = Zone::start().await;
    let (first, mut link) = zone.next().await;
    link.welcome(Default::default()).await;
    let register = link.accept_registration(7).await;
    zone.wait_until_linked_to(first).await;
    let client = zone.agent.client();
    let pid = async || {
        let status = client.status().await.expect("a status");
        status.method_server.and_then(|server| server.pid)
    };
    let before = pid().await;
    assert!(before.is_some());
    let reason = Goodbye::ServerStopping;
    link.control(0, &Control::Goodbye { reason }).await;
    let (second, mut link) = zone.next().await;
    assert_ne!(second, first);
    link.welcome(Default::default()).await;
    let again = link.accept_registration(7).await;
    assert_eq!(again.generation, register.generation);
    assert_eq!(again.place, Some(7));
    zone.wait_until_linked_to(second).await;
    assert_eq!(pid().await, before, "the method server is the same process");
    let status = client.status().await.expect("a status");
    let [a, b] = &zone.servers;
    assert_eq!(status.server_urls, [a.url(), b.url()]);
    zone.end().await;
}

#[tokio::test]
async fn a_lost_link_and_a_temporary_refusal_lead_to_the_next_server_at_once() {
    for code in ["draining", "busy"] {
        let zone = Zone::start().await;
        let (first, mut link) = zone.next().await;
        link.control(0, &refused(code, true)).await;
        let (second, mut link) = zone.next().await;
        assert_ne!(second, first, "{code}");
        link.welcome(Default::default()).await;
        zone.wait_until_linked_to(second).await;
        zone.end().await;
    }
    let zone = Zone::start().await;
    let (first, link) = zone.next().await;
    drop(link);
    let (second, mut link) = zone.next().await;
    assert_ne!(second, first);
    link.welcome(Default::default()).await;
    zone.end().await;
}

#[tokio::test]
async fn the_agent_backs_off_when_every_server_has_failed() {
    let zone = Zone::start().await;
    for _ in 0..2 {
        let (_, mut link) = zone.next().await;
        // A link that ends at once does not count as a success.
        link.welcome(Default::default()).await;
        let reason = Goodbye::ServerStopping;
        link.control(0, &Control::Goodbye { reason }).await;
    }
    let third = tokio::time::timeout(A_WHILE, zone.next()).await;
    assert!(third.is_err(), "the agent waits");
    zone.end().await;
}

#[tokio::test]
async fn a_refusal_that_holds_on_every_server_is_final() {
    let zone = Zone::start().await;
    let (_, mut link) = zone.next().await;
    link.control(0, &refused("unauthorized", false)).await;
    let exit = zone.agent.exit().await;
    assert!(matches!(exit, Exit::Credentials(_)), "{exit:?}");
    let zone = Zone::start().await;
    let (_, mut link) = zone.next().await;
    link.welcome(Default::default()).await;
    let reason = Goodbye::Replaced;
    link.control(0, &Control::Goodbye { reason }).await;
    assert_eq!(zone.agent.exit().await, Exit::Replaced);
}

#[tokio::test]
async fn the_agent_of_a_stopped_space_waits_and_asks_the_same_server_again() {
    let zone = Zone::start().await;
    let (first, mut link) = zone.next().await;
    link.control(0, &refused("space_stopped", true)).await;
    let (second, mut link) = zone.next().await;
    assert_eq!(second, first);
    link.welcome(Default::default()).await;
    zone.end().await;
}

#[tokio::test]
async fn api_requests_go_to_a_server_that_responds() {
    let zone = Zone::start().await;
    let (first, mut link) = zone.next().await;
    link.welcome(Default::default()).await;
    link.accept_registration(1).await;
    zone.wait_until_linked_to(first).await;
    let Zone { servers, agent } = zone;
    let [a, b] = servers;
    let (gone, left) = if first == 0 { (a, b) } else { (b, a) };
    // The server ends without a goodbye and without closing the link, so the agent still considers
    // itself linked.
    drop(gone);
    let path = "/api/scripts/x";
    let api = agent.client().into_api();
    let asking = api.send_raw(http::Method::GET, path, Default::default(), None, None);
    assert_eq!(asking.await.expect("an answer").status, 404);
    assert_eq!(left.api.asked(path), 1);
    // Requests of the agent itself use the next server too.
    left.api.set_libraries(&[("user", "notes", "X = 1")]);
    let status = agent.client().status().await.expect("a status");
    let url = status.agent_url.expect("the port is on");
    let target = svc_client::Target::parse(&url, None).expect("an address");
    let loopback = svc_client::Client::new(target);
    let path = "/packages/user-libraries.zip";
    let asking = loopback.send_raw(http::Method::GET, path, Default::default(), None, None);
    let archive = asking.await.expect("an answer").body;
    assert!(archive.windows(8).any(|name| name == b"notes.py"));
    drop(link);
    agent.stop().await;
}

#[tokio::test]
async fn addresses_without_a_server_cause_no_back_off() {
    let server = FakeServer::start().await;
    let mut urls = vec![server.url()];
    // No test listens on a port below 1024.
    for n in 1..4 {
        urls.insert(0, format!("http://127.0.0.{n}:1"));
    }
    let agent = start(&urls.join(","));
    let _link = server.link().await;
    agent.stop().await;
}
