//! Decides which traces are recorded, and draws ids.

use std::{
    hash::{DefaultHasher, Hasher},
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use svc_core::{TraceContext, UserId};
use uuid::Uuid;

use crate::limits::RateLimit;

pub(super) struct Sampler {
    /// Hashes trace ids. Callers choose trace ids but do not know the key, so they cannot choose an
    /// id that is recorded.
    hasher: DefaultHasher,
    /// A trace is recorded if its hash is less than this number. `None` records every trace.
    below: Option<u64>,
    /// Limits the calls, emits and attempts of each user that are recorded only because the sender
    /// records the trace. `None`: none are recorded for this reason.
    parents: Option<RateLimit>,
}

impl Sampler {
    pub(super) fn new(key: &[u8; 32], share: f64, parents_per_second: u32) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(key);
        Self {
            hasher,
            // The conversion saturates.
            below: (share < 1.0).then_some((share * u64::MAX as f64) as u64),
            parents: (parents_per_second > 0).then(|| RateLimit::new(Some(parents_per_second))),
        }
    }

    /// Whether the hash of the trace is in the share that is recorded.
    pub(super) fn chooses(&self, trace: u128) -> bool {
        let Some(below) = self.below else { return true };
        let mut hasher = self.hasher.clone();
        hasher.write_u128(trace);
        hasher.finish() < below
    }

    /// Whether to record work of a trace that a sender began: only if the sender records it too. If
    /// [`chooses`](Self::chooses) is false for the trace, the limit of the user decides.
    pub(super) fn follows(&self, user: UserId, parent: &TraceContext) -> bool {
        parent.is_sampled()
            && (self.chooses(parent.trace)
                || self.parents.as_ref().is_some_and(|parents| {
                    let taken = parents.take(user, 1, Instant::now());
                    taken.is_ok()
                }))
    }
}

/// Draws ids of traces and spans. 64 bits cost one atomic addition.
pub(super) struct Ids(AtomicU64);

/// The step of SplitMix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Ids {
    pub(super) fn random() -> Self {
        // The last 62 bits of a UUIDv7 are random. The first 48 bits are the time.
        let (high, low) = Uuid::now_v7().as_u64_pair();
        Self(AtomicU64::new(high.rotate_left(32) ^ low))
    }

    pub(super) fn trace(&self) -> u128 {
        u128::from(self.span()) << 64 | u128::from(self.span())
    }

    /// Never 0, because 0 is not a valid id.
    pub(super) fn span(&self) -> u64 {
        let state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31).max(1)
    }
}
