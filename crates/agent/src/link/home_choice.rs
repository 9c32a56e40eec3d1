//! Chooses the server of the next attempt to make a home link.
//!
//! The home link leads to the server that manages the space. Side links lead to other servers of
//! the zone. A round ends when the agent has tried every server that it knows.
//!
//! A server that has a side link to the agent comes first: it is up, and it can already send calls.
//! The configured servers follow in turn, then the announced servers.

use svc_client::Target;

use crate::servers::{Servers, Turns};

pub struct HomeChoice {
    turns: Turns,
    /// Whether every configured server was tried in this round.
    turns_done: bool,
    /// Servers tried in this round that were not chosen by `turns`.
    tried: Vec<Target>,
    /// Whether `turns` chose the server of the last attempt.
    by_turn: bool,
}

impl HomeChoice {
    pub fn new(servers: &Servers) -> Self {
        Self {
            turns: servers.turns(),
            turns_done: false,
            tried: Vec::new(),
            by_turn: false,
        }
    }

    /// The server to try next. `linked` are the servers with side links.
    pub fn next(&mut self, servers: &Servers, linked: &[Target]) -> Target {
        let other = self.find_other(servers, linked);
        self.by_turn = other.is_none();
        match other {
            Some(target) => {
                self.tried.push(target.clone());
                target
            }
            None => servers.at_turn(&self.turns),
        }
    }

    /// Records that the attempt failed or the link ended. Returns `true` if every server has failed
    /// in this round. The caller must then wait before the next attempt.
    pub fn fail(&mut self, servers: &Servers, linked: &[Target]) -> bool {
        if self.by_turn {
            self.turns_done |= self.turns.advance();
        }
        let is_round_over = self.turns_done && self.find_other(servers, linked).is_none();
        if is_round_over {
            self.turns_done = false;
            self.tried.clear();
        }
        is_round_over
    }

    /// Starts a new round, after a stable link.
    pub fn start_round(&mut self) {
        self.turns.start_round();
        self.turns_done = false;
        self.tried.clear();
    }

    fn find_other(&self, servers: &Servers, linked: &[Target]) -> Option<Target> {
        let learned = match self.turns_done {
            true => servers.learned(),
            false => Vec::new(),
        };
        let untried = |target: &&Target| {
            let mut tried = self.tried.iter();
            !tried.any(|tried| tried.is_same_address(target))
        };
        linked.iter().chain(&learned).find(untried).cloned()
    }
}

#[cfg(test)]
mod tests {
    use svc_core::ServerId;
    use svc_link::AnnouncedServer;

    use super::*;

    fn servers(configured: &str, announced: &[&str]) -> Servers {
        let servers = Servers::parse(configured, None).expect("valid");
        let announced = announced.iter().map(|url| AnnouncedServer {
            id: ServerId::NIL,
            url: (*url).to_owned(),
        });
        servers.learn(&announced.collect::<Vec<_>>());
        servers
    }

    /// The addresses of the next attempts, if all of them fail. `wait` marks each wait of the
    /// agent.
    fn attempts(servers: &Servers, linked: &[&str], count: usize) -> Vec<String> {
        let linked: Vec<_> = linked
            .iter()
            .map(|url| Target::parse(url, None).expect("valid"))
            .collect();
        let mut choice = HomeChoice::new(servers);
        let mut found = Vec::new();
        for _ in 0..count {
            found.push(choice.next(servers, &linked).to_string());
            if choice.fail(servers, &linked) {
                found.push("wait".to_owned());
            }
        }
        found
    }

    #[test]
    fn linked_servers_come_first_then_configured_then_announced_ones() {
        let (a, b, c) = ("http://a", "http://b", "http://c");
        let zone = servers(a, &[a, b, c]);
        assert_eq!(attempts(&zone, &[c], 4), [c, a, b, "wait", c]);
        assert_eq!(attempts(&zone, &[], 4), [a, b, c, "wait", a]);
        let single = servers(a, &[]);
        assert_eq!(attempts(&single, &[], 2), [a, "wait", a, "wait"]);
    }

    #[test]
    fn configured_servers_are_tried_in_turn() {
        let zone = servers("http://a,http://b", &[]);
        let found = attempts(&zone, &[], 4);
        assert_ne!(found[0], found[1]);
        assert_eq!([&found[2], &found[5]], ["wait", "wait"]);
        assert_eq!(found[..2], found[3..5]);
    }

    #[test]
    fn a_stable_link_starts_a_new_round() {
        let (a, b) = ("http://a", "http://b");
        let zone = servers(a, &[a, b]);
        let linked = [Target::parse(b, None).expect("valid")];
        let mut choice = HomeChoice::new(&zone);
        assert_eq!(choice.next(&zone, &linked).to_string(), b);
        choice.start_round();
        assert!(!choice.fail(&zone, &linked));
        assert_eq!(choice.next(&zone, &linked).to_string(), b);
    }
}
