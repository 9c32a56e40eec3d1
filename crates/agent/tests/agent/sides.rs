//! Side links: links of the agent to the other servers that its home server announces.

use std::time::Duration;

use svc_core::ServerId;
use svc_link::{
    AcceptedRegistration, AnnouncedServer, AnnouncedServers, Control, Frame, FrameKind, Goodbye,
    Hello, Register, Ticket, VERSION,
};
use svc_protocol::agent_api::RegisterFile;
use uuid::Uuid;

use crate::{
    fake_server::{FakeLink, FakeServer, refused},
    test_agent::{TestAgent, eventually},
};

const METHODS: &str = r#"
[server]
command = "cat"

[[methods]]
name = "x"
local_name = "x"
description = "d"

[[methods]]
name = "y"
local_name = "y"
description = "d"
"#;

fn id(number: usize) -> ServerId {
    ServerId(Uuid::from_u128(number as u128 + 1))
}

fn announced(servers: &[&FakeServer]) -> AnnouncedServers {
    let servers = servers.iter().enumerate();
    AnnouncedServers {
        servers: servers
            .map(|(number, server)| AnnouncedServer {
                id: id(number),
                url: server.url(),
            })
            .collect(),
        spread_millis: 10,
    }
}

fn ticket(text: &str) -> Option<Ticket> {
    Some(Ticket {
        replaces: false,
        mac: text.to_owned(),
    })
}

async fn accept(link: &mut FakeLink, id: u64, place: u64, ticket: Option<Ticket>) {
    let accepted = AcceptedRegistration {
        place,
        methods: 2,
        warnings: Vec::new(),
        ticket,
    };
    link.control(id, &Control::Registered(accepted)).await;
}

/// Two servers, and an agent whose home is the first. The first server has accepted its
/// registration, with the ticket `one`.
struct Zone {
    servers: [FakeServer; 2],
    agent: TestAgent,
    home: FakeLink,
}

impl Zone {
    async fn start() -> Self {
        let servers = [FakeServer::start().await, FakeServer::start().await];
        let agent = TestAgent::start(&servers[0].url(), Some(METHODS));
        let (mut home, hello) = servers[0].accept().await;
        assert_eq!(hello.versions, [VERSION]);
        assert_eq!(hello.side, None);
        home.welcome_as(id(0)).await;
        let (request, _) = home.register().await;
        accept(&mut home, request, 7, ticket("one")).await;
        let list = announced(&[&servers[0], &servers[1]]);
        home.control(0, &Control::Servers(list)).await;
        Self {
            servers,
            agent,
            home,
        }
    }

    /// Accepts the side link at the second server, and the registration on it.
    async fn side(&self) -> (FakeLink, Register) {
        let (mut side, hello) = self.servers[1].accept().await;
        check_side(&hello);
        side.welcome_as(id(1)).await;
        let (request, register) = registration(&mut side).await;
        accept(&mut side, request, 7, None).await;
        (side, register)
    }

    async fn wait_for_links(&self, links: usize) {
        let client = self.agent.client();
        eventually("the number of links", async || {
            let status = client.status().await;
            status.is_ok_and(|status| status.links.len() == links)
        })
        .await;
    }
}

/// Waits for the registration on a side link. The side link may be up before the home server has
/// accepted the registration: then the agent first sends `Unregister`.
async fn registration(side: &mut FakeLink) -> (u64, Register) {
    loop {
        match side.request().await {
            (request, Control::Register(register)) => return (request, *register),
            (request, Control::Unregister) => side.control(request, &Control::Unregistered).await,
            other => panic!("{other:?}"),
        }
    }
}

fn check_side(hello: &Hello) {
    assert_eq!(hello.versions, [VERSION]);
    assert_eq!(hello.side.as_ref().map(|side| side.home), Some(id(0)));
}

#[tokio::test]
async fn the_agent_brings_its_registration_and_ticket_to_an_announced_server() {
    let zone = Zone::start().await;
    let (mut side, register) = zone.side().await;
    assert_eq!(register.ticket, ticket("one"));
    assert_eq!(register.place, Some(7));
    assert_eq!(register.registration.methods.len(), 2);
    zone.wait_for_links(2).await;
    // A call with an unknown generation is answered on the side link.
    side.call(9, register.generation + 1, "x").await;
    let (call, kind, _) = side.answer().await;
    assert_eq!(
        (call, kind),
        (9, FrameKind::Unavailable),
        "no such generation"
    );
    // An unknown control message does not end the link. A message that only a home server may send
    // does not end it either.
    let unknown = serde_json::json!({"type": "of_a_newer_server", "x": 1}).to_string();
    let frame = Frame::new(0, FrameKind::Control, unknown);
    side.send(&[frame]).await;
    side.control(0, &Control::Servers(AnnouncedServers::default()))
        .await;
    side.call(10, 77, "x").await;
    assert_eq!(side.answer().await.0, 10);
    zone.wait_for_links(2).await;
    zone.agent.stop().await;
}

