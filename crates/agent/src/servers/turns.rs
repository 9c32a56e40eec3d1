//! Decides which server is tried next, and detects that all servers have failed.

/// A cyclic order of servers.
#[derive(Debug)]
pub struct Turns {
    count: usize,
    at: usize,
    /// Failures in this round. A round begins after a stable link (a link that was up for some
    /// time), or after all servers have failed.
    failed: usize,
}

impl Turns {
    /// `count` is the number of servers, at least one.
    pub fn new(count: usize) -> Self {
        Self {
            count,
            at: 0,
            failed: 0,
        }
    }

    pub fn current(&self) -> usize {
        self.at
    }

    /// Moves to the next server, after the current server has failed. Returns `true` if every
    /// server has failed in this round: then the caller must wait before the next attempt.
    pub fn advance(&mut self) -> bool {
        self.at = (self.at + 1) % self.count;
        self.failed = (self.failed + 1) % self.count;
        self.failed == 0
    }

    /// Starts a new round, after a stable link.
    pub fn start_round(&mut self) {
        self.failed = 0;
    }
}

/// Brings items into a random order.
pub fn shuffle<T>(items: &mut [T], mut random: impl FnMut() -> u32) {
    for last in (1..items.len()).rev() {
        let places = u32::try_from(last + 1).unwrap_or(u32::MAX);
        items.swap(last, (random() % places) as usize);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_wait_follows_each_round_and_a_stable_link_starts_a_new_round() {
        let mut turns = Turns::new(3);
        let mut after = |steps: usize| {
            let mut steps: Vec<_> = (0..steps)
                .map(|_| {
                    let waits = turns.advance();
                    (turns.current(), waits)
                })
                .collect();
            turns.start_round();
            steps.pop().expect("a step")
        };
        assert_eq!(after(1), (1, false));
        assert_eq!(after(3), (1, true));
        assert_eq!(after(2), (0, false));
        assert_eq!(after(4), (1, false));
        assert_eq!(after(6), (1, true));
    }

    #[test]
    fn with_a_single_server_every_failure_is_followed_by_a_wait() {
        let mut turns = Turns::new(1);
        for _ in 0..3 {
            assert!(turns.advance());
            assert_eq!(turns.current(), 0);
        }
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_can_produce_every_order() {
        let mut orders = BTreeSet::new();
        for seed in 0..6 {
            let mut numbers = [seed % 3, seed / 3].into_iter();
            let mut items = ["a", "b", "c"];
            shuffle(&mut items, || {
                numbers.next().expect("three items need two numbers")
            });
            orders.insert(items);
            let mut sorted = items;
            sorted.sort_unstable();
            assert_eq!(sorted, ["a", "b", "c"]);
        }
        assert_eq!(orders.len(), 6);
    }
}
