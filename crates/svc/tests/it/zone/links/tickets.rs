//! A server takes over a registration only with a ticket of the home server.

use svc_core::ServerId;
use svc_link::{Control, Goodbye, Register, Ticket, VERSION, Welcome};
use svc_testkit::{RawLink, TestSpace, simulated_registration};

use super::*;

/// A simulated agent with a home link.
struct Home {
    link: RawLink,
    server: ServerId,
}

impl Home {
    async fn link(zone: &TestZone, member: usize, space: &TestSpace) -> Self {
        let address = zone.server(member).address();
        let mut link = RawLink::connect(address, &space.agent_token).await;
        let welcome = welcome(link.hello(&[VERSION]).await);
        Self {
            link,
            server: welcome.server_id,
        }
    }

    /// Registers, and returns the registration with its ticket.
    async fn register(&mut self, mut register: Register) -> Register {
        let id = u64::from(register.generation);
        let control = Control::Register(Box::new(register.clone()));
        let Control::Registered(accepted) = self.link.ask(id, &control).await else {
            panic!("the registration is refused");
        };
        register.place = Some(accepted.place);
        register.ticket = Some(accepted.ticket.expect("a ticket"));
        register
    }
}

fn welcome(answer: Control) -> Welcome {
    match answer {
        Control::Welcome(welcome) => *welcome,
        other => panic!("{other:?}"),
    }
}

fn register(generation: u32, methods: usize) -> Register {
    Register {
        registration: simulated_registration(methods),
        generation,
        replace_conflicting: false,
        place: None,
        ticket: None,
    }
}

/// The code of the server's refusal to take over a registration; `None` if the server accepts.
async fn refusal(side: &mut RawLink, register: &Register) -> Option<String> {
    let control = Control::Register(Box::new(register.clone()));
    match side.ask(100, &control).await {
        Control::RegisterRefused { problem } => Some(problem.code),
        Control::Registered(_) => None,
        other => panic!("{other:?}"),
    }
}

/// The code of the server's refusal of a side link.
async fn side_refusal(zone: &TestZone, member: usize, space: &TestSpace, instance: &str) -> String {
    let address = zone.server(member).address();
    let mut link = RawLink::connect(address, &space.agent_token).await;
    match link.hello_side(instance, ServerId::NIL).await {
        Control::Refused(refusal) => serde_json::to_value(refusal.code).unwrap().to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_registration_without_a_valid_ticket_is_refused() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_announced(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let space = at[0].space("lab").await;
    assert_eq!(
        side_refusal(&zone, 1, &space, "simulated").await,
        "\"no_home\""
    );
    let mut home = Home::link(&zone, 0, &space).await;
    assert_eq!(
        side_refusal(&zone, 0, &space, "simulated").await,
        "\"home_here\""
    );
    assert_eq!(
        side_refusal(&zone, 1, &space, "another").await,
        "\"no_home\""
    );

    let first = home.register(register(1, 1)).await;
    let address = zone.server(1).address();
    let mut side = RawLink::connect(address, &space.agent_token).await;
    let answer = side.hello_side("simulated", home.server).await;
    assert_eq!(welcome(answer).version, VERSION);
    let changes: [fn(&mut Register); 6] = [
        |register| register.ticket = None,
        |register| register.place = None,
        |register| register.place = register.place.map(|place| place - 1),
        |register| register.generation = 7,
        |register| register.registration = simulated_registration(2),
        |register| {
            let ticket = register.ticket.as_mut().unwrap();
            ticket.replaces = true;
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut forged = first.clone();
        change(&mut forged);
        let refused = refusal(&mut side, &forged).await;
        assert_eq!(refused.as_deref(), Some("ticket_invalid"), "{number}");
    }
    let mac = "AAAA".repeat(10) + "AAA";
    let forged = Register {
        ticket: Some(Ticket {
            replaces: false,
            mac,
        }),
        ..first.clone()
    };
    assert_eq!(
        refusal(&mut side, &forged).await.as_deref(),
        Some("ticket_invalid")
    );
    assert!(at[1].method_names().await.is_empty());

    // The server takes over registrations that the home server accepted. After a newer
    // registration, it refuses an older one.
    assert_eq!(refusal(&mut side, &first).await, None);
    assert_eq!(at[1].method_names().await, ["lab.m0"]);
    let second = home.register(register(2, 2)).await;
    assert_eq!(refusal(&mut side, &second).await, None);
    assert_eq!(at[1].method_names().await, ["lab.m0", "lab.m1"]);
    let old = refusal(&mut side, &first).await;
    assert_eq!(old.as_deref(), Some("registration_outdated"));
    assert_eq!(at[1].method_names().await.len(), 2);

    // A message that would change the space ends the side link.
    let health = Control::RegistrationLost {
        error: "x".to_owned(),
    };
    side.tell(5, &health).await.unwrap();
    side.wait_until_ended(SOON).await;
    assert_eq!(space.state().await, "deployed");
    assert_eq!(at[0].method_names().await.len(), 2);
}

#[tokio::test]
async fn a_registration_that_an_agent_repeats_on_a_side_link_is_counted() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_with(postgres, 2, |builder| {
        builder.announced().config("registrations_per_minute = 2")
    })
    .await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let space = at[0].space("lab").await;
    let mut home = Home::link(&zone, 0, &space).await;
    let accepted = home.register(register(1, 1)).await;
    let address = zone.server(1).address();
    let mut side = RawLink::connect(address, &space.agent_token).await;
    welcome(side.hello_side("simulated", home.server).await);
    // The first registration on a link is not counted.
    for _ in 0..3 {
        assert_eq!(refusal(&mut side, &accepted).await, None);
    }
    let refused = refusal(&mut side, &accepted).await;
    assert_eq!(refused.as_deref(), Some("too_many_registrations"));
    assert_eq!(at[1].method_names().await, ["lab.m0"]);
    // Registrations on home links are counted separately.
    let other = at[1].space("other").await;
    let mut other = Home::link(&zone, 1, &other).await;
    for generation in 1..=3 {
        other.register(register(generation, 1)).await;
    }
}

/// Agents bring the registrations that each server has accepted to all other servers.
#[tokio::test]
async fn each_home_has_its_own_limit_of_registrations_on_side_links() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_with(postgres, 3, |builder| {
        builder.announced().config("registrations_per_minute = 2")
    })
    .await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 3).await;
    for (server, name) in [(0, "lab"), (1, "shop")] {
        let space = at[server].space(name).await;
        let mut home = Home::link(&zone, server, &space).await;
        let accepted = home.register(register(1, 1)).await;
        let mut side = RawLink::connect(zone.server(2).address(), &space.agent_token).await;
        welcome(side.hello_side("simulated", home.server).await);
        // The first registration on a link is not counted.
        for _ in 0..3 {
            assert_eq!(refusal(&mut side, &accepted).await, None, "{name}");
        }
        let refused = refusal(&mut side, &accepted).await;
        assert_eq!(refused.as_deref(), Some("too_many_registrations"), "{name}");
    }
}

