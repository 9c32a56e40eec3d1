//! Which connection to close when the server is full.

use std::{
    cmp::Reverse,
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Weak},
};

use super::{Order, Slot, State};

/// A connection with an anonymous request in progress is not closed before this age.
const ANONYMOUS_MS: u64 = 5_000;
/// [`ANONYMOUS_MS`] does not protect the connections of an address that has more anonymous
/// connections than this.
const ANONYMOUS_PER_ADDRESS: usize = 64;
/// An authenticated connection may be closed after this much idle time; before that, its client may
/// be about to send the next request.
const IDLE_MS: u64 = 1_000;
/// A scan keeps at most one candidate for every `CANDIDATES_PART` connections, but this limit is at
/// least `CANDIDATES_MIN`.
const CANDIDATES_MIN: usize = 16;
const CANDIDATES_PART: usize = 8;

/// Why a connection may be closed. Connections of the class that is listed first are closed first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Class {
    /// No complete request head arrived yet.
    Silent,
    /// No valid credential was presented.
    Anonymous,
    Idle,
}

/// A connection that could be closed at the time of the last scan.
pub(super) struct Candidate {
    class: Class,
    /// Number of anonymous connections of the same client address. 0 if the class is `Idle`.
    anonymous_of_client: usize,
    slot: Weak<Slot>,
}

impl State {
    /// Closes one connection; false if none may be closed.
    pub(super) fn close_one(&mut self, now: u64) -> bool {
        if self.close_candidate(now) {
            return true;
        }
        self.find_candidates(now);
        self.close_candidate(now)
    }

    fn close_candidate(&mut self, now: u64) -> bool {
        while let Some(candidate) = self.candidates.pop_front() {
            let Some(slot) = candidate.slot.upgrade() else {
                continue;
            };
            // The client may have sent a request or presented a credential since the scan.
            let class = class(&slot, now, candidate.anonymous_of_client);
            if slot.order() != Order::Close && class == Some(candidate.class) {
                slot.give(Order::Close);
                return true;
            }
        }
        false
    }

    /// Finds the connections that may be closed, and sorts them by their class. Within a class,
    /// silent and anonymous connections are sorted by the number of anonymous connections of their
    /// address, largest first, then by age, oldest first. Idle connections are sorted by idle time,
    /// longest first.
    fn find_candidates(&mut self, now: u64) {
        let mut anonymous: HashMap<IpAddr, usize> = HashMap::new();
        for (_, slot) in &self.open {
            if !slot.is_authenticated() {
                *anonymous.entry(slot.client()).or_default() += 1;
            }
        }
        let of_client = |slot: &Slot| anonymous.get(&slot.client()).copied().unwrap_or(0);
        let mut found: Vec<_> = self
            .open
            .iter()
            .filter(|(_, slot)| slot.order() != Order::Close)
            .filter_map(|(_, slot)| {
                let of_client = of_client(slot);
                let class = class(slot, now, of_client)?;
                let (count, age) = match class {
                    Class::Idle => (0, slot.idle_for(now).unwrap_or(0)),
                    _ => (of_client, now.saturating_sub(slot.accepted_at())),
                };
                Some(((class, Reverse(count), Reverse(age)), slot))
            })
            .collect();
        found.sort_by_key(|(key, _)| *key);
        let most = (self.open.len() / CANDIDATES_PART).max(CANDIDATES_MIN);
        self.candidates = found
            .into_iter()
            .take(most)
            .map(|((class, Reverse(count), _), slot)| Candidate {
                class,
                anonymous_of_client: count,
                slot: Arc::downgrade(slot),
            })
            .collect();
    }
}

/// The class of a connection; `None` if the connection must stay open.
fn class(slot: &Slot, now: u64, anonymous_of_client: usize) -> Option<Class> {
    if slot.is_link() {
        return None;
    }
    if !slot.has_head() {
        return Some(Class::Silent);
    }
    let idle = slot.idle_for(now);
    if !slot.is_authenticated() {
        let is_old = now.saturating_sub(slot.accepted_at()) >= ANONYMOUS_MS;
        let may_close = idle.is_some() || is_old || anonymous_of_client > ANONYMOUS_PER_ADDRESS;
        return may_close.then_some(Class::Anonymous);
    }
    idle.is_some_and(|idle| idle >= IDLE_MS)
        .then_some(Class::Idle)
}
