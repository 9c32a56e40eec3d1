//! One HTTP client for each server, because a client keeps connections to one server only.

use std::sync::Arc;

use parking_lot::Mutex;
use svc_client::{Client, Policy};

use super::Servers;

pub struct Clients {
    servers: Arc<Servers>,
    agent_token: String,
    policy: Policy,
    /// The clients that [`Self::in_turn`] returned last.
    clients: Mutex<Vec<Arc<Client>>>,
}

impl Clients {
    pub fn new(servers: Arc<Servers>, agent_token: &str, policy: Policy) -> Self {
        Self {
            servers,
            agent_token: agent_token.to_owned(),
            policy,
            clients: Mutex::default(),
        }
    }

    /// The clients of all servers, beginning with the current server.
    pub fn in_turn(&self) -> Vec<Arc<Client>> {
        let mut clients = self.clients.lock();
        let in_turn: Vec<_> = self
            .servers
            .in_turn()
            .into_iter()
            .map(|target| {
                let mut known = clients.iter();
                let known = known.find(|client| client.target().is_same_address(&target));
                known.cloned().unwrap_or_else(|| {
                    let client = Client::with_policy(target, self.policy);
                    Arc::new(client.with_token(&self.agent_token))
                })
            })
            .collect();
        clients.clone_from(&in_turn);
        in_turn
    }

    pub fn is_single(&self) -> bool {
        self.servers.is_single()
    }
}
