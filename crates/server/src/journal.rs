//! The call journal: collects a row for each call in memory, and writes the rows in groups.
//!
//! Recording a call is one push under a lock, and does not wait for the database. If the process is
//! killed, the rows that were not written yet are lost. `call_history` reads the journal.
//!
//! Params and answers are copied only for methods with `journal = "payloads"`. They are written
//! with the row of their call, and never logged.

mod payloads;
mod writer;

#[cfg(test)]
mod tests;

pub use payloads::CallPayloads;

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use svc_core::{Id, UserId, journal::CallRow};
use svc_store::Store;
use tokio::sync::Notify;

use self::payloads::{AcceptedBytes, WaitingPayload};
use crate::{metrics::Metrics, random_key::RandomKeyMap};

/// The maximum number of waiting rows of all owners together.
const WAITING_MAX: usize = 131_072;
/// The maximum number of waiting rows of one owner, so that one owner cannot fill the whole queue.
/// One caller gets at most half of the slots that the owner's other callers leave free.
const WAITING_OF_OWNER_MAX: usize = WAITING_MAX / 4;
/// Bytes of params and answers that are kept for each row that an owner may have. Few methods record
/// them, so most rows have none.
const PAYLOAD_BYTES_PER_ROW: u64 = 672;
/// Enough for four params or answers of the maximum size.
const PAYLOAD_BYTES_PER_OWNER_MIN: u64 = 4 * 1024 * 1024;
/// Rows are written every second, and at once when one owner has this many waiting rows.
const WRITE_AT: usize = 4_096;

#[derive(Clone, Copy, Debug)]
pub struct JournalOptions {
    /// Rows that are kept for each owner of methods. Whole blocks are removed, so up to one block
    /// more is kept. With 0, no calls are recorded.
    pub rows_per_owner: u64,
    /// How long rows are kept.
    pub keep: Duration,
    /// The maximum bytes of recorded params, and of a recorded answer. Larger params or answers are
    /// left out. With 0, no params and no answers are recorded.
    pub payload_bytes: usize,
}

impl Default for JournalOptions {
    fn default() -> Self {
        Self {
            rows_per_owner: 100_000,
            keep: Duration::from_secs(7 * 24 * 60 * 60),
            payload_bytes: 16 * 1024,
        }
    }
}

impl JournalOptions {
    /// Bytes of params and answers that are kept for each owner of methods. The default is 64 MiB.
    fn payload_bytes_per_owner(&self) -> u64 {
        let bytes = self.rows_per_owner.saturating_mul(PAYLOAD_BYTES_PER_ROW);
        bytes.max(PAYLOAD_BYTES_PER_OWNER_MIN)
    }
}

pub struct Journal {
    store: Store,
    metrics: Arc<Metrics>,
    options: JournalOptions,
    /// A random part of the ids of this process's rows.
    process: u32,
    waiting: Mutex<Waiting>,
    /// Notified when many rows of one owner wait.
    many: Notify,
    /// Lets one task write at a time, so that maintenance sees the blocks of the last write.
    writing: tokio::sync::Mutex<writer::WriterState>,
}

#[derive(Default)]
struct Waiting {
    calls: RandomKeyMap<UserId, WaitingCalls>,
    /// Rows of all owners.
    total: usize,
    accepted: AcceptedBytes,
    /// Counts the rows of this process.
    number: u64,
    /// Rows that were dropped since the start of this process, by owner.
    dropped: HashMap<UserId, u64>,
}

/// The waiting calls of one owner.
#[derive(Default)]
struct WaitingCalls {
    rows: Vec<CallRow>,
    payloads: Vec<(Id, WaitingPayload)>,
    /// Rows of each caller. Counted only while many rows wait.
    by_caller: Option<RandomKeyMap<UserId, usize>>,
}

impl WaitingCalls {
    /// Whether a row of this caller may be added. A caller has at most half of the slots that
    /// the other callers leave free, so a flood of one caller drops no rows of others.
    fn may_add(&mut self, caller: UserId) -> bool {
        let count = self.rows.len();
        // Below half, every caller is within the limit.
        if count < WAITING_OF_OWNER_MAX / 2 {
            return true;
        }
        let by_caller = self.by_caller.get_or_insert_with(|| {
            let mut by_caller = RandomKeyMap::default();
            for row in &self.rows {
                *by_caller.entry(row.caller).or_default() += 1;
            }
            by_caller
        });
        let own = by_caller.entry(caller).or_default();
        let may_add = count < WAITING_OF_OWNER_MAX
            && *own < (WAITING_OF_OWNER_MAX - (count - *own)).div_ceil(2);
        *own += usize::from(may_add);
        may_add
    }
}

impl Journal {
    pub fn new(store: Store, metrics: Arc<Metrics>, options: JournalOptions) -> Self {
        // The last bits of a UUIDv7 are random.
        let process = uuid::Uuid::now_v7().as_u128();
        Self {
            store,
            metrics,
            options,
            process: u32::try_from(process & 0xffff_ffff).expect("32 bits fit"),
            waiting: Mutex::default(),
            many: Notify::new(),
            writing: tokio::sync::Mutex::default(),
        }
    }

    /// Whether calls are recorded.
    pub fn is_on(&self) -> bool {
        self.options.rows_per_owner > 0
    }

    /// Records a call of an owner's method. Gives the row its number, and returns its id. Returns
    /// `None` if the journal is off or the row is dropped.
    pub fn record(
        &self,
        owner: UserId,
        mut row: CallRow,
        payloads: Option<CallPayloads<'_>>,
    ) -> Option<Id> {
        if !self.is_on() {
            return None;
        }
        let bytes_max = self.options.payload_bytes;
        let payloads = payloads.filter(|_| bytes_max > 0);
        // Copied before the lock is taken.
        let payload = payloads.map(|payloads| WaitingPayload::copy(payloads, bytes_max));
        let mut waiting = self.waiting.lock();
        waiting.number += 1;
        (row.number, row.process) = (waiting.number, self.process);
        let is_full = waiting.total >= WAITING_MAX;
        let calls = waiting.calls.entry(owner).or_default();
        let count = calls.rows.len();
        if is_full || !calls.may_add(row.caller) {
            *waiting.dropped.entry(owner).or_default() += 1;
            drop(waiting);
            self.metrics.journal.count_dropped(1);
            return None;
        }
        let (id, caller) = (row.id(), row.caller);
        calls.rows.push(row);
        if let Some(mut payload) = payload {
            let bytes = payload.bytes();
            if bytes > 0 && !waiting.accepted.accept((owner, caller), bytes) {
                payload.omit();
                self.metrics.journal.count_dropped_payload();
            }
            let calls = waiting.calls.entry(owner).or_default();
            calls.payloads.push((id, payload));
        }
        waiting.total += 1;
        drop(waiting);
        if count + 1 == WRITE_AT {
            self.many.notify_one();
        }
        Some(id)
    }

    /// Rows that this server dropped since its start: those of one owner, or all.
    pub fn count_dropped(&self, owner: Option<UserId>) -> u64 {
        let waiting = self.waiting.lock();
        match owner {
            Some(owner) => waiting.dropped.get(&owner).copied().unwrap_or_default(),
            None => waiting.dropped.values().sum(),
        }
    }
}
