//! One HTTP client for each server, because a client keeps connections to one server only.

use std::sync::{Arc, atomic::Ordering};

use svc_client::{Client, Policy};

use super::{Servers, in_turn};

pub struct Clients {
    servers: Arc<Servers>,
    clients: Vec<Client>,
}

impl Clients {
    pub fn new(servers: Arc<Servers>, agent_token: &str, policy: Policy) -> Self {
        let clients = servers.targets.iter();
        let clients = clients
            .map(|target| Client::with_policy(target.clone(), policy).with_token(agent_token))
            .collect();
        Self { servers, clients }
    }

    /// The clients of all servers, beginning with the current server.
    pub fn in_turn(&self) -> impl Iterator<Item = &Client> {
        in_turn(&self.clients, self.servers.current.load(Ordering::Relaxed))
    }

    pub fn is_single(&self) -> bool {
        self.servers.is_single()
    }
}
