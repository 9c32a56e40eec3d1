//! Maps with a cheap hash, for keys that are random: ids that the server generated, and SHA-256
//! hashes of its own secrets.
//!
//! The standard hasher protects a map from keys that were chosen to collide. These keys cannot be
//! chosen, and every request makes several look-ups with them. A name, or any other value that a
//! user chooses, must never be a key of these maps.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

pub type RandomKeyMap<K, V> = HashMap<K, V, BuildHasherDefault<RandomKeyHasher>>;

/// Hashes the last eight bytes of a key. These are random in v7 ids too.
#[derive(Default)]
pub struct RandomKeyHasher(u64);

/// 2⁶⁴ divided by the golden ratio: odd, with well-spread bits. After the multiplication, the upper
/// bits of a hash depend on all eight bytes, and the lower bits are as random as those of the key.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for RandomKeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        let word = match bytes.last_chunk() {
            Some(last) => u64::from_be_bytes(*last),
            None => bytes
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        self.0 = (self.0 ^ word).wrapping_mul(SPREAD);
    }

    /// Ignores the length of an array, which is the same for all keys of a map.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashSet,
        hash::{BuildHasher, Hash},
    };

    use svc_core::UserId;
    use uuid::Uuid;

    use super::*;

    fn hash(key: impl Hash) -> u64 {
        BuildHasherDefault::<RandomKeyHasher>::default().hash_one(key)
    }

    /// The map uses the lowest bits for the bucket and the highest seven for a first comparison.
    /// Both must differ between ids of the same time.
    #[test]
    fn ids_of_one_moment_are_spread_over_the_map() {
        let ids: Vec<_> = (0..4_096).map(|_| UserId(Uuid::now_v7())).collect();
        let count = |of: fn(u64) -> u64| {
            let seen: HashSet<u64> = ids.iter().map(|id| of(hash(*id))).collect();
            seen.len()
        };
        // 4,096 random values hit about 2,589 of 4,096 buckets.
        assert!(count(|hash| hash & 4_095) > 2_300);
        assert_eq!(count(|hash| hash >> 57), 128);
    }

    #[test]
    fn equal_keys_are_found_and_others_are_not() {
        let mut map = RandomKeyMap::default();
        let keys: Vec<[u8; 32]> = (0..=255).map(|byte| [byte; 32]).collect();
        for key in &keys {
            map.insert(*key, key[0]);
        }
        assert!(keys.iter().all(|key| map.get(key) == Some(&key[0])));
        let mut other = [7; 32];
        other[0] = 8;
        assert_eq!(map.get(&other), None);
    }
}
