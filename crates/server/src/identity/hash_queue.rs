//! Queue for password hashing. Hashing is slow on purpose, and only a few passwords are hashed at a
//! time. To keep one client from blocking others, payers take turns and none can fill the queue.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
    sync::Arc,
};

use parking_lot::Mutex;
use svc_core::UserId;
use tokio::sync::oneshot;

use crate::limits::network;

/// The client on whose account a password is hashed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Payer {
    /// A client that is not authenticated yet.
    Address(IpAddr),
    User(UserId),
    /// The setup of a new server.
    Server,
}

impl Payer {
    pub(super) fn address(address: IpAddr) -> Self {
        Self::Address(network(address))
    }
}

/// The slots for hashing, and the queue for them. Cheap to clone.
#[derive(Clone)]
pub(super) struct HashQueue(Arc<Mutex<State>>);

struct State {
    /// Free slots.
    free: usize,
    waiting: usize,
    waiting_max: usize,
    waiting_per_payer: usize,
    queues: HashMap<Payer, VecDeque<oneshot::Sender<HashSlot>>>,
    /// Payers with waiting requests; the next payer first.
    order: VecDeque<Payer>,
}

/// Permission to hash one password; passed to the next waiting request when dropped.
pub(super) struct HashSlot(Option<HashQueue>);

/// The queue is full, or the payer's share of it.
#[derive(Debug)]
pub(super) struct QueueFull;

impl HashQueue {
    pub(super) fn new(concurrency: usize, waiting_max: usize, waiting_per_payer: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            free: concurrency,
            waiting: 0,
            waiting_max,
            waiting_per_payer,
            queues: HashMap::new(),
            order: VecDeque::new(),
        })))
    }

    /// Waits for a slot. If the future is dropped, the slot goes to the next waiting request.
    pub(super) async fn acquire(&self, payer: Payer) -> Result<HashSlot, QueueFull> {
        let receiver = {
            let mut state = self.0.lock();
            if state.free > 0 && state.waiting == 0 {
                state.free -= 1;
                return Ok(HashSlot(Some(self.clone())));
            }
            state.enter(payer)?
        };
        // The sender is dropped only when another payer's request replaces this one.
        receiver.await.map_err(|_| QueueFull)
    }

    /// Gives a slot to the next waiting request, or marks it free.
    fn pass_slot(&self) {
        loop {
            let next = {
                let mut state = self.0.lock();
                match state.next() {
                    Some(next) => next,
                    None => {
                        state.free += 1;
                        return;
                    }
                }
            };
            match next.send(HashSlot(Some(self.clone()))) {
                Ok(()) => return,
                // The request was dropped. This loop passes the slot on, so its `Drop` must not.
                Err(mut unused) => unused.0 = None,
            }
        }
    }
}

impl State {
    fn enter(&mut self, payer: Payer) -> Result<oneshot::Receiver<HashSlot>, QueueFull> {
        self.remove_dropped();
        let own = self.queues.get(&payer).map_or(0, VecDeque::len);
        if own >= self.waiting_per_payer {
            return Err(QueueFull);
        }
        if self.waiting >= self.waiting_max {
            self.evict_newest(own)?;
        }
        let (sender, receiver) = oneshot::channel();
        if own == 0 {
            self.order.push_back(payer);
        }
        self.queues.entry(payer).or_default().push_back(sender);
        self.waiting += 1;
        Ok(receiver)
    }

    /// Removes the newest request of the payer with the longest queue, if that queue is longer than
    /// `own + 1`.
    fn evict_newest(&mut self, own: usize) -> Result<(), QueueFull> {
        let longest = self.queues.iter().max_by_key(|(_, queue)| queue.len());
        let (&payer, length) = longest.map(|(p, q)| (p, q.len())).ok_or(QueueFull)?;
        if length <= own + 1 {
            return Err(QueueFull);
        }
        if let Some(queue) = self.queues.get_mut(&payer) {
            queue.pop_back();
            self.waiting -= 1;
        }
        Ok(())
    }

    fn next(&mut self) -> Option<oneshot::Sender<HashSlot>> {
        let payer = self.order.pop_front()?;
        let queue = self.queues.get_mut(&payer)?;
        let next = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&payer);
        } else {
            self.order.push_back(payer);
        }
        self.waiting -= 1;
        next
    }

    /// Removes requests that were dropped.
    fn remove_dropped(&mut self) {
        self.queues.retain(|_, queue| {
            queue.retain(|sender| !sender.is_closed());
            !queue.is_empty()
        });
        let queues = &self.queues;
        self.order.retain(|payer| queues.contains_key(payer));
        self.waiting = self.queues.values().map(VecDeque::len).sum();
    }
}

impl Drop for HashSlot {
    fn drop(&mut self) {
        if let Some(queue) = self.0.take() {
            queue.pass_slot();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, future::BoxFuture};

    use super::*;

    fn payer(host: u8) -> Payer {
        Payer::address(IpAddr::from([10, 0, 0, host]))
    }

    fn enter(queue: &HashQueue, payer: Payer) -> BoxFuture<'static, Result<HashSlot, QueueFull>> {
        let queue = queue.clone();
        let mut waiting = async move { queue.acquire(payer).await }.boxed();
        // Polled once, so that the request is in the queue.
        match (&mut waiting).now_or_never() {
            Some(result) => std::future::ready(result).boxed(),
            None => waiting,
        }
    }

    #[tokio::test]
    async fn one_address_neither_fills_the_queue_nor_delays_others() {
        let queue = HashQueue::new(1, 4, 3);
        let first = queue.acquire(payer(1)).await.expect("free");
        let mut flood: Vec<_> = (0..3).map(|_| enter(&queue, payer(1))).collect();
        assert!(queue.acquire(payer(1)).await.is_err(), "its share is full");
        let other = enter(&queue, payer(2));
        // The queue is full; a third payer replaces a request of the payer with the most.
        let third = enter(&queue, payer(3));
        assert!(flood.pop().expect("three").await.is_err(), "pushed out");
        drop(first);
        let mut slots = Vec::new();
        for waiting in [flood.remove(0), other, third, flood.remove(0)] {
            let slot = waiting.await.expect("in this order");
            slots.push("slot");
            drop(slot);
        }
        assert_eq!(slots.len(), 4);
    }

    #[tokio::test]
    async fn a_slot_of_a_dropped_request_goes_to_the_next() {
        let queue = HashQueue::new(1, 4, 4);
        let first = queue.acquire(payer(1)).await.expect("free");
        let gone = enter(&queue, payer(2));
        let stays = enter(&queue, payer(3));
        drop(gone);
        drop(first);
        let slot = stays.await.expect("its slot");
        drop(slot);
        assert_eq!(queue.0.lock().free, 1);
    }
}
