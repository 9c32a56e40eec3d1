//! Fair division of a fixed number of slots between owners.
//!
//! There are two rules. An owner that holds no slot may take any free slot. An owner that holds
//! slots may take another slot under two conditions: the owner holds less than its [`Share`] of the
//! free slots, and more slots are free than are reserved. So an owner may take fewer slots when
//! more slots are in use, and only owners without a slot get reserved slots.
//!
//! With [`Share::QUARTER`] a single owner gets at most a quarter of all slots, rounded up.
//! All slots are in use only if the number of owners is more than a quarter of the number of slots.
//! Waiting owners take turns (round robin).

use std::{
    collections::{HashMap, HashSet, VecDeque},
    hash::Hash,
};

/// How many slots an owner may hold, in relation to the slots that are free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    held: usize,
    free: usize,
    /// One slot in this many is reserved for owners that hold none; 0 reserves no slot.
    reserve_one_in: usize,
    /// The maximum number of slots that an owner may hold, however many are free.
    held_max: usize,
}

impl Share {
    /// One held slot for three free ones: a single owner gets a quarter of all slots. The last
    /// quarter is reserved for owners that hold none.
    pub const QUARTER: Self = Self {
        held: 1,
        free: 3,
        reserve_one_in: 4,
        held_max: usize::MAX,
    };

    /// A single owner gets all slots except one. If there is only one slot, the owner gets it. For
    /// a small number of slots.
    pub fn all_but_one(capacity: usize) -> Self {
        Self {
            held: capacity.saturating_sub(1),
            free: 1,
            reserve_one_in: 0,
            held_max: usize::MAX,
        }
    }

    /// An owner gets at most this many slots. No slot is reserved.
    pub fn at_most(held_max: usize) -> Self {
        Self {
            held: 1,
            free: 0,
            reserve_one_in: 0,
            held_max,
        }
    }
}

/// Slots, the owners that hold them, and the owners that wait for one.
#[derive(Clone, Debug)]
pub struct FairSlots<K> {
    share: Share,
    /// Number of slots that are reserved for owners that hold none.
    reserved: usize,
    free: usize,
    held: HashMap<K, usize>,
    /// Waiting owners, each at most once; the first has waited longest.
    line: VecDeque<K>,
    in_line: HashSet<K>,
}

impl<K: Clone + Eq + Hash> FairSlots<K> {
    pub fn new(capacity: usize, share: Share) -> Self {
        Self {
            share,
            reserved: capacity.checked_div(share.reserve_one_in).unwrap_or(0),
            free: capacity,
            held: HashMap::new(),
            line: VecDeque::new(),
            in_line: HashSet::new(),
        }
    }

    pub fn free(&self) -> usize {
        self.free
    }

    /// The number of slots that an owner holds.
    pub fn held(&self, owner: &K) -> usize {
        self.held.get(owner).copied().unwrap_or(0)
    }

    /// Whether the rules give this owner a slot now.
    pub fn may_take(&self, owner: &K) -> bool {
        let held = self.held(owner);
        let below_share = || {
            held < self.share.held_max
                && held.saturating_mul(self.share.free) < self.free.saturating_mul(self.share.held)
        };
        self.free > 0 && (held == 0 || (self.free > self.reserved && below_share()))
    }

    /// Adds an owner to the end of the line, unless it already waits.
    pub fn wait(&mut self, owner: K) {
        if self.in_line.insert(owner.clone()) {
            self.line.push_back(owner);
        }
    }

    pub fn is_waiting(&self, owner: &K) -> bool {
        self.in_line.contains(owner)
    }

    pub fn has_waiting(&self) -> bool {
        !self.line.is_empty()
    }

    /// Whether [`take_next`](Self::take_next) would give a slot.
    pub fn has_next(&self) -> bool {
        self.line.iter().any(|owner| self.may_take(owner))
    }

    /// Removes an owner from the line.
    pub fn stop_waiting(&mut self, owner: &K) {
        if self.in_line.remove(owner) {
            self.line.retain(|waiting| waiting != owner);
        }
    }

    /// Gives a slot to the first owner in the line that may take one. The owner leaves the line. If
    /// the owner has more work, the caller adds it again with [`wait`](Self::wait).
    pub fn take_next(&mut self) -> Option<K> {
        if self.free == 0 {
            return None;
        }
        let first = self.line.iter().position(|owner| self.may_take(owner))?;
        let owner = self.line.remove(first)?;
        self.in_line.remove(&owner);
        self.free -= 1;
        *self.held.entry(owner.clone()).or_default() += 1;
        Some(owner)
    }

    /// Returns a slot of an owner. Does nothing if the owner holds none.
    pub fn release(&mut self, owner: &K) {
        let Some(held) = self.held.get_mut(owner) else {
            return;
        };
        *held -= 1;
        if *held == 0 {
            self.held.remove(owner);
        }
        self.free += 1;
    }

