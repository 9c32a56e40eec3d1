//! Idle connections to receivers, kept for the next delivery of the same lane.
//!
//! A connection is taken out while it is used, so two deliveries never share a connection. It
//! belongs to one lane, so two sinks never share a connection. The number of idle connections is
//! limited for each owner and for the server. At the limit of an owner, the owner's least recently
//! used connection is closed. At the limit of the server, the owner with the most connections loses
//! one in the same way.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use svc_core::{LaneId, UserId};
use tokio::time::{Instant, sleep};

/// The lane of a connection, and its owner. All global sinks together count as the owner `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LaneOwner {
    pub lane: LaneId,
    pub owner: Option<UserId>,
}

/// How many connections may be idle, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleLimits {
    /// Limit of the server.
    pub(super) total: usize,
    pub(super) per_owner: usize,
    /// Less than five seconds, because many receivers close an idle connection after that time.
    pub(super) time: Duration,
}

impl Default for IdleLimits {
    fn default() -> Self {
        Self {
            total: 512,
            per_owner: 128,
            time: Duration::from_secs(4),
        }
    }
}

pub(super) struct Connections<C> {
    limits: IdleLimits,
    idle: Arc<Mutex<Idle<C>>>,
}

struct Idle<C> {
    by_lane: HashMap<LaneId, Vec<IdleConnection<C>>>,
    by_owner: HashMap<Option<UserId>, usize>,
    count: usize,
    /// Whether the task that closes expired connections runs.
    is_swept: bool,
}

struct IdleConnection<C> {
    connection: C,
    owner: Option<UserId>,
    since: Instant,
}

impl<C: Send + 'static> Connections<C> {
    pub(super) fn new(limits: IdleLimits) -> Self {
        let idle = Idle {
            by_lane: HashMap::new(),
            by_owner: HashMap::new(),
            count: 0,
            is_swept: false,
        };
        Self {
            limits,
            idle: Arc::new(Mutex::new(idle)),
        }
    }

    /// Takes the most recently used connection of a lane.
    pub(super) fn take(&self, lane: LaneId) -> Option<C> {
        let newest = |idle: &IdleConnection<C>| std::cmp::Reverse(idle.since);
        let mut idle = self.idle.lock();
        let of_lane = idle.by_lane.get(&lane)?;
        let at = (0..of_lane.len()).min_by_key(|at| newest(&of_lane[*at]))?;
        let found = idle.remove(lane, at)?;
        drop(idle);
        (found.since.elapsed() < self.limits.time).then_some(found.connection)
    }

    /// Keeps a connection for the next delivery of its lane.
    pub(super) fn put(&self, LaneOwner { lane, owner }: LaneOwner, connection: C) {
        // Closed after the lock is released.
        let mut closed = Vec::new();
        let mut idle = self.idle.lock();
        if idle.by_owner.get(&owner).copied().unwrap_or(0) >= self.limits.per_owner {
            closed.extend(idle.remove_oldest_of(owner));
        } else if idle.count >= self.limits.total {
            let most = idle.by_owner.iter().max_by_key(|(_, count)| **count);
            let most = most.map(|(owner, _)| *owner);
            closed.extend(most.and_then(|owner| idle.remove_oldest_of(owner)));
        }
        let since = Instant::now();
        idle.count += 1;
        *idle.by_owner.entry(owner).or_default() += 1;
        idle.by_lane.entry(lane).or_default().push(IdleConnection {
            connection,
            owner,
            since,
        });
        if !std::mem::replace(&mut idle.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(&self.idle), self.limits.time));
        }
        drop(idle);
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.idle.lock().count
    }
}

impl<C> Idle<C> {
    fn remove(&mut self, lane: LaneId, at: usize) -> Option<IdleConnection<C>> {
        let of_lane = self.by_lane.get_mut(&lane)?;
        let removed = of_lane.swap_remove(at);
        if of_lane.is_empty() {
            self.by_lane.remove(&lane);
        }
        self.count -= 1;
        if let Some(count) = self.by_owner.get_mut(&removed.owner) {
            *count -= 1;
            if *count == 0 {
                self.by_owner.remove(&removed.owner);
            }
        }
        Some(removed)
    }

