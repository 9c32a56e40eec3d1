//! Who runs next: every owner gets a turn, however many scripts one of them has. The rule is
//! [`svc_core::fair`], as for deliveries.
//!
//! Tools wait here for their turn. What waits in a lane does not: its lane stands in the line by
//! name and is woken when there is a place, so that no delivery of anybody else is held up by
//! scripts that wait.

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

/// How long a place is kept for a lane that was woken. It comes within milliseconds, unless it is
/// gone or nobody has time to deliver from it.
const KEPT_FOR: Duration = Duration::from_secs(1);

/// Places for scripts that run at once. An owner never holds the last one beside their own, and
/// owners who wait take turns, so that somebody else's script finds a place after at most a few
/// runs.
pub struct Turns(Arc<Shared>);

/// A place, until it is dropped.
pub struct Turn {
    owner: UserId,
    shared: Arc<Shared>,
}

/// A delivery that needs a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    pub lane: LaneId,
    /// Its failed attempts, by which a wait between attempts is told from one for a place.
    pub failures: u32,
}

struct Shared {
    /// Called when a place is kept for a lane.
    wake: Box<dyn Fn(Waiting) + Send + Sync>,
    state: Mutex<State>,
}

struct State {
    /// Places that are held or kept, and owners with a line.
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
    /// `wake` is called, soon and outside of any lock, for each lane that found no place at first.
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

    /// Waits for a place.
    pub async fn take(&self, owner: UserId) -> Turn {
        let (granted, mut turn) = oneshot::channel();
        self.0
            .change(|state| state.join(owner, Waiter::Task(granted)));
        loop {
            match timeout(KEPT_FOR, &mut turn).await {
                Ok(turn) => return turn.expect("who stands in a line gets their turn"),
                // A place may be kept for a lane that never comes.
                Err(_) => self.0.change(State::end_kept),
            }
        }
    }

    /// A place if there is one. If not, the lane stands in line: it is woken when a place is kept
    /// for it, and asks again.
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
    /// Changes something, and gives the places that are free by that.
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
                // Whoever has just stopped waiting drops the turn, which gives the place back.
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

    /// Gives what is free to those in line: one to each owner, in turn.
    fn give_places(&mut self) -> Vec<(UserId, Waiter)> {
        let mut granted = Vec::new();
        while let Some(owner) = self.slots.take_next() {
            let line = self.lines.entry(owner).or_default();
            let waiter = loop {
                match line.pop_front() {
                    // They stopped waiting.
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

    /// Frees places that were kept for lanes that did not come.
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
