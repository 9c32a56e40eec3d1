//! Limits the searches for removable texts and events. A search is the most expensive part of an
//! emit, and a refused one changes nothing, so the next one would find as little.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use svc_core::UserId;

/// For this long after an emit of a user was refused because of `event_bytes`, further emits of the
/// user do not search.
const PAUSE: Duration = Duration::from_secs(1);
/// When this many refusals are remembered, the expired ones are removed.
const REFUSALS_MAX: usize = 1_000;

pub(super) struct Searches {
    pause: Duration,
    /// For each user, when a search last found too little.
    refused_at: Mutex<HashMap<UserId, Instant>>,
}

impl Default for Searches {
    fn default() -> Self {
        Self::new(PAUSE)
    }
}

impl Searches {
    pub(super) fn new(pause: Duration) -> Self {
        Self {
            pause,
            refused_at: Mutex::default(),
        }
    }

    /// Whether an emit of the user may search now. Asked by the transaction of the emit: many emits
    /// may have arrived before the first one was refused.
    pub(super) fn is_permitted(&self, user: UserId) -> bool {
        let mut refused_at = self.refused_at.lock();
        if refused_at.len() >= REFUSALS_MAX {
            refused_at.retain(|_, at| at.elapsed() < self.pause);
        }
        let at = refused_at.get(&user);
        at.is_none_or(|at| at.elapsed() >= self.pause)
    }

    pub(super) fn note_refusal(&self, user: UserId) {
        self.refused_at.lock().insert(user, Instant::now());
    }
}
