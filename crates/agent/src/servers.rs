//! The servers of one zone that the agent may use, and the server that it uses now.
//!
//! All of these servers are equivalent. This module chooses the server for every request of the
//! agent. The home link is the agent's main link; all other links are side links. The server of the
//! home link is the current server. It announces the other servers of the zone to the agent, and
//! the module `learned` decides which of these servers the agent may use.

mod clients;
mod learned;
mod turns;

pub use clients::Clients;
pub use learned::{UsableServer, choose_sides};
pub use turns::Turns;

use std::path::{Path, PathBuf};

use parking_lot::RwLock;
use svc_client::{Target, TargetError};
use svc_crypto::random;

pub struct Servers {
    /// In the order of the settings. Shown in the status.
    urls: Vec<String>,
    /// In random order, so that agents spread over all servers. If a server stops, its agents
    /// spread over the other servers. Never empty.
    targets: Vec<Target>,
    ca_file: Option<PathBuf>,
    /// Announced servers that the agent may use and that are not in `targets`.
    learned: RwLock<Vec<Target>>,
    /// The server of the home link. Without a home link, the server that the agent tries now.
    current: RwLock<Target>,
}

impl Servers {
    /// Reads one address or several, separated by commas.
    pub fn parse(urls: &str, ca_file: Option<&Path>) -> Result<Self, TargetError> {
        let mut targets = Target::parse_list(urls, ca_file)?;
        let urls = targets.iter().map(Target::to_string).collect();
        turns::shuffle(&mut targets, || random::u32().unwrap_or_default());
        Ok(Self {
            urls,
            current: RwLock::new(targets[0].clone()),
            targets,
            ca_file: ca_file.map(Path::to_owned),
            learned: RwLock::default(),
        })
    }

    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// Whether the agent knows one server only.
    pub fn is_single(&self) -> bool {
        self.targets.len() == 1 && self.learned.read().is_empty()
    }

    /// The order of attempts to link to the configured servers, starting with the first target.
    pub fn turns(&self) -> Turns {
        Turns::new(self.targets.len())
    }

    /// The configured server of this turn.
    pub fn at_turn(&self, turns: &Turns) -> Target {
        self.targets[turns.current()].clone()
    }

    pub fn current(&self) -> Target {
        self.current.read().clone()
    }

    pub fn make_current(&self, target: &Target) {
        *self.current.write() = target.clone();
    }

    /// Announced servers that are not configured.
    pub fn learned(&self) -> Vec<Target> {
        self.learned.read().clone()
    }

    /// Every server once: the current server, then the other configured servers, beginning after
    /// the current one, then the learned servers.
    pub fn in_turn(&self) -> Vec<Target> {
        let current = self.current();
        let is_current = |target: &&Target| target.is_same_address(&current);
        let at = self.targets.iter().position(|target| is_current(&target));
        let (before, after) = self.targets.split_at(at.unwrap_or(0));
        let learned = self.learned();
        let others = after.iter().chain(before).chain(&learned);
        let others = others.filter(|target| !is_current(target)).cloned();
        std::iter::once(current.clone()).chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_tried_from_the_current_one_on_and_shown_in_the_given_order() {
        let servers = Servers::parse("http://c,http://a,http://b", None).expect("valid");
        assert_eq!(servers.urls(), ["http://c", "http://a", "http://b"]);
        let mut turns = servers.turns();
        let mut firsts = Vec::new();
        for _ in 0..3 {
            servers.make_current(&servers.at_turn(&turns));
            let urls: Vec<_> = servers.in_turn().iter().map(Target::to_string).collect();
            assert_eq!(urls[0], servers.current().to_string());
            let mut sorted = urls.clone();
            sorted.sort();
            assert_eq!(sorted, ["http://a", "http://b", "http://c"]);
            firsts.push(urls[0].clone());
            turns.advance();
        }
        firsts.sort();
        assert_eq!(firsts, ["http://a", "http://b", "http://c"]);
    }
}
