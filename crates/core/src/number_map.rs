//! Maps whose keys are numbers that the program itself assigned.
//!
//! The standard hasher protects a map from an attacker who chooses keys that collide. No user
//! chooses the keys of a [`NumberMap`], so its hasher only multiplies. This is faster, which
//! matters because every call looks up several keys. Numbers that a user can choose must never be
//! keys of a [`NumberMap`].

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

#[derive(Default)]
pub struct NumberHasher(u64);

/// Odd, with its bits well spread (2⁶⁴ divided by the golden ratio).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(32) ^ number).wrapping_mul(SPREAD);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    /// Mixes the upper half of the product into the lower half. The upper half depends on all bits
    /// of the number, the lower half on its low bits only, and the map uses the highest and the
    /// lowest bits of the hash.
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashSet,
        hash::{BuildHasher, Hash},
    };

    use super::*;

    fn hash(key: impl Hash) -> u64 {
        BuildHasherDefault::<NumberHasher>::default().hash_one(key)
    }

    /// A map uses the lowest bits for the bucket and the highest seven as a tag.
    #[test]
    fn counted_numbers_are_spread_over_the_map() {
        let keys: [fn(u64) -> u64; 6] = [
            |n| hash(n),
            |n| hash(n << 20),
            |n| hash((1_u64, (n << 20) | (n % 7))),
            |n| hash(n as u32),
            |n| hash(n as usize),
            |n| hash([(n >> 8) as u8, n as u8]),
        ];
        for (index, key) in keys.iter().enumerate() {
            let buckets: HashSet<_> = (0..4_096).map(|n| key(n) & 4_095).collect();
            let tags: HashSet<_> = (0..4_096).map(|n| key(n) >> 57).collect();
            assert!(buckets.len() > 2_000, "{index}: {} buckets", buckets.len());
            assert!(tags.len() > 100, "{index}: {} tags", tags.len());
        }
    }
}
