//! Credentials that no server of the zone knew when they were last presented. With this list, a
//! client that repeats a revoked or invented credential does not cause a database query each time.
//!
//! Credentials are random and cannot be presented before they are created, so an unknown credential
//! stays unknown.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use svc_store::Hash;

/// How long a credential is remembered.
const REMEMBER_FOR: Duration = Duration::from_secs(5);
/// The number of remembered credentials. A new credential overwrites the credential with the same
/// index.
const CAPACITY: usize = 1_024;

pub(super) struct UnknownCredentials(Mutex<Vec<Option<(Hash, Instant)>>>);

impl Default for UnknownCredentials {
    fn default() -> Self {
        Self(Mutex::new(vec![None; CAPACITY]))
    }
}

impl UnknownCredentials {
    pub(super) fn contains(&self, key: &Hash, now: Instant) -> bool {
        let found = self.0.lock()[index_of(key)];
        found.is_some_and(|(known, until)| known == *key && now < until)
    }

    pub(super) fn insert(&self, key: Hash, now: Instant) {
        self.0.lock()[index_of(&key)] = Some((key, now + REMEMBER_FOR));
    }
}

/// The index of a key. Keys are SHA-256 hashes, so any of their bytes are evenly distributed.
fn index_of(key: &Hash) -> usize {
    usize::from(u16::from_be_bytes([key[0], key[1]])) % CAPACITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_credential_is_remembered_for_a_while() {
        let unknown = UnknownCredentials::default();
        let (one, other, now) = ([1; 32], [2; 32], Instant::now());
        unknown.insert(one, now);
        assert!(unknown.contains(&one, now));
        assert!(!unknown.contains(&other, now));
        assert!(!unknown.contains(&one, now + REMEMBER_FOR));
    }
}
