//! One connection in the table of connections.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use svc_core::UserId;
use tokio::sync::Notify;

use super::{ConnectionTable, UnreadAnswer};
use crate::limits::{AnswerHold, ByteBudget};

/// What the task of a connection must do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
#[repr(u8)]
pub enum Order {
    Continue = 0,
    /// Answer the requests in progress, then end.
    Finish = 1,
    /// End at once.
    Close = 2,
}

/// The state of a connection. Times are milliseconds since the table was created. Over HTTP/1, a
/// call uses only relaxed loads and stores, which are cheap.
pub struct Slot {
    client: IpAddr,
    accepted_at: u64,
    /// Complete request heads that arrived.
    heads: AtomicU64,
    /// A valid credential was presented.
    is_authenticated: AtomicBool,
    is_link: AtomicBool,
    /// Since when no request has been in progress; 0 while a request is in progress.
    pub(super) idle_since: AtomicU64,
    /// HTTP/2 streams in progress.
    streams: AtomicU32,
    /// What ends the HTTP/2 stream of the request that was received last, until the stream begins.
    next_stream: Mutex<Option<Arc<Notify>>>,
    /// Since when the client has accepted too few of the bytes that wait for it; 0 while no bytes
    /// wait.
    pub(super) stalled_since: AtomicU64,
    order: AtomicU8,
    order_given: Notify,
    table: Arc<ConnectionTable>,
}

impl Slot {
    pub(super) fn new(client: IpAddr, accepted_at: u64, table: Arc<ConnectionTable>) -> Self {
        Self {
            client,
            accepted_at,
            heads: AtomicU64::new(0),
            is_authenticated: AtomicBool::new(false),
            is_link: AtomicBool::new(false),
            idle_since: AtomicU64::new(accepted_at),
            streams: AtomicU32::new(0),
            next_stream: Mutex::new(None),
            stalled_since: AtomicU64::new(0),
            order: AtomicU8::new(Order::Continue as u8),
            order_given: Notify::new(),
            table,
        }
    }

    /// Unique among open connections.
    pub fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    pub(super) fn client(&self) -> IpAddr {
        self.client
    }

    pub(super) fn accepted_at(&self) -> u64 {
        self.accepted_at
    }

    pub(super) fn has_head(&self) -> bool {
        self.heads() > 0
    }

    pub(super) fn is_authenticated(&self) -> bool {
        self.is_authenticated.load(Ordering::Relaxed)
    }

    pub(super) fn is_link(&self) -> bool {
        self.is_link.load(Ordering::Relaxed)
    }

    /// How long no request has been in progress; `None` while a request is in progress.
    pub(super) fn idle_for(&self, now: u64) -> Option<u64> {
        match self.idle_since.load(Ordering::Relaxed) {
            0 => None,
            since => Some(now.saturating_sub(since)),
        }
    }

    /// Whether no request is in progress: over HTTP/1, the next byte belongs to a head.
    pub fn awaits_head(&self) -> bool {
        self.idle_since.load(Ordering::Relaxed) != 0
    }

    /// Complete request heads that arrived.
    pub fn heads(&self) -> u64 {
        self.heads.load(Ordering::Relaxed)
    }

    /// Counts a complete request head. Only the connection's own task calls this.
    pub fn note_head(&self) {
        self.heads.store(self.heads() + 1, Ordering::Relaxed);
    }

    pub fn note_authenticated(&self) {
        set(&self.is_authenticated);
    }

    /// Marks the connection as an agent's link. The limit per address and the time limits do not
    /// apply to links.
    pub fn note_link(&self) {
        let mut state = self.table.state.lock();
        if !self.is_link.swap(true, Ordering::Relaxed) {
            state.forget_address(self.client);
        }
        self.note_busy();
    }

    pub fn note_idle(&self) {
        self.idle_since.store(self.now(), Ordering::Relaxed);
    }

    pub fn note_busy(&self) {
        self.idle_since.store(0, Ordering::Relaxed);
    }

