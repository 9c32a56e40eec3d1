//! [`Schedule`]: decides which owner's lanes get the next delivery slots. It does no IO: the engine
//! reports due lanes and ended deliveries, and claims lanes for the slots that
//! [`plan`](Schedule::plan) grants.
//!
//! Webhooks, scripts and methods have separate slots, because the duration of an attempt depends on
//! the kind. Within a kind, owners share the slots by the rules of [`svc_core::fair`]. The owner of
//! a lane is its `owner_key`: all global sinks together are one owner, so that they do not use the
//! slots of the users who created them.
//!
//! An owner is in one of three states for each kind: *in line* (lanes may be due now), *timed* (no
//! lane is due before a known time), or unknown to the schedule. An owner in line that may not take
//! a slot costs nothing until a slot is released.

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

/// One plan grants at most this many slots of each kind, so that the transaction that claims lanes
/// stays short.
const GRANTS_MAX: usize = 64;

/// Average time between two retries of paused lanes of one owner: at most 100 retries a second for
/// any number of lanes.
const PAUSE_SPACING: Duration = Duration::from_millis(10);
/// The burst: as many retries as fit into this time may happen at once.
const PAUSE_BURST: Duration = Duration::from_secs(1);

/// Limits of the deliveries that run at the same time, for each kind.
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
    kinds: [KindSchedule; 3],
    /// For each owner: when its pauses would end if they followed each other and each took
    /// [`PAUSE_SPACING`].
    pauses: HashMap<OwnerKey, Instant>,
}

struct KindSchedule {
    slots: FairSlots<OwnerKey>,
    timed: HashMap<OwnerKey, Instant>,
    timers: BTreeSet<(Instant, OwnerKey)>,
    /// For each owner in line, the earliest due time that was reported since the owner's last
    /// grant. It is applied when the grant is settled, because the engine may have read the store
    /// before the report.
    noted: HashMap<OwnerKey, Instant>,
}

impl Schedule {
    pub(super) fn new(slots: Slots) -> Self {
        let kind = |capacity: usize| KindSchedule {
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

    /// Reports that lanes of this owner may be due from this time on.
    pub(super) fn note_due(&mut self, kind: DeliveryKind, owner: &OwnerKey, at: Instant) {
        self.kind(kind).note_due(owner, at);
    }

    /// Grants free slots to the owners in line; the owners take turns.
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

    /// Ends a grant: `used` of its slots are in use, the others are released. `next` is the time
    /// when another lane of the owner, which was not claimed, is due; `None` if there is no such
    /// lane.
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

    /// Releases the slot of a worker that has ended.
    pub(super) fn end(&mut self, kind: DeliveryKind, owner: &OwnerKey, now: Instant) {
        let kind = self.kind(kind);
        kind.slots.release(owner);
        kind.note_due(owner, now);
    }

    /// Takes another slot for a lane that already has one. Returns `false` if the owner may not use
    /// another slot, or if any owner waits for one.
    pub(super) fn take_extra(&mut self, kind: DeliveryKind, owner: &OwnerKey) -> bool {
        let slots = &mut self.kind(kind).slots;
        if slots.has_waiting() || !slots.may_take(owner) {
            return false;
        }
        slots.wait(owner.clone());
        slots.take_next().is_some()
    }

    /// Releases a slot of [`take_extra`](Self::take_extra).
    pub(super) fn release_extra(&mut self, kind: DeliveryKind, owner: &OwnerKey) {
        self.kind(kind).slots.release(owner);
    }

    /// Whether any owner waits for a slot of this kind. An owner that has slots may wait for more.
    pub(super) fn has_waiting(&self, kind: DeliveryKind) -> bool {
        self.kinds[kind.index()].slots.has_waiting()
    }

    /// How long until [`plan`](Self::plan) may grant a slot; `None` if that requires a report or
    /// the end of a delivery.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        let waits = self.kinds.iter().filter_map(|kind| kind.wait(now));
        waits.min()
    }

    /// How long a paused lane of this owner waits: `base`, or longer if many lanes of the owner are
    /// paused, so that their retries do not keep the engine busy.
    pub(super) fn pause_time(
        &mut self,
        owner: &OwnerKey,
        base: Duration,
        now: Instant,
    ) -> Duration {
        self.pauses.retain(|_, until| *until > now);
        let until = self.pauses.entry(owner.clone()).or_insert(now);
        *until += PAUSE_SPACING;
        base + (*until - now).saturating_sub(PAUSE_BURST)
    }

    fn kind(&mut self, kind: DeliveryKind) -> &mut KindSchedule {
        &mut self.kinds[kind.index()]
    }
}

impl KindSchedule {
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
        let mut indices: HashMap<OwnerKey, usize> = HashMap::new();
        for _ in 0..GRANTS_MAX {
            let Some(owner) = self.slots.take_next() else {
                break;
            };
            self.noted.remove(&owner);
            // The owner may have more due lanes; `settle` decides.
            self.slots.wait(owner.clone());
            let index = *indices.entry(owner.clone()).or_insert(granted.len());
            match granted.get_mut(index) {
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
