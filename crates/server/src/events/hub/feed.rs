//! [`Feed`]: a buffer of the newest events of one owner, or of all owners, for streams to read.
//!
//! Each owner has a separate feed. Even if one user has many events, they do not wake the readers
//! of other users' feeds, and push no events out of these feeds. A feed keeps a bounded number of
//! events and bytes for slow readers.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::watch;

use super::StreamedEvent;

/// Limit of the events that a feed keeps for slow readers.
const EVENTS_MAX: usize = 256;
/// Limit of the bytes of these events. A single event may be larger.
const BYTES_MAX: usize = 4 * 1024 * 1024;

#[derive(Default)]
pub(super) struct Feed {
    newest: Mutex<Newest>,
    /// Number of events ever put into the feed.
    count: watch::Sender<u64>,
}

#[derive(Default)]
struct Newest {
    /// The number of the oldest event in the buffer.
    first: u64,
    events: VecDeque<Arc<StreamedEvent>>,
    bytes: usize,
}

/// Reads the events that are put into a feed after the reader was created.
pub struct Reader {
    feed: Arc<Feed>,
    /// The number of the next event to read.
    next: u64,
    count: watch::Receiver<u64>,
}

/// The number of events that were removed before the reader read them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MissedEvents(pub u64);

impl Feed {
    pub(super) fn put(&self, event: Arc<StreamedEvent>) {
        let mut newest = self.newest.lock();
        newest.bytes += event.record.len();
        newest.events.push_back(event);
        // The newest event is kept, whatever its size.
        while newest.events.len() > EVENTS_MAX
            || (newest.bytes > BYTES_MAX && newest.events.len() > 1)
        {
            if let Some(gone) = newest.events.pop_front() {
                newest.bytes -= gone.record.len();
                newest.first += 1;
            }
        }
        let count = newest.end();
        drop(newest);
        self.count.send_replace(count);
    }

    pub(super) fn open_reader(self: &Arc<Self>) -> Reader {
        Reader {
            next: self.newest.lock().end(),
            count: self.count.subscribe(),
            feed: Arc::clone(self),
        }
    }
}

impl Newest {
    fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }
}

impl Reader {
    /// Waits for the next event. Cancel safe.
    pub async fn next(&mut self) -> Result<Arc<StreamedEvent>, MissedEvents> {
        loop {
            // Must come before `find_next`, so that an event that arrives in between ends the wait
            // below.
            self.count.borrow_and_update();
            if let Some(next) = self.find_next() {
                return next;
            }
            // Never an error: the reader holds the feed, which owns the sender.
            let _ = self.count.changed().await;
        }
    }

    fn find_next(&mut self) -> Option<Result<Arc<StreamedEvent>, MissedEvents>> {
        let newest = self.feed.newest.lock();
        if self.next < newest.first {
            let missed = newest.first - self.next;
            self.next = newest.first;
            return Some(Err(MissedEvents(missed)));
        }
        let at = usize::try_from(self.next - newest.first).ok()?;
        let event = newest.events.get(at)?.clone();
        self.next += 1;
        Some(Ok(event))
    }
}

#[cfg(test)]
mod tests {
    use svc_core::{EventId, UserId};

    use super::*;

    fn event(bytes: usize) -> Arc<StreamedEvent> {
        Arc::new(StreamedEvent {
            id: EventId::NIL,
            r#type: "custom.x".to_owned(),
            owner_id: UserId::NIL,
            record: "x".repeat(bytes),
        })
    }

    #[tokio::test]
    async fn a_slow_reader_holds_a_bounded_number_of_events_and_bytes() {
        let feed = Arc::new(Feed::default());
        let mut reader = feed.open_reader();
        for _ in 0..EVENTS_MAX + 10 {
            feed.put(event(1));
        }
        assert_eq!(reader.next().await, Err(MissedEvents(10)));
        assert_eq!(reader.next().await, Ok(event(1)));

        let large = BYTES_MAX / 4;
        for _ in 0..100 {
            feed.put(event(large));
        }
        let kept: usize = feed
            .newest
            .lock()
            .events
            .iter()
            .map(|e| e.record.len())
            .sum();
        assert!(kept <= BYTES_MAX, "{kept}");
        assert!(reader.next().await.is_err());
        for _ in 0..4 {
            assert_eq!(reader.next().await, Ok(event(large)));
        }
        // An event above the limit is kept alone.
        feed.put(event(BYTES_MAX + 1));
        assert_eq!(reader.next().await, Ok(event(BYTES_MAX + 1)));
        // A new reader begins with the next event.
        let mut later = feed.open_reader();
        feed.put(event(7));
        assert_eq!(later.next().await, Ok(event(7)));
    }
}
