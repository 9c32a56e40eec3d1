//! [`Hub`]: told of every commit that made an event or queued something.
//!
//! It wakes the engine, feeds streams and counts. All of it is a hint: an event that the hub never
//! hears of is delivered all the same, because the engine looks by itself.

mod feed;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use svc_core::{EventId, LaneId, Timestamp, UserId, event::Event};
use svc_protocol::api::EventRecord;
use tokio::sync::Notify;

use self::feed::Feed;
pub use self::feed::{Missed, Reader};
use crate::metrics::EventCounters;

/// An event as streams carry it: written out, because a payload in memory can take thirty times
/// its JSON, and a reader that does not read makes the buffer keep it.
#[derive(Clone, PartialEq, Debug)]
pub struct Streamed {
    pub id: EventId,
    pub r#type: String,
    pub owner_id: UserId,
    /// The event's record as JSON.
    pub record: String,
}

impl From<&Event> for Streamed {
    fn from(event: &Event) -> Self {
        let record = EventRecord::from(event.clone());
        Self {
            id: event.id,
            r#type: event.r#type.clone(),
            owner_id: event.owner_id,
            record: serde_json::to_string(&record).expect("an event is always JSON"),
        }
    }
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Hub(Arc<Shared>);

struct Shared {
    wake: Notify,
    wakes: Mutex<Wakes>,
    /// What streams read, by the owner of the events; `None` has everybody's.
    feeds: Mutex<HashMap<Option<UserId>, Weak<Feed>>>,
    /// Events that streams were shown, or that are older than they are, and since when that is
    /// known; kept while somebody looks for those of other servers, who finds our own as well.
    shown: Mutex<Option<HashMap<EventId, Timestamp>>>,
    counters: EventCounters,
}

/// What the engine is to look at.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    /// Lanes that need not wait any longer.
    pub(super) lanes: Vec<Woken>,
    /// Owners of events that were committed here.
    pub(super) owners: HashSet<UserId>,
    /// Something else may be due: lanes of any owner.
    pub(super) all: bool,
}

/// A lane that need not wait any longer, if what is at its head has failed this often and not
/// once more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Woken {
    pub(super) lane: LaneId,
    pub(super) failures: u32,
}

impl Hub {
    pub fn new() -> Self {
        Self(Arc::new(Shared {
            wake: Notify::new(),
            wakes: Mutex::default(),
            feeds: Mutex::default(),
            shown: Mutex::default(),
            counters: EventCounters::default(),
        }))
    }

    /// These events are durable: streams see them, and the engine looks for what they queued.
    pub fn committed(&self, events: &[Arc<Event>]) {
        if events.is_empty() {
            return;
        }
        EventCounters::add(&self.0.counters.emitted, events.len());
        if self.has_streams() {
            events.iter().for_each(|event| self.show(event));
        }
        let owners = events.iter().map(|event| event.owner_id);
        self.0.wakes.lock().owners.extend(owners);
        self.0.wake.notify_one();
    }

    /// Whether anybody listens to events.
    pub fn has_streams(&self) -> bool {
        let feeds = self.0.feeds.lock();
        feeds.values().any(|feed| feed.strong_count() > 0)
    }

    /// Shows an event to the streams, unless it has been shown.
    pub fn show(&self, event: &Event) {
        if let Some(shown) = &mut *self.0.shown.lock()
            && shown.insert(event.id, svc_clock::now()).is_some()
        {
            return;
        }
        let feeds: Vec<_> = {
            let mut feeds = self.0.feeds.lock();
            let mut find = |owner: Option<UserId>| {
                let feed = feeds.get(&owner)?.upgrade();
                if feed.is_none() {
                    feeds.remove(&owner);
                }
                feed
            };
            [find(Some(event.owner_id)), find(None)]
                .into_iter()
                .flatten()
                .collect()
        };
        if feeds.is_empty() {
            return;
        }
        let streamed = Arc::new(Streamed::from(event));
        feeds
            .iter()
            .for_each(|feed| feed.put(Arc::clone(&streamed)));
    }

    /// Those of the zone's newest events that have not been shown. The first time, all of them are
    /// older than the streams. What was shown before `forget` is not among the newest any more.
    pub fn not_shown(&self, newest: Vec<EventId>, forget: Timestamp) -> Vec<EventId> {
        let mut kept = self.0.shown.lock();
        let Some(shown) = &mut *kept else {
            let now = svc_clock::now();
            *kept = Some(newest.into_iter().map(|id| (id, now)).collect());
            return Vec::new();
        };
        shown.retain(|_, at| *at >= forget);
        let mut fresh = newest;
        fresh.retain(|id| !shown.contains_key(id));
        fresh
    }

    /// Nobody is there to be shown anything.
    pub fn forget_shown(&self) {
        *self.0.shown.lock() = None;
    }

    /// Something may be due, of whatever owner.
    pub fn wake(&self) {
        self.0.wakes.lock().all = true;
        self.0.wake.notify_one();
    }

    /// A lane that was paused may go on at once. A wait between attempts is not cut short.
    pub fn wake_lane(&self, lane: LaneId) {
        self.wake_attempt(lane, 0);
    }

    /// A lane that was paused before an attempt may make it now; not if it has failed since.
    pub fn wake_attempt(&self, lane: LaneId, failures: u32) {
        self.0.wakes.lock().lanes.push(Woken { lane, failures });
        self.0.wake.notify_one();
    }

    /// Events from now on: of one owner, or everybody's.
    pub fn subscribe(&self, owner: Option<UserId>) -> Reader {
        let mut feeds = self.0.feeds.lock();
        let feed = feeds.get(&owner).and_then(Weak::upgrade);
        let feed = feed.unwrap_or_else(|| {
            feeds.retain(|_, feed| feed.strong_count() > 0);
            let feed = Arc::new(Feed::new());
            feeds.insert(owner, Arc::downgrade(&feed));
            feed
        });
        feed.read()
    }

    pub fn counters(&self) -> &EventCounters {
        &self.0.counters
    }

    /// Until somebody wakes; for the engine alone.
    pub(super) async fn woken(&self) {
        self.0.wake.notified().await;
    }

    /// Everything to look at; of the lanes at most so many, the rest stays for the next time.
    pub(super) fn take_wakes(&self, lanes_max: usize) -> Wakes {
        let mut wakes = self.0.wakes.lock();
        let taken = lanes_max.min(wakes.lanes.len());
        let rest = wakes.lanes.split_off(taken);
        if !rest.is_empty() {
            self.0.wake.notify_one();
        }
        let left = Wakes {
            lanes: rest,
            ..Wakes::default()
        };
        std::mem::replace(&mut *wakes, left)
    }
}

impl Default for Hub {
    fn default() -> Self {
        Self::new()
    }
}
