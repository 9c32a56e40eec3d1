//! Random choices that depend on a seed only.

use std::time::Duration;

/// A random generator (SplitMix64). Good enough to choose moments and servers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The generator for one purpose. Generators with different `numbers` are independent.
    pub fn new(seed: u64, numbers: &[usize]) -> Self {
        let mut dice = Self(seed);
        for &number in numbers {
            dice.0 = dice.next() ^ number as u64;
        }
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `sides`, which must not be 0.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.next() % sides
    }

    /// An index of a list of this length, which must not be 0.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.roll(length as u64)).unwrap_or_default()
    }

    pub fn millis(&mut self, range: std::ops::Range<u64>) -> Duration {
        let length = range.end.saturating_sub(range.start).max(1);
        Duration::from_millis(range.start + self.roll(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rolls(seed: u64, numbers: &[usize]) -> Vec<u64> {
        let mut dice = Dice::new(seed, numbers);
        (0..8).map(|_| dice.roll(1_000_000)).collect()
    }

    #[test]
    fn choices_depend_on_the_seed_and_the_numbers_only() {
        assert_eq!(rolls(7, &[1, 2]), rolls(7, &[1, 2]));
        assert_ne!(rolls(7, &[1, 2]), rolls(8, &[1, 2]));
        assert_ne!(rolls(7, &[1, 2]), rolls(7, &[2, 1]));
        assert_ne!(rolls(0, &[0]), rolls(0, &[1]));
    }

    #[test]
    fn moments_are_in_their_range() {
        let mut dice = Dice::new(3, &[]);
        for _ in 0..1_000 {
            let moment = dice.millis(10..15);
            assert!((10..15).contains(&(moment.as_millis() as u64)));
            assert!(dice.index(3) < 3);
        }
    }
}
