//! The servers of the agent, all of one zone, and the current one.
//!
//! All of them are equivalent. Every request asks here which server to use.

mod clients;
mod turns;

pub use clients::Clients;
pub use turns::Turns;

use std::{
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use svc_client::{Target, TargetError};

pub struct Servers {
    /// In the order of the settings. Shown in the status.
    urls: Vec<String>,
    /// In random order, so that agents spread over all servers. If a server stops, its agents
    /// spread over the other servers. Never empty.
    targets: Vec<Target>,
    /// The target of the link, or of the current attempt.
    current: AtomicUsize,
}

impl Servers {
    /// Reads one address or several, separated by commas.
    pub fn parse(urls: &str, ca_file: Option<&Path>) -> Result<Self, TargetError> {
        let mut targets = Target::parse_list(urls, ca_file)?;
        let urls = targets.iter().map(Target::to_string).collect();
        turns::shuffle(&mut targets, || getrandom::u32().unwrap_or_default());
        Ok(Self {
            urls,
            targets,
            current: AtomicUsize::new(0),
        })
    }

    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    pub fn is_single(&self) -> bool {
        self.targets.len() == 1
    }

    /// The order of attempts to link, starting with the first target.
    pub fn turns(&self) -> Turns {
        Turns::new(self.targets.len())
    }

    pub fn current(&self) -> &Target {
        &self.targets[self.current.load(Ordering::Relaxed)]
    }

    /// Makes the server of this turn the current one.
    pub fn use_turn(&self, turns: &Turns) {
        self.current.store(turns.current(), Ordering::Relaxed);
    }

    /// Every server once, the current one first.
    pub fn in_turn(&self) -> impl Iterator<Item = &Target> {
        in_turn(&self.targets, self.current.load(Ordering::Relaxed))
    }
}

fn in_turn<T>(all: &[T], first: usize) -> impl Iterator<Item = &T> {
    let (before, after) = all.split_at(first);
    after.iter().chain(before)
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
            servers.use_turn(&turns);
            let urls: Vec<_> = servers.in_turn().map(Target::to_string).collect();
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
