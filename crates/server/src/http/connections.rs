//! The table of open connections: counts them per client address and closes some when the server
//! is full.
//!
//! A connection without a valid credential must never keep other clients out. A full server closes
//! connections in this order: those without a complete request head, those that never presented a
//! valid credential, those that are idle. To admit a new connection, it never closes an agent's
//! link, or a connection on which an authenticated caller has a request in progress.
//!
//! The table also knows the answers that clients have not read yet (`unread`), and ends those that
//! make too little progress.

mod evict;
mod slot;
mod unread;

use std::{
    collections::{HashMap, VecDeque},
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use ipnet::IpNet;
use parking_lot::Mutex;
use slab::Slab;
use thiserror::Error;
use tokio::sync::Notify;

use self::{evict::Candidate, unread::UnreadAnswers};
pub use self::{
    slot::{Order, Registration, Slot},
    unread::{PROGRESS_BYTES, UnreadAnswer},
};
use crate::limits::ByteBudget;

/// Time between attempts to close a connection while the server is full.
const RETRY_EVERY: Duration = Duration::from_millis(100);
/// Bounds of the time between two sweeps.
const SWEEP_MIN: Duration = Duration::from_millis(50);
const SWEEP_MAX: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub struct ConnectionLimits {
    /// Connections at one time, agents' links included.
    pub total: usize,
    /// Connections of one client address, agents' links excluded.
    pub per_address: usize,
    /// The longest time from the start of a connection to its first complete request head, and the
    /// longest time that an HTTP/2 connection may be idle.
    pub head: Duration,
    /// A client must accept [`PROGRESS_BYTES`] of a waiting answer in this time.
    pub stall: Duration,
    /// Addresses without the limit per address: all clients of a proxy share its address.
    pub trusted_proxies: Vec<IpNet>,
}

#[derive(Clone)]
pub struct Connections(Arc<ConnectionTable>);

struct ConnectionTable {
    limits: ConnectionLimits,
    started: Instant,
    /// Milliseconds since `started`, as of the last update by `sweep` or `close_one`. Requests read
    /// this value instead of a clock.
    now: AtomicU64,
    state: Mutex<State>,
    /// Notified when a connection ends.
    freed: Notify,
    unread: UnreadAnswers,
    answers: Arc<ByteBudget>,
}

#[derive(Default)]
struct State {
    open: Slab<Arc<Slot>>,
    /// Connections per client address.
    addresses: HashMap<IpAddr, usize>,
    /// Connections to close next, as found by the last scan of the table.
    candidates: VecDeque<Candidate>,
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "this address has {limit} open connections; one address may have a quarter of `max_connections`"
)]
pub struct TooManyFromAddress {
    pub limit: usize,
}

impl Connections {
    /// `answers` counts the memory of unread answers.
    pub fn new(limits: ConnectionLimits, answers: Arc<ByteBudget>) -> Self {
        Self(Arc::new(ConnectionTable {
            limits,
            started: Instant::now(),
            now: AtomicU64::new(1),
            state: Mutex::default(),
            freed: Notify::new(),
            unread: UnreadAnswers::default(),
            answers,
        }))
    }

    /// Admits a connection. While the server is full, closes another connection or waits for one to
    /// end.
    pub async fn admit(&self, address: IpAddr) -> Result<Registration, TooManyFromAddress> {
        let address = address.to_canonical();
        loop {
            let freed = self.0.freed.notified();
            if let Some(registration) = self.try_admit(address)? {
                return Ok(registration);
            }
            self.close_one();
            let _ = tokio::time::timeout(RETRY_EVERY, freed).await;
        }
    }

    /// `None` while the server is full.
    fn try_admit(&self, address: IpAddr) -> Result<Option<Registration>, TooManyFromAddress> {
        let limits = &self.0.limits;
        let client = client_key(address);
        let mut state = self.0.state.lock();
        let of_address = state.addresses.get(&client).copied().unwrap_or(0);
        if of_address >= limits.per_address && !self.is_exempt(address) {
            return Err(TooManyFromAddress {
                limit: limits.per_address,
            });
        }
        if state.open.len() >= limits.total {
            return Ok(None);
        }
        *state.addresses.entry(client).or_default() += 1;
        let slot = Arc::new(Slot::new(client, self.0.millis(), Arc::clone(&self.0)));
        let key = state.open.insert(Arc::clone(&slot));
        Ok(Some(Registration::new(slot, key)))
    }

    /// Whether an address has no limit: this machine, or a trusted proxy, whose connections may
    /// belong to many clients.
    fn is_exempt(&self, address: IpAddr) -> bool {
        let proxies = &self.0.limits.trusted_proxies;
        address.is_loopback() || proxies.iter().any(|net| net.contains(&address))
    }

    /// Closes one connection, in the order that the module describes; false if none may be closed.
    pub fn close_one(&self) -> bool {
        let now = self.0.millis();
        self.0.now.store(now, Ordering::Relaxed);
        self.0.state.lock().close_one(now)
    }

    /// Asks every connection to finish its requests and end.
    pub fn finish_all(&self) {
        for (_, slot) in &self.0.state.lock().open {
            slot.give(Order::Finish);
        }
    }

    /// Closes connections and ends answers that exceed a time limit, and slow answers while there is
    /// too little memory for others. Runs until the future is dropped.
    pub async fn sweep(self) {
        let shortest = self.0.limits.head.min(self.0.limits.stall);
        let every = (shortest / 8).clamp(SWEEP_MIN, SWEEP_MAX);
        loop {
            tokio::time::sleep(every).await;
            let now = self.0.millis();
            self.0.now.store(now, Ordering::Relaxed);
            let (head, stall) = (millis(self.0.limits.head), millis(self.0.limits.stall));
            for (_, slot) in &self.0.state.lock().open {
                if let Some(order) = slot.order_if_overdue(now, head, stall) {
                    slot.give(order);
                }
            }
            let shortages = self.0.answers.take_shortages();
            self.0.unread.sweep(now, stall, &shortages);
        }
    }
}

impl ConnectionTable {
    /// Milliseconds since `started`; never 0, which means "not set".
    fn millis(&self) -> u64 {
        millis(self.started.elapsed()) + 1
    }

    fn release(&self, key: usize, slot: &Slot) {
        let mut state = self.state.lock();
        state.open.remove(key);
        if !slot.is_link() {
            state.forget_address(slot.client());
        }
        drop(state);
        self.freed.notify_one();
    }
}

impl State {
    fn forget_address(&mut self, client: IpAddr) {
        if let Some(count) = self.addresses.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                self.addresses.remove(&client);
            }
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The key by which a client is counted: an IPv4 address, or the /64 network of an IPv6 address,
/// which usually belongs to one client.
fn client_key(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) if address.is_loopback() => IpAddr::V6(address),
        IpAddr::V6(address) => {
            let network = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
    }
}

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