#[tokio::test]
async fn a_home_link_replaces_the_side_link_of_its_agent_without_a_gap() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_announced(postgres, 2).await;
    let ann = zone.server(0).user("ann").await;
    let at = at_each(&zone, &ann, 2).await;
    let space = at[0].space("lab").await;
    let mut home = Home::link(&zone, 0, &space).await;
    let accepted = home.register(register(1, 1)).await;
    let address = zone.server(1).address();
    let mut side = RawLink::connect(address, &space.agent_token).await;
    welcome(side.hello_side("simulated", home.server).await);
    assert_eq!(refusal(&mut side, &accepted).await, None);
    let state = async || {
        let found = at[1].find_method("lab.m0").await.unwrap();
        found["providers"][0]["state"].clone()
    };
    assert_eq!(state().await, "ready");
    // The agent has not registered on its new home link yet, but calls still succeed.
    let _home = Home::link(&zone, 1, &space).await;
    assert_eq!(state().await, "ready");
    side.wait_until_ended(SOON).await;
    assert_eq!(state().await, "ready");
}

#[tokio::test]
async fn an_agent_gets_tickets_and_the_announced_servers() {
    let Some(postgres) = TestPostgres::find() else {
        return;
    };
    let zone = TestZone::start_announced(postgres, 1).await;
    let ann = zone.server(0).user("ann").await;
    let space = ann.space("lab").await;
    let address = zone.server(0).address();
    let mut old = RawLink::connect(address, &space.agent_token).await;
    welcome(old.hello(&[VERSION]).await);
    match old.register(simulated_registration(1)).await {
        Control::Registered(accepted) => assert!(accepted.ticket.is_some()),
        other => panic!("{other:?}"),
    }
    // An agent gets the list of servers in the welcome or in a later message. The list is empty
    // until the server has announced itself.
    let mut new = RawLink::connect(address, &space.agent_token).await;
    let mut announced = welcome(new.hello(&[VERSION]).await).announced;
    while announced
        .as_ref()
        .is_none_or(|list| list.servers.is_empty())
    {
        let frame = new.next().await.unwrap();
        if let Ok(Control::Servers(servers)) = serde_json::from_slice(&frame.payload) {
            announced = Some(servers);
        }
    }
    let urls: Vec<_> = announced
        .unwrap()
        .servers
        .into_iter()
        .map(|s| s.url)
        .collect();
    assert_eq!(urls, [zone.server(0).url()]);
    let mut goodbye = None;
    while let Ok(frame) = old.next().await {
        if let Ok(Control::Goodbye { reason }) = serde_json::from_slice(&frame.payload) {
            goodbye = Some(reason);
        }
    }
    assert_eq!(goodbye, Some(Goodbye::Reconnect));
}
