//! [`Hub`]: wakes the delivery engine, feeds streams and counts events after each commit.
//!
//! The hub only speeds up delivery. An event that was never reported to the hub is delivered too,
//! because the engine scans for due lanes. A *lane* is the queue of one sink or of one subscribed
//! method. The *refiller* adds stored events to lanes that could not queue them before.

mod feed;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use svc_core::{EventId, LaneId, Timestamp, UserId, event::Event};
use svc_protocol::api::EventRecord;
use tokio::sync::Notify;

use self::feed::Feed;
pub use self::feed::{MissedEvents, Reader};
use crate::metrics::EventCounters;

/// An event as streams send it. Kept as JSON text, because buffers keep events for slow readers and
/// a parsed payload can take thirty times the memory of its text.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamedEvent {
    pub id: EventId,
    pub r#type: String,
    pub owner_id: UserId,
    /// The event's record as JSON.
    pub record: String,
}

impl From<&Event> for StreamedEvent {
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
#[derive(Clone, Default)]
pub struct Hub(Arc<HubState>);

#[derive(Default)]
struct HubState {
    wake: Notify,
    /// Wakes the refiller of lanes.
    wake_refill: Notify,
    wake_ups: Mutex<WakeUps>,
    /// The feeds of open streams, by owner of the events. The feed of `None` has the events of all
    /// owners.
    feeds: Mutex<HashMap<Option<UserId>, Weak<Feed>>>,
    /// Ids of events that were streamed or are older than the streams, each with the time when it
    /// was recorded. In a zone, a task reads the newest events of all servers for the streams of
    /// this server, and skips these ids. `None` while no stream is open, and outside of a zone.
    shown: Mutex<Option<HashMap<EventId, Timestamp>>>,
    counters: EventCounters,
    /// Counts changes of sinks by this server.
    sink_changes: AtomicU64,
    /// See [`Hub::lose_wake_ups`].
    #[cfg(test)]
    loses_wake_ups: std::sync::atomic::AtomicBool,
}

/// Wake-ups for the engine.
#[derive(Debug, Default)]
pub(super) struct WakeUps {
    pub(super) lanes: Vec<LaneWakeUp>,
    /// Owners of new events and of lanes that were refilled.
    pub(super) owners: HashSet<UserId>,
    /// Whether lanes of any owner may be due.
    pub(super) all: bool,
}

/// Ends the pause of a lane, if the delivery at its head has failed exactly `failures` times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct LaneWakeUp {
    pub(super) lane: LaneId,
    pub(super) failures: u32,
}

impl Hub {
    /// Reports committed events: streams send them, and the engine looks for their deliveries.
    pub fn committed(&self, events: &[Arc<Event>]) {
        if events.is_empty() {
            return;
        }
        EventCounters::add(&self.0.counters.emitted, events.len());
        if self.has_streams() {
            events.iter().for_each(|event| self.show(event));
        }
        // After a user's emit, `emit` wakes the refiller only if a lane could not queue the event.
        // Events of other types than `custom.*` are rarer, and most of them do not come from
        // `emit`, so they always wake the refiller.
        if events
            .iter()
            .any(|event| !event.r#type.starts_with("custom."))
        {
            self.wake_refill();
        }
        let owners = events.iter().map(|event| event.owner_id);
        self.0.wake_ups.lock().owners.extend(owners);
        #[cfg(test)]
        if self.0.loses_wake_ups.load(Ordering::Relaxed) {
            return self.0.wake.notify_waiters();
        }
        self.0.wake.notify_one();
    }

    /// A fault for simulations: committed events wake the engine only if it waits at that moment.
    #[cfg(test)]
    pub(super) fn lose_wake_ups(&self) {
        self.0.loses_wake_ups.store(true, Ordering::Relaxed);
    }

    pub fn has_streams(&self) -> bool {
        let feeds = self.0.feeds.lock();
        feeds.values().any(|feed| feed.strong_count() > 0)
    }

    /// Sends an event to the streams, unless the hub has recorded that it was sent before.
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
        let streamed = Arc::new(StreamedEvent::from(event));
        feeds
            .iter()
            .for_each(|feed| feed.put(Arc::clone(&streamed)));
    }

