//! Slots for running scripts, shared fairly by owners. The rule is [`svc_core::fair`], as for
//! deliveries.
//!
//! A tool waits here for a slot. A delivery of a lane does not wait: the lane is queued and is woken
//! when a slot is reserved for it. So waiting scripts do not hold up other deliveries.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use svc_core::{
    LaneId, UserId,
    fair::{FairSlots, Share},
};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

/// How long a slot is reserved for a woken lane. The lane claims it within milliseconds, unless the
/// lane was deleted or no delivery slot is free.
const KEPT_FOR: Duration = Duration::from_secs(1);

/// The slots of scripts that run at the same time. No owner may occupy every slot, and waiting
/// owners take turns, so that an owner waits for at most a few runs of others.
pub struct Turns(Arc<Shared>);

/// One slot; released when dropped.
pub struct Turn {
    owner: UserId,
    shared: Arc<Shared>,
}

/// A delivery that needs a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    pub lane: LaneId,
    /// Failed attempts; distinguishes retry back-off from waiting for a slot.
    pub failures: u32,
}

struct Shared {
    /// Called when a slot is reserved for a lane.
    wake: Box<dyn Fn(Waiting) + Send + Sync>,
    state: Mutex<State>,
}

struct State {
    /// Occupied and reserved slots, and owners that wait.
    slots: FairSlots<UserId>,
    lines: HashMap<UserId, VecDeque<Waiter>>,
    in_line: HashSet<LaneId>,
    kept: HashMap<LaneId, Kept>,
}

enum Waiter {
    Task(oneshot::Sender<Turn>),
    Lane(Waiting),
}

struct Kept {
    owner: UserId,
    until: Instant,
}

impl Turns {
    /// `wake` is called for each queued lane when a slot is reserved for it, without a lock held.
    pub fn new(places: usize, wake: impl Fn(Waiting) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared {
            wake: Box::new(wake),
            state: Mutex::new(State {
                slots: FairSlots::new(places, Share::all_but_one(places)),
                lines: HashMap::new(),
                in_line: HashSet::new(),
                kept: HashMap::new(),
            }),
        }))
    }

    /// Waits for a slot.
    pub async fn take(&self, owner: UserId) -> Turn {
        let (granted, mut turn) = oneshot::channel();
        self.0
            .change(|state| state.join(owner, Waiter::Task(granted)));
        loop {
            match timeout(KEPT_FOR, &mut turn).await {
                Ok(turn) => return turn.expect("who stands in a line gets their turn"),
                // A reservation may belong to a lane that never claims it.
                Err(_) => self.0.change(State::end_kept),
            }
        }
    }

    /// Returns a slot if one is free. Otherwise queues the lane: it is woken when a slot is reserved
    /// for it, and calls this again.
    pub fn enter(&self, owner: UserId, waiting: Waiting) -> Option<Turn> {
        let lane = waiting.lane;
        let (kept, granted) = {
            let mut state = self.0.state.lock();
            state.end_kept();
            if !state.kept.contains_key(&lane) && state.in_line.insert(lane) {
                state.join(owner, Waiter::Lane(waiting));
            }
            let granted = state.give_places();
            (state.kept.remove(&lane), granted)
        };
        let others = granted.into_iter();
        self.0.tell(others.filter(|(_, waiter)| !waiter.is(lane)));
        kept.map(|Kept { owner, .. }| self.0.turn(owner))
    }
}

impl Shared {
    /// Applies a change and assigns the slots that it freed.
    fn change(self: &Arc<Self>, change: impl FnOnce(&mut State)) {
        let granted = {
            let mut state = self.state.lock();
            change(&mut state);
            state.give_places()
        };
        self.tell(granted.into_iter());
    }

    fn tell(self: &Arc<Self>, granted: impl Iterator<Item = (UserId, Waiter)>) {
        for (owner, waiter) in granted {
            match waiter {
                // If the receiver is gone, the slot is dropped and thereby released.
                Waiter::Task(granted) => drop(granted.send(self.turn(owner))),
                Waiter::Lane(waiting) => (self.wake)(waiting),
            }
        }
    }

    fn turn(self: &Arc<Self>, owner: UserId) -> Turn {
        let shared = self.clone();
        Turn { owner, shared }
    }
}

impl State {
    fn join(&mut self, owner: UserId, waiter: Waiter) {
        self.lines.entry(owner).or_default().push_back(waiter);
        self.slots.wait(owner);
    }

    /// Assigns free slots to waiting owners in turn, one each. Returns the new holders.
    fn give_places(&mut self) -> Vec<(UserId, Waiter)> {
        let mut granted = Vec::new();
        while let Some(owner) = self.slots.take_next() {
            let line = self.lines.entry(owner).or_default();
            let waiter = loop {
                match line.pop_front() {
                    // The task stopped waiting.
                    Some(Waiter::Task(gone)) if gone.is_closed() => {}
                    waiter => break waiter,
                }
            };
            if line.is_empty() {
                self.lines.remove(&owner);
            } else {
                self.slots.wait(owner);
            }
            let Some(waiter) = waiter else {
                self.slots.release(&owner);
                continue;
            };
            if let Waiter::Lane(Waiting { lane, .. }) = waiter {
                self.in_line.remove(&lane);
                let until = Instant::now() + KEPT_FOR;
                self.kept.insert(lane, Kept { owner, until });
            }
            granted.push((owner, waiter));
        }
        granted
    }

    /// Releases expired reservations.
    fn end_kept(&mut self) {
        let now = Instant::now();
        let ended: Vec<_> = self
            .kept
            .extract_if(|_, kept| kept.until <= now)
            .map(|(_, kept)| kept.owner)
            .collect();
        for owner in &ended {
            self.slots.release(owner);
        }
    }
}

impl Waiter {
    fn is(&self, lane: LaneId) -> bool {
        matches!(self, Self::Lane(waiting) if waiting.lane == lane)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.shared.change(|state| state.slots.release(&self.owner));
    }
}

#[cfg(test)]
mod tests;