    fn remove_oldest_of(&mut self, owner: Option<UserId>) -> Option<IdleConnection<C>> {
        let of_owner = self.by_lane.iter().flat_map(|(lane, of_lane)| {
            let entries = of_lane.iter().enumerate();
            let entries = entries.filter(|(_, idle)| idle.owner == owner);
            entries.map(|(at, idle)| (idle.since, *lane, at))
        });
        let (_, lane, at) = of_owner.min_by_key(|(since, ..)| *since)?;
        self.remove(lane, at)
    }

    fn remove_expired(&mut self, time: Duration) -> Vec<IdleConnection<C>> {
        let expired = |idle: &IdleConnection<C>| idle.since.elapsed() >= time;
        let lanes: Vec<_> = self
            .by_lane
            .iter()
            .filter(|(_, of_lane)| of_lane.iter().any(expired))
            .map(|(lane, _)| *lane)
            .collect();
        let mut removed = Vec::new();
        for lane in lanes {
            let find = |idle: &Self| idle.by_lane.get(&lane)?.iter().position(expired);
            while let Some(at) = find(self) {
                removed.extend(self.remove(lane, at));
            }
        }
        removed
    }
}

/// Closes expired connections. Ends when no connection is idle.
async fn sweep<C>(idle: Weak<Mutex<Idle<C>>>, time: Duration) {
    loop {
        sleep(time / 4).await;
        let Some(idle) = idle.upgrade() else { return };
        let mut idle = idle.lock();
        let expired = idle.remove_expired(time);
        if idle.count == 0 {
            idle.is_swept = false;
            return;
        }
        drop(idle);
        drop(expired);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;
    use uuid::Uuid;

    use super::*;

    fn lane(number: u128) -> LaneId {
        LaneId(Uuid::from_u128(number))
    }

    fn of(lane_number: u128, owner: u128) -> LaneOwner {
        LaneOwner {
            lane: lane(lane_number),
            owner: Some(UserId(Uuid::from_u128(owner))),
        }
    }

    fn connections(total: usize, per_owner: usize) -> Connections<u32> {
        Connections::new(IdleLimits {
            total,
            per_owner,
            time: Duration::from_secs(60),
        })
    }

    #[tokio::test]
    async fn a_connection_is_taken_once_and_only_by_its_lane() {
        let connections = connections(10, 10);
        connections.put(of(1, 1), 11);
        assert_eq!(connections.take(lane(2)), None);
        assert_eq!(connections.take(lane(1)), Some(11));
        assert_eq!(connections.take(lane(1)), None);
        connections.put(of(1, 1), 11);
        connections.put(of(1, 1), 12);
        assert_eq!(connections.take(lane(1)), Some(12), "the newest first");
    }

    #[tokio::test]
    async fn expired_idle_connections_are_closed_in_the_background() {
        let connections = Connections::new(IdleLimits {
            time: Duration::from_millis(20),
            ..IdleLimits::default()
        });
        // The second round shows that the task is started again.
        for _ in 0..2 {
            let (held, closed) = tokio::sync::oneshot::channel::<()>();
            connections.put(of(1, 1), held);
            let closed = timeout(Duration::from_secs(30), closed).await;
            assert!(closed.expect("closed in time").is_err());
            timeout(Duration::from_secs(30), async {
                while connections.idle.lock().is_swept {
                    tokio::task::yield_now().await;
                }
            })
            .await
            .expect("the task ends");
            assert_eq!(connections.count(), 0);
        }
    }

    #[tokio::test]
    async fn an_expired_connection_is_not_used() {
        let connections = Connections::new(IdleLimits {
            time: Duration::ZERO,
            ..IdleLimits::default()
        });
        connections.put(of(1, 1), 11);
        assert_eq!(connections.take(lane(1)), None);
    }

    #[tokio::test]
    async fn idle_connections_are_limited_per_owner_and_per_server() {
        let connections = connections(4, 3);
        for n in 1..=5 {
            connections.put(of(n, 1), 0);
        }
        assert_eq!(connections.count(), 3);
        assert_eq!(connections.take(lane(2)), None, "the oldest was closed");
        assert_eq!(connections.take(lane(3)), Some(0));
        connections.put(of(3, 1), 0);
        // At the limit of the server, the owner with the most connections loses the oldest one.
        for n in 6..=7 {
            connections.put(of(n, n), 0);
        }
        assert_eq!(connections.count(), 4);
        assert_eq!(connections.take(lane(4)), None);
        for n in [3, 5, 6, 7] {
            assert_eq!(connections.take(lane(n)), Some(0), "{n}");
        }
        assert!(connections.idle.lock().by_owner.is_empty());
    }
}
