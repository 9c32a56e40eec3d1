//! Slots for running scripts, shared fairly by owners. The rule is [`svc_core::fair`], as for
//! deliveries.
//!
//! A tool waits here for a slot. A delivery of a lane does not wait: the lane is queued, and it is
//! woken when a slot is reserved for it. So waiting scripts do not hold up other deliveries.

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
const RESERVED_FOR: Duration = Duration::from_secs(1);

/// The slots of scripts that run at the same time. No owner may occupy every slot, unless there is
/// only one. Waiting owners take turns, so that an owner waits for at most a few runs of others.
pub struct ScriptSlots(Arc<Shared>);

/// One slot; released when dropped.
pub struct ScriptSlot {
    owner: UserId,
    shared: Arc<Shared>,
}

/// A delivery that needs a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitingDelivery {
    pub lane: LaneId,
    /// Failed attempts of the delivery so far. After another failure, the lane waits for its next
    /// attempt, and a wake-up with the old number has no effect.
    pub failures: u32,
}

struct Shared {
    /// Called when a slot is reserved for a lane.
    wake: Box<dyn Fn(WaitingDelivery) + Send + Sync>,
    state: Mutex<State>,
}

struct State {
    /// Occupied and reserved slots, and owners that wait.
    slots: FairSlots<UserId>,
    queues: HashMap<UserId, VecDeque<Waiter>>,
    queued: HashSet<LaneId>,
    reserved: HashMap<LaneId, Reservation>,
}

enum Waiter {
    Task(oneshot::Sender<ScriptSlot>),
    Lane(WaitingDelivery),
}

struct Reservation {
    owner: UserId,
    until: Instant,
}

impl ScriptSlots {
    /// `wake` is called when a slot is reserved for a queued lane. No lock is held during the call.
    pub fn new(capacity: usize, wake: impl Fn(WaitingDelivery) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Shared {
            wake: Box::new(wake),
            state: Mutex::new(State {
                slots: FairSlots::new(capacity, Share::all_but_one(capacity)),
                queues: HashMap::new(),
                queued: HashSet::new(),
                reserved: HashMap::new(),
            }),
        }))
    }

    pub async fn take(&self, owner: UserId) -> ScriptSlot {
        let (granted, mut slot) = oneshot::channel();
        self.0
            .change(|state| state.enqueue(owner, Waiter::Task(granted)));
        loop {
            match timeout(RESERVED_FOR, &mut slot).await {
                Ok(slot) => return slot.expect("a queued task always gets a slot"),
                // A reservation may belong to a lane that never claims it.
                Err(_) => self.0.change(State::release_expired),
            }
        }
    }

    /// Returns a slot if a slot is free for this owner. Otherwise queues the lane: the lane is
    /// woken when a slot is reserved for it, and its worker then calls this function again.
    pub fn enter(&self, owner: UserId, waiting: WaitingDelivery) -> Option<ScriptSlot> {
        let lane = waiting.lane;
        let (reserved, granted) = {
            let mut state = self.0.state.lock();
            state.release_expired();
            if !state.reserved.contains_key(&lane) && state.queued.insert(lane) {
                state.enqueue(owner, Waiter::Lane(waiting));
            }
            let granted = state.assign_slots();
            (state.reserved.remove(&lane), granted)
        };
        let others = granted.into_iter();
        self.0.notify(others.filter(|(_, waiter)| !waiter.is(lane)));
        reserved.map(|Reservation { owner, .. }| self.0.slot(owner))
    }
}

impl Shared {
    /// Applies a change and assigns the slots that it freed.
    fn change(self: &Arc<Self>, change: impl FnOnce(&mut State)) {
        let granted = {
            let mut state = self.state.lock();
            change(&mut state);
            state.assign_slots()
        };
        self.notify(granted.into_iter());
    }

    fn notify(self: &Arc<Self>, granted: impl Iterator<Item = (UserId, Waiter)>) {
        for (owner, waiter) in granted {
            match waiter {
                // If the receiver no longer exists, the slot is dropped, which releases it.
                Waiter::Task(granted) => drop(granted.send(self.slot(owner))),
                Waiter::Lane(waiting) => (self.wake)(waiting),
            }
        }
    }

    fn slot(self: &Arc<Self>, owner: UserId) -> ScriptSlot {
        let shared = self.clone();
        ScriptSlot { owner, shared }
    }
}

impl State {
    fn enqueue(&mut self, owner: UserId, waiter: Waiter) {
        self.queues.entry(owner).or_default().push_back(waiter);
        self.slots.wait(owner);
    }

    /// Assigns the free slots to waiting owners, who take turns: one slot per turn. Returns the new
    /// holders.
    fn assign_slots(&mut self) -> Vec<(UserId, Waiter)> {
        let mut granted = Vec::new();
        while let Some(owner) = self.slots.take_next() {
            let queue = self.queues.entry(owner).or_default();
            let waiter = loop {
                match queue.pop_front() {
                    // The task stopped waiting.
                    Some(Waiter::Task(gone)) if gone.is_closed() => {}
                    waiter => break waiter,
                }
            };
            if queue.is_empty() {
                self.queues.remove(&owner);
            } else {
                self.slots.wait(owner);
            }
            let Some(waiter) = waiter else {
                self.slots.release(&owner);
                continue;
            };
            if let Waiter::Lane(WaitingDelivery { lane, .. }) = waiter {
                self.queued.remove(&lane);
                let until = Instant::now() + RESERVED_FOR;
                self.reserved.insert(lane, Reservation { owner, until });
            }
            granted.push((owner, waiter));
        }
        granted
    }

    fn release_expired(&mut self) {
        let now = Instant::now();
        let ended: Vec<_> = self
            .reserved
            .extract_if(|_, reserved| reserved.until <= now)
            .map(|(_, reserved)| reserved.owner)
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

impl Drop for ScriptSlot {
    fn drop(&mut self) {
        self.shared.change(|state| state.slots.release(&self.owner));
    }
}

#[cfg(test)]
mod tests;