    /// Whether no slot is held and no owner waits.
    pub fn is_idle(&self) -> bool {
        self.held.is_empty() && self.line.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes slots for one owner until its share is used up.
    fn fill(slots: &mut FairSlots<u32>, owner: u32) -> usize {
        let mut taken = 0;
        loop {
            slots.wait(owner);
            match slots.take_next() {
                Some(next) => assert_eq!(next, owner),
                None => break,
            }
            taken += 1;
        }
        slots.stop_waiting(&owner);
        taken
    }

    #[test]
    fn one_owner_gets_its_share() {
        for (capacity, share, expected) in [
            (1, Share::QUARTER, 1),
            (2, Share::QUARTER, 1),
            (4, Share::QUARTER, 1),
            (8, Share::QUARTER, 2),
            (256, Share::QUARTER, 64),
            (1_024, Share::QUARTER, 256),
            (1, Share::all_but_one(1), 1),
            (2, Share::all_but_one(2), 1),
            (4, Share::all_but_one(4), 3),
            (16, Share::all_but_one(16), 15),
            (4, Share::at_most(3), 3),
            (4, Share::at_most(1), 1),
        ] {
            let mut slots = FairSlots::new(capacity, share);
            assert_eq!(fill(&mut slots, 1), expected, "{capacity} {share:?}");
            if capacity > 1 {
                assert!(slots.may_take(&2), "{capacity} {share:?}");
            }
        }
    }

    /// Even if every owner takes as many slots as it may, more than 16 owners are needed to occupy
    /// 64 slots.
    #[test]
    fn a_few_owners_cannot_occupy_all_slots() {
        let mut slots = FairSlots::new(64, Share::QUARTER);
        let mut owners = 0;
        while slots.free() > 0 {
            assert!(slots.may_take(&owners), "owner {owners} holds nothing");
            fill(&mut slots, owners);
            owners += 1;
        }
        assert!(owners > 16, "{owners} owners occupied all slots");
    }

    #[test]
    fn owners_take_turns() {
        let mut slots = FairSlots::new(100, Share::QUARTER);
        for owner in [1, 2, 3] {
            slots.wait(owner);
        }
        let mut order = Vec::new();
        for _ in 0..6 {
            let owner = slots.take_next().expect("a free slot");
            slots.wait(owner);
            order.push(owner);
        }
        assert_eq!(order, [1, 2, 3, 1, 2, 3]);
    }

    #[test]
    fn an_owner_that_used_up_its_share_does_not_block_the_owners_behind_it() {
        let mut slots = FairSlots::new(4, Share::QUARTER);
        fill(&mut slots, 1);
        slots.wait(1);
        slots.wait(2);
        assert_eq!(slots.take_next(), Some(2));
        assert_eq!(slots.take_next(), None);
        assert!(slots.is_waiting(&1));
        slots.release(&1);
        assert_eq!(slots.take_next(), Some(1));
        slots.release(&1);
        slots.release(&2);
        assert!(slots.is_idle());
        assert_eq!(slots.free(), 4);
    }

    #[test]
    fn releasing_a_slot_that_is_not_held_changes_nothing() {
        let mut slots = FairSlots::new(2, Share::QUARTER);
        slots.release(&1);
        assert_eq!(slots.free(), 2);
    }

    #[test]
    fn no_owner_may_take_a_slot_if_none_is_free() {
        let mut slots = FairSlots::new(2, Share::at_most(2));
        fill(&mut slots, 1);
        assert_eq!((slots.free(), slots.held(&1)), (0, 2));
        assert!(!slots.may_take(&1) && !slots.may_take(&2));
        slots.wait(2);
        assert!(!slots.has_next());
        assert_eq!(slots.take_next(), None);
    }

    #[test]
    fn reserved_slots_are_only_for_owners_without_a_slot() {
        let mut slots = FairSlots::new(16, Share::QUARTER);
        for owner in 0..12 {
            slots.wait(owner);
            assert_eq!(slots.take_next(), Some(owner));
        }
        assert_eq!(slots.free(), 4);
        assert!(!slots.may_take(&0) && slots.may_take(&12));
        slots.release(&11);
        assert!(slots.may_take(&0));
    }

    #[test]
    fn an_owner_waits_until_it_gets_a_slot_or_stops_waiting() {
        let mut slots = FairSlots::new(1, Share::QUARTER);
        assert!(!slots.has_waiting() && !slots.has_next() && !slots.is_waiting(&1));
        for owner in [1, 2, 3] {
            slots.wait(owner);
        }
        assert!(slots.has_waiting() && slots.has_next() && slots.is_waiting(&2));
        slots.stop_waiting(&2);
        assert!(slots.is_waiting(&1) && !slots.is_waiting(&2) && slots.is_waiting(&3));
        assert_eq!(slots.take_next(), Some(1));
        assert!(!slots.is_waiting(&1) && slots.has_waiting() && !slots.has_next());
        slots.release(&1);
        assert_eq!(slots.take_next(), Some(3));
        assert!(!slots.has_waiting());
    }

    #[test]
    fn slots_are_idle_only_without_holders_and_without_waiting_owners() {
        let mut slots = FairSlots::new(1, Share::QUARTER);
        assert!(slots.is_idle());
        slots.wait(1);
        assert!(!slots.is_idle());
        assert_eq!(slots.take_next(), Some(1));
        assert!(!slots.is_idle());
        slots.release(&1);
        assert!(slots.is_idle());
    }
}