    /// Announces the HTTP/2 stream of a request that was just received. A notification of the
    /// result ends the stream.
    pub fn announce_stream(&self) -> Arc<Notify> {
        let end = Arc::new(Notify::new());
        *self.next_stream.lock() = Some(Arc::clone(&end));
        end
    }

    pub fn begin_stream(self: &Arc<Self>) -> StreamGuard {
        self.streams.fetch_add(1, Ordering::Relaxed);
        self.note_busy();
        StreamGuard {
            slot: Arc::clone(self),
            end: self.next_stream.lock().take().unwrap_or_default(),
        }
    }

    /// Begins an answer, which is unread until the result is dropped.
    pub fn begin_answer(
        self: &Arc<Self>,
        stream: Option<Arc<Notify>>,
        payer: Option<UserId>,
        hold: Option<Arc<AnswerHold>>,
    ) -> Arc<UnreadAnswer> {
        UnreadAnswer::begin(self, stream, payer, hold)
    }

    /// Counts the memory of unread answers.
    pub fn answers(&self) -> &Arc<ByteBudget> {
        &self.table.answers
    }

    pub(super) fn table(&self) -> &ConnectionTable {
        &self.table
    }

    /// The time of the table, as of its last update.
    pub(super) fn now(&self) -> u64 {
        self.table.now.load(Ordering::Relaxed)
    }

    /// Orders the connection to end at once.
    pub(super) fn close(&self) {
        self.give(Order::Close);
    }

    /// Bytes begin to wait for the client, or the client has accepted enough of them.
    pub fn note_stalled(&self) {
        self.stalled_since.store(self.now(), Ordering::Relaxed);
    }

    pub fn note_unstalled(&self) {
        self.stalled_since.store(0, Ordering::Relaxed);
    }

    pub fn order(&self) -> Order {
        match self.order.load(Ordering::Acquire) {
            0 => Order::Continue,
            1 => Order::Finish,
            _ => Order::Close,
        }
    }

    /// Completes when an order is given, or at once if an order was given since the last wait.
    pub async fn wait_for_order(&self) {
        self.order_given.notified().await;
    }

    pub(super) fn give(&self, order: Order) {
        if self.order.fetch_max(order as u8, Ordering::AcqRel) < order as u8 {
            self.order_given.notify_one();
        }
    }

    /// The order for a connection that exceeds a time limit. `hyper` itself closes idle HTTP/1
    /// connections, so the limits on idle time are for HTTP/2.
    pub(super) fn order_if_overdue(&self, now: u64, head: u64, stall: u64) -> Option<Order> {
        if self.is_link() {
            return None;
        }
        let stalled_since = self.stalled_since.load(Ordering::Relaxed);
        if stalled_since != 0 && now.saturating_sub(stalled_since) > stall {
            return Some(Order::Close);
        }
        if !self.has_head() {
            return (now.saturating_sub(self.accepted_at) > head).then_some(Order::Close);
        }
        match self.idle_for(now)? {
            idle if idle > head.saturating_mul(2) => Some(Order::Close),
            idle if idle > head => Some(Order::Finish),
            _ => None,
        }
    }
}

/// Stores only if the flag is not set yet, so that the cache line stays shared between cores.
fn set(flag: &AtomicBool) {
    if !flag.load(Ordering::Relaxed) {
        flag.store(true, Ordering::Relaxed);
    }
}

/// An HTTP/2 stream in progress.
pub struct StreamGuard {
    slot: Arc<Slot>,
    /// Notified when the stream must end.
    end: Arc<Notify>,
}

impl StreamGuard {
    /// Waits until the stream must end.
    pub async fn ended(&self) {
        self.end.notified().await;
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        if self.slot.streams.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.slot.note_idle();
        }
    }
}

/// A connection's entry in the table; dropped when the socket is closed.
pub struct Registration {
    slot: Arc<Slot>,
    key: usize,
}

impl Registration {
    pub(super) fn new(slot: Arc<Slot>, key: usize) -> Self {
        Self { slot, key }
    }

    pub fn slot(&self) -> &Arc<Slot> {
        &self.slot
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.slot.table.release(self.key, &self.slot);
    }
}
