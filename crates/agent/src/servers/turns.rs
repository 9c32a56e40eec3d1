//! Which server is tried next, and when all of them have failed.

/// One server after the other, round and round.
#[derive(Debug)]
pub struct Turns {
    count: usize,
    at: usize,
    /// Servers that failed since one held, or since all had failed.
    failed: usize,
}

impl Turns {
    /// `count` is at least one.
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

    /// The current server has failed: it is the next one's turn. `true` if that was the last of a
    /// round, after which it is time to wait.
    pub fn go_on(&mut self) -> bool {
        self.at = (self.at + 1) % self.count;
        self.failed = (self.failed + 1) % self.count;
        self.failed == 0
    }

    /// The current server has held: a whole round may fail from here on.
    pub fn held(&mut self) {
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
    fn a_wait_comes_after_each_round_and_the_round_begins_anew_with_a_server_that_held() {
        let mut turns = Turns::new(3);
        let mut after = |steps: usize| {
            let mut steps: Vec<_> = (0..steps)
                .map(|_| {
                    let waits = turns.go_on();
                    (turns.current(), waits)
                })
                .collect();
            turns.held();
            steps.pop().expect("a step")
        };
        assert_eq!(after(1), (1, false));
        assert_eq!(after(3), (1, true));
        assert_eq!(after(2), (0, false));
        assert_eq!(after(4), (1, false));
        assert_eq!(after(6), (1, true));
    }

    #[test]
    fn a_single_server_is_waited_for_each_time() {
        let mut turns = Turns::new(1);
        for _ in 0..3 {
            assert!(turns.go_on());
            assert_eq!(turns.current(), 0);
        }
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_can_give_every_order() {
        let mut orders = BTreeSet::new();
        for seed in 0..6 {
            let mut numbers = [seed % 3, seed / 3].into_iter();
            let mut items = ["a", "b", "c"];
            shuffle(&mut items, || numbers.next().expect("two are asked for"));
            orders.insert(items);
            let mut sorted = items;
            sorted.sort_unstable();
            assert_eq!(sorted, ["a", "b", "c"]);
        }
        assert_eq!(orders.len(), 6);
    }
}