#[tokio::test]
async fn a_lost_home_is_replaced_by_the_server_of_the_side_link() {
    let zone = Zone::start().await;
    let (side, register) = zone.side().await;
    zone.wait_for_links(2).await;
    let Zone {
        servers,
        agent,
        home,
    } = zone;
    drop(home);
    // The first server is the only configured one, and it still runs. But the agent prefers the
    // server to which it has a side link.
    let (mut second, hello) = servers[1].accept().await;
    assert_eq!(hello.side, None, "a home link");
    second.welcome_as(id(1)).await;
    let (request, again) = second.register().await;
    assert_eq!(again.generation, register.generation);
    assert_eq!(again.place, Some(7));
    accept(&mut second, request, 7, ticket("one")).await;
    // The old home gets a side link.
    let (_first, hello) = servers[0].accept().await;
    assert_eq!(hello.side.map(|side| side.home), Some(id(1)));
    drop(side);
    let client = agent.client();
    let url = servers[1].url();
    eventually("the status names the home", async || {
        let status = client.status().await;
        status.is_ok_and(|status| status.server_url == url)
    })
    .await;
    agent.stop().await;
}

#[tokio::test]
async fn a_method_that_another_space_took_over_is_registered_nowhere() {
    let mut zone = Zone::start().await;
    let (mut side, first) = zone.side().await;
    let methods = vec!["x".to_owned()];
    side.control(0, &Control::Displaced { methods }).await;
    let (request, reduced) = zone.home.register().await;
    assert_eq!(reduced.registration.methods.len(), 1);
    assert!(reduced.generation > first.generation);
    accept(&mut zone.home, request, 7, ticket("two")).await;
    let (request, register) = side.register().await;
    assert_eq!(register.ticket, ticket("two"));
    assert_eq!(register.registration.methods.len(), 1);
    accept(&mut side, request, 7, None).await;
    zone.agent.stop().await;
}

#[tokio::test]
async fn a_replaced_method_server_takes_calls_until_the_side_links_have_the_new_registration() {
    let mut zone = Zone::start().await;
    let (mut side, first) = zone.side().await;
    let client = zone.agent.client();
    let file = RegisterFile {
        path: zone.agent.path().join("methods.toml").display().to_string(),
        text: Some(METHODS.to_owned()),
        registration: None,
        replace_conflicting: false,
    };
    let registering = tokio::spawn(async move { client.register(&file).await });
    let (request, _) = zone.home.register().await;
    accept(&mut zone.home, request, 8, ticket("two")).await;
    registering.await.expect("runs").expect("registered");
    let (request, second) = side.register().await;
    assert!(second.generation > first.generation);
    // Without side links, the agent would stop the idle old method server within this time.
    tokio::time::sleep(Duration::from_millis(500)).await;
    side.call(9, first.generation, "x").await;
    side.send(&[Frame::empty(9, FrameKind::Cancel)]).await;
    let (call, kind, _) = side.answer().await;
    assert_eq!((call, kind), (9, FrameKind::CancelledSent));
    accept(&mut side, request, 8, None).await;
    zone.agent.stop().await;
}

#[tokio::test]
async fn a_server_that_refuses_the_registration_gets_none() {
    let zone = Zone::start().await;
    let (mut side, _) = zone.servers[1].accept().await;
    side.welcome_as(id(1)).await;
    let (request, _) = registration(&mut side).await;
    let problem = svc_protocol::problem::Problem::new(409, "registration_conflict", "no", "no");
    side.control(request, &Control::RegisterRefused { problem })
        .await;
    let (request, control) = side.request().await;
    assert_eq!(control, Control::Unregister);
    side.control(request, &Control::Unregistered).await;
    // The agent retries the registration.
    let (request, _) = side.register().await;
    accept(&mut side, request, 7, None).await;
    zone.agent.stop().await;
}

#[tokio::test]
async fn a_refused_side_link_is_retried_only_after_a_change() {
    let mut zone = Zone::start().await;
    let (mut side, _) = zone.servers[1].accept().await;
    side.control(0, &refused("home_here", true)).await;
    let again = tokio::time::timeout(Duration::from_millis(300), zone.servers[1].accept());
    assert!(again.await.is_err(), "the agent waits for a change");
    let list = announced(&[&zone.servers[0]]);
    zone.home.control(0, &Control::Servers(list)).await;
    let list = announced(&[&zone.servers[0], &zone.servers[1]]);
    zone.home.control(0, &Control::Servers(list)).await;
    let (_side, hello) = zone.servers[1].accept().await;
    check_side(&hello);
    zone.agent.stop().await;
}

#[tokio::test]
async fn an_agent_with_one_link_neither_learns_servers_nor_links_to_them() {
    let servers = [FakeServer::start().await, FakeServer::start().await];
    let agent = TestAgent::start_with(&servers[0].url(), |_, options| {
        options.policy.links_max = 1;
    });
    let (mut home, _) = servers[0].accept().await;
    home.welcome_as(id(0)).await;
    let list = announced(&[&servers[0], &servers[1]]);
    home.control(0, &Control::Servers(list)).await;
    let reason = Goodbye::ServerStopping;
    home.control(0, &Control::Goodbye { reason }).await;
    // The agent comes back to its only address.
    let _again = servers[0].link().await;
    agent.stop().await;
}
