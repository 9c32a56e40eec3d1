//! [`Schedule`]: which owner's lanes get the next delivery slots. Decisions only, no IO: the engine
//! reports what is due and what ended, and claims what [`plan`](Schedule::plan) grants.
//!
//! Webhooks, scripts and methods have separate slots, because they differ in how long one attempt
//! may take. Within a kind owners share the slots by the rules of [`svc_core::fair`]. The owner of a
//! lane is its `owner_key`: all global sinks together are one owner, the server itself, so that
//! they neither use up the slots of the user that created them nor those of anybody else.
//!
//! An owner is in one of three states for each kind: *in line* (something may be due), *timed*
//! (nothing is due before a known moment), or unknown to the schedule. An owner in line that may
//! not take a slot costs nothing until one of its deliveries ends.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use svc_core::fair::{FairSlots, Share};
use svc_store::lanes::DeliveryKind;
use tokio::time::Instant;

/// The `owner_key` of a lane.
pub(super) type OwnerKey = Arc<str>;

/// Slots one plan may grant for each kind, so that the transaction that claims stays short.
const GRANTS_MAX: usize = 64;

/// Time between two returns of paused lanes of one owner: in the long run at most 100 a second are
/// tried again, however many lanes the owner has.
const PAUSE_SPACING: Duration = Duration::from_millis(10);
/// How many may return sooner: those of one second.
const PAUSE_BURST: Duration = Duration::from_secs(1);

/// Deliveries that run at the same time, for each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slots {
    pub webhook: usize,
    pub script: usize,
    pub method: usize,
}

impl Default for Slots {
    fn default() -> Self {
        Self {
            webhook: 512,
            script: 64,
            method: 1_024,
        }
    }
}

/// Slots that the engine may use to claim due lanes of one owner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Grant {
    pub(super) kind: DeliveryKind,
    pub(super) owner: OwnerKey,
    pub(super) slots: usize,
}

pub(super) struct Schedule {
    kinds: [Kind; 3],
    /// Until when the pauses of an owner so far would take, one after the other.
    pauses: HashMap<OwnerKey, Instant>,
}

struct Kind {
    slots: FairSlots<OwnerKey>,
    timed: HashMap<OwnerKey, Instant>,
    timers: BTreeSet<(Instant, OwnerKey)>,
    /// What was noted of owners in line since their last grant: the engine may have read the store
    /// before that.
    noted: HashMap<OwnerKey, Instant>,
}

impl Schedule {
    pub(super) fn new(slots: Slots) -> Self {
        let kind = |capacity: usize| Kind {
            slots: FairSlots::new(capacity.max(1), Share::QUARTER),
            timed: HashMap::new(),
            timers: BTreeSet::new(),
            noted: HashMap::new(),
        };
        Self {
            kinds: [kind(slots.webhook), kind(slots.script), kind(slots.method)],
            pauses: HashMap::new(),
        }
    }

    /// Something of this owner may be due from this moment on.
    pub(super) fn note_due(&mut self, kind: DeliveryKind, owner: &OwnerKey, at: Instant) {
        self.kind(kind).note_due(owner, at);
    }

    /// The slots to claim lanes for, one after the other for each owner in line.
    pub(super) fn plan(&mut self, now: Instant) -> Vec<Grant> {
        let mut grants = Vec::new();
        for kind in DeliveryKind::ALL {
            let granted = self.kind(kind).plan(now);
            grants.extend(
                granted
                    .into_iter()
                    .map(|(owner, slots)| Grant { kind, owner, slots }),
            );
        }
        grants
    }

    /// What became of a grant: how many of its slots are in use, and when something of the owner
    /// is due that was not claimed; `None` if nothing is.
    pub(super) fn settle(&mut self, grant: &Grant, used: usize, next: Option<Instant>) {
        let kind = self.kind(grant.kind);
        for _ in used..grant.slots {
            kind.slots.release(&grant.owner);
        }
        kind.slots.stop_waiting(&grant.owner);
        let noted = kind.noted.remove(&grant.owner);
        for at in next.into_iter().chain(noted) {
            kind.note_due(&grant.owner, at);
        }
    }

    /// A delivery has ended, and its lane is released.
    pub(super) fn end(&mut self, kind: DeliveryKind, owner: &OwnerKey, now: Instant) {
        let kind = self.kind(kind);
        kind.slots.release(owner);
        kind.note_due(owner, now);
    }

    /// Whether owners, or other lanes of the same owner, wait for a slot of this kind.
    pub(super) fn has_waiting(&self, kind: DeliveryKind) -> bool {
        self.kinds[kind.index()].slots.has_waiting()
    }

    /// How long until [`plan`](Self::plan) may grant something; `None` if only the end of a delivery
    /// or a new event changes that.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        let waits = self.kinds.iter().filter_map(|kind| kind.wait(now));
        waits.min()
    }

    /// How long a paused lane of this owner rests: `base`, or longer if many lanes of the owner
    /// pause, so that they do not keep the engine busy.
    pub(super) fn rest(&mut self, owner: &OwnerKey, base: Duration, now: Instant) -> Duration {
        self.pauses.retain(|_, until| *until > now);
        let until = self.pauses.entry(owner.clone()).or_insert(now);
        *until += PAUSE_SPACING;
        base + (*until - now).saturating_sub(PAUSE_BURST)
    }

    fn kind(&mut self, kind: DeliveryKind) -> &mut Kind {
        &mut self.kinds[kind.index()]
    }
}

impl Kind {
    fn note_due(&mut self, owner: &OwnerKey, at: Instant) {
        if self.slots.is_waiting(owner) {
            let noted = self.noted.entry(owner.clone()).or_insert(at);
            *noted = at.min(*noted);
            return;
        }
        let known = self.timed.get(owner).copied();
        if known.is_some_and(|known| known <= at) {
            return;
        }
        if let Some(later) = self.timed.insert(owner.clone(), at) {
            self.timers.remove(&(later, owner.clone()));
        }
        self.timers.insert((at, owner.clone()));
    }

    fn plan(&mut self, now: Instant) -> Vec<(OwnerKey, usize)> {
        while self.timers.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, owner)) = self.timers.pop_first() else {
                break;
            };
            self.timed.remove(&owner);
            self.slots.wait(owner);
        }
        let mut granted: Vec<(OwnerKey, usize)> = Vec::new();
        let mut places: HashMap<OwnerKey, usize> = HashMap::new();
        for _ in 0..GRANTS_MAX {
            let Some(owner) = self.slots.take_next() else {
                break;
            };
            self.noted.remove(&owner);
            // It may have more that is due; `settle` tells.
            self.slots.wait(owner.clone());
            let place = *places.entry(owner.clone()).or_insert(granted.len());
            match granted.get_mut(place) {
                Some((_, slots)) => *slots += 1,
                None => granted.push((owner, 1)),
            }
        }
        granted
    }

    fn wait(&self, now: Instant) -> Option<Duration> {
        if self.slots.has_next() {
            return Some(Duration::ZERO);
        }
        let (at, _) = self.timers.first()?;
        Some(at.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests;