    /// Whether the hub records which events were streamed. The record begins with the first call of
    /// [`list_unshown`](Self::list_unshown).
    pub fn has_shown(&self) -> bool {
        self.0.shown.lock().is_some()
    }

    /// Returns the events of `newest` that were not streamed yet. `newest` are the newest events of
    /// the zone. The first call returns no event, because all of these events are older than the
    /// streams. Ids recorded before `forget` are removed, because they can no longer be in
    /// `newest`.
    pub fn list_unshown(&self, newest: Vec<EventId>, forget: Timestamp) -> Vec<EventId> {
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

    /// Forgets which events were streamed; called when no stream is open.
    pub fn forget_shown(&self) {
        *self.0.shown.lock() = None;
    }

    /// Wakes the engine to look at the lanes of all owners, and wakes the refiller.
    pub fn wake(&self) {
        self.0.wake_ups.lock().all = true;
        self.0.wake.notify_one();
        self.wake_refill();
    }

    /// Wakes the engine to look at the lanes of an owner, and at the global lanes.
    pub(super) fn wake_owner(&self, owner: UserId) {
        self.0.wake_ups.lock().owners.insert(owner);
        self.0.wake.notify_one();
    }

    /// Wakes the refiller, because a lane could not queue an event or has space again.
    pub fn wake_refill(&self) {
        self.0.wake_refill.notify_one();
    }

    /// Reports that sinks were changed: workers read them again before the next delivery.
    pub fn sinks_changed(&self) {
        self.0.sink_changes.fetch_add(1, Ordering::Release);
        self.wake();
    }

    /// The number of changes of sinks so far.
    pub(super) fn sink_changes(&self) -> u64 {
        self.0.sink_changes.load(Ordering::Acquire)
    }

    /// Wakes the engine to divide the delivery slots again.
    pub(super) fn wake_engine(&self) {
        self.0.wake.notify_one();
    }

    /// Ends the pause of a lane, unless an attempt of the delivery at its head has failed. So a
    /// back-off between attempts is not cut short.
    pub fn wake_lane(&self, lane: LaneId) {
        self.wake_attempt(lane, 0);
    }

    /// Ends the pause of a lane, if the delivery at its head has still failed exactly `failures`
    /// times.
    pub fn wake_attempt(&self, lane: LaneId, failures: u32) {
        self.0
            .wake_ups
            .lock()
            .lanes
            .push(LaneWakeUp { lane, failures });
        self.0.wake.notify_one();
    }

    /// Reads new events of an owner, or with `None` of all owners.
    pub fn subscribe(&self, owner: Option<UserId>) -> Reader {
        let mut feeds = self.0.feeds.lock();
        let feed = feeds.get(&owner).and_then(Weak::upgrade);
        let feed = feed.unwrap_or_else(|| {
            feeds.retain(|_, feed| feed.strong_count() > 0);
            let feed = Arc::new(Feed::default());
            feeds.insert(owner, Arc::downgrade(&feed));
            feed
        });
        feed.open_reader()
    }

    pub fn counters(&self) -> &EventCounters {
        &self.0.counters
    }

    /// Waits for a wake-up. Only the engine may call this.
    pub(super) async fn wait_for_wake_up(&self) {
        self.0.wake.notified().await;
    }

    /// Waits for [`wake_refill`](Self::wake_refill). Only the refiller may call this.
    pub(super) async fn wait_for_refill(&self) {
        self.0.wake_refill.notified().await;
    }

    /// Takes all wake-ups of owners, and at most `lanes_max` wake-ups of lanes. The rest stays for
    /// the next call.
    pub(super) fn take_wake_ups(&self, lanes_max: usize) -> WakeUps {
        let mut wake_ups = self.0.wake_ups.lock();
        let taken = lanes_max.min(wake_ups.lanes.len());
        let rest = wake_ups.lanes.split_off(taken);
        if !rest.is_empty() {
            self.0.wake.notify_one();
        }
        let left = WakeUps {
            lanes: rest,
            ..WakeUps::default()
        };
        std::mem::replace(&mut *wake_ups, left)
    }
}
