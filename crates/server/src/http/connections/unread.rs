//! Answers that their clients have not read completely, and the end of those that make no progress.
//!
//! The connection takes the bytes of an answer in pieces, each time the client has accepted earlier
//! pieces. So the pieces show how fast the client reads, over HTTP/1 and for each stream of HTTP/2.

use std::{
    collections::HashSet,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use slab::Slab;
use svc_core::UserId;
use tokio::sync::Notify;

use super::slot::Slot;
use crate::limits::{Account, AnswerHold, Shortage};

/// A client must accept this many bytes of a waiting answer within the stall time.
pub const PROGRESS_BYTES: usize = 64 * 1024;
/// If memory for answers is short, the slowest answer that made no progress for this many
/// milliseconds is ended.
const SLOW_MS: u64 = 2_000;

/// All unread answers of a server.
#[derive(Default)]
pub(super) struct UnreadAnswers(Mutex<Slab<Weak<UnreadAnswer>>>);

/// An answer that is being sent. Exists as long as any of its bytes is in memory.
pub struct UnreadAnswer {
    slot: Arc<Slot>,
    /// Ends the HTTP/2 stream of the answer; `None` over HTTP/1.
    stream: Option<Arc<Notify>>,
    payer: Option<UserId>,
    key: usize,
    /// Since when the client has accepted less than [`PROGRESS_BYTES`], in milliseconds like all
    /// times of the table; 0 while the source of the body has nothing to send.
    waiting_since: AtomicU64,
    /// Bytes that the connection took since then.
    taken: AtomicUsize,
    /// When the stream was ended; 0 before.
    ended_at: AtomicU64,
    /// The memory of the answer.
    _hold: Option<Arc<AnswerHold>>,
}

impl UnreadAnswers {
    /// Ends slow answers. `shortages`: why answers were refused since the last sweep.
    pub(super) fn sweep(&self, now: u64, stall: u64, shortages: &HashSet<Shortage>) {
        // The answers are dropped after the lock is released, because their end needs the lock.
        let open: Vec<_> = {
            let table = self.0.lock();
            table.iter().filter_map(|(_, it)| it.upgrade()).collect()
        };
        for answer in &open {
            answer.end_if_stalled(now, stall);
        }
        for shortage in shortages {
            let pays = |answer: &&Arc<UnreadAnswer>| match (shortage, answer.payer) {
                (Shortage::Of(Account::User(user)), Some(payer)) => *user == payer,
                (Shortage::OfAll, payer) => payer.is_some(),
                _ => false,
            };
            let slow = open.iter().filter(pays).filter(|it| !it.is_ended());
            let slowest = slow.max_by_key(|answer| answer.waited(now));
            if let Some(answer) = slowest.filter(|it| it.waited(now) >= SLOW_MS) {
                answer.end(now);
            }
        }
    }
}

impl UnreadAnswer {
    pub(super) fn begin(
        slot: &Arc<Slot>,
        stream: Option<Arc<Notify>>,
        payer: Option<UserId>,
        hold: Option<Arc<AnswerHold>>,
    ) -> Arc<Self> {
        let mut table = slot.table().unread.0.lock();
        let entry = table.vacant_entry();
        let answer = Arc::new(Self {
            slot: Arc::clone(slot),
            stream,
            payer,
            key: entry.key(),
            waiting_since: AtomicU64::new(slot.now()),
            taken: AtomicUsize::new(0),
            ended_at: AtomicU64::new(0),
            _hold: hold,
        });
        entry.insert(Arc::downgrade(&answer));
        answer
    }

    /// The connection took bytes of the answer.
    pub fn note_taken(&self, bytes: usize) {
        let taken = self.taken.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if taken >= PROGRESS_BYTES || self.waiting_since.load(Ordering::Relaxed) == 0 {
            self.taken.store(0, Ordering::Relaxed);
            self.waiting_since.store(self.slot.now(), Ordering::Relaxed);
        }
    }

    /// The connection requested bytes; the source has none yet.
    pub fn note_source_waits(&self) {
        self.waiting_since.store(0, Ordering::Relaxed);
    }

    /// How long the client has made no progress.
    fn waited(&self, now: u64) -> u64 {
        match self.waiting_since.load(Ordering::Relaxed) {
            0 => 0,
            since => now.saturating_sub(since),
        }
    }

    fn is_ended(&self) -> bool {
        self.ended_at.load(Ordering::Relaxed) != 0
    }

    fn end_if_stalled(&self, now: u64, stall: u64) {
        match self.ended_at.load(Ordering::Relaxed) {
            0 if self.waited(now) > stall => self.end(now),
            // The stream has ended, and its last bytes are still in memory.
            ended if ended != 0 && now.saturating_sub(ended) > stall => self.slot.close(),
            _ => {}
        }
    }

    /// Ends the stream, or without streams the connection.
    fn end(&self, now: u64) {
        self.ended_at.store(now, Ordering::Relaxed);
        match &self.stream {
            Some(stream) => stream.notify_one(),
            None => self.slot.close(),
        }
    }
}

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        self.slot.table().unread.0.lock().remove(self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::http::connections::{Order, testing::admit_one};

    fn user(number: u128) -> UserId {
        UserId(uuid::Uuid::from_u128(number))
    }

    #[tokio::test]
    async fn an_answer_without_progress_is_ended_and_its_connection_closed_later() {
        let registration = admit_one().await;
        let slot = registration.slot();
        let sweep = |now| slot.table().unread.sweep(now, 1_000, &HashSet::new());
        let stream = Arc::new(Notify::new());
        let has_ended = || async { futures_util::poll!(pin!(stream.notified())).is_ready() };
        let answer = UnreadAnswer::begin(slot, Some(Arc::clone(&stream)), None, None);
        let start = slot.now();
        // The source of the body has nothing to send.
        answer.note_source_waits();
        sweep(start + 5_000);
        assert!(!has_ended().await);
        answer.note_taken(1);
        sweep(start + 1_000);
        assert!(!has_ended().await);
        // Too few bytes do not count as progress.
        answer.note_taken(PROGRESS_BYTES / 2);
        sweep(start + 1_001);
        assert!(has_ended().await);
        sweep(start + 2_001);
        assert_eq!(slot.order(), Order::Continue);
        sweep(start + 2_002);
        assert_eq!(slot.order(), Order::Close);
        drop(answer);
        assert!(slot.table().unread.0.lock().is_empty());
    }

    #[tokio::test]
    async fn a_shortage_ends_the_slowest_answer_of_its_user() {
        let registration = admit_one().await;
        let slot = registration.slot();
        let begin = |payer, since| {
            let stream = Some(Arc::new(Notify::new()));
            let answer = UnreadAnswer::begin(slot, stream, Some(payer), None);
            answer.waiting_since.store(since, Ordering::Relaxed);
            answer
        };
        let answers = [
            begin(user(1), 3_000),
            begin(user(1), 2_000),
            begin(user(2), 1_000),
            begin(user(1), 9_000),
        ];
        let ended = || answers.each_ref().map(|answer| answer.is_ended());
        let sweep = |shortage| {
            let shortages = HashSet::from([shortage]);
            slot.table().unread.sweep(10_000, 60_000, &shortages);
        };
        sweep(Shortage::Of(Account::User(user(1))));
        assert_eq!(ended(), [false, true, false, false]);
        sweep(Shortage::OfAll);
        assert_eq!(ended(), [false, true, true, false]);
        for _ in 0..3 {
            sweep(Shortage::OfAll);
        }
        assert_eq!(
            ended(),
            [true, true, true, false],
            "the last one is not slow"
        );
        assert_eq!(slot.order(), Order::Continue);
    }
}
