//! The servers an agent knows, all of one zone, and which of them it uses now.
//!
//! Any of them will do, so whatever speaks to "the server" asks here each time.

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
    /// As they were given, to be shown.
    urls: Vec<String>,
    /// In an order of this agent's own, so that agents spread over the servers, and those of one
    /// that stops over the rest. Never empty.
    targets: Vec<Target>,
    /// The target that the link stands to, or is tried with.
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

    /// Whose turn it is to be linked to, from the current one on.
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
    fn all_are_tried_from_the_current_one_on_and_shown_as_they_were_given() {
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
            turns.go_on();
        }
        firsts.sort();
        assert_eq!(firsts, ["http://a", "http://b", "http://c"]);
    }
}
