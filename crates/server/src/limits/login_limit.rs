//! Slows down logins after failed attempts, by the rule of `svc_core::login`.
//!
//! Failures are counted in tables of a fixed size. The key of a counter is a name, an address or a
//! pair of both. No counter is evicted, so a flood of names or addresses cannot reset a counter.
//! Each table has two rows, and each row has its own secret hash function. If two keys share a
//! slot in one row, they very likely have different slots in the other row. The smaller count
//! applies.
//!
//! In a zone, failures are also counted in the database, for all servers together
//! (`zone_failures`).

mod zone_failures;

use std::{
    hash::{BuildHasher, Hash, RandomState},
    net::IpAddr,
    time::Duration,
};

use parking_lot::Mutex;
use svc_core::{
    Timestamp,
    login::{Failures, LoginDelay},
    network::NetworkSize,
};
use svc_store::{Store, StoreError};

use self::zone_failures::ZoneFailures;

/// How failed logins slow down further logins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoginPolicy {
    pub slow_down: LoginDelay,
    /// Number of counters for pairs of user and address, in each row of their table.
    pub tracked: usize,
}

impl Default for LoginPolicy {
    fn default() -> Self {
        Self {
            slow_down: LoginDelay {
                free: 10,
                wait_max: Duration::from_secs(60),
                suspicious: 50,
                forget_after: Duration::from_secs(15 * 60),
            },
            tracked: 65_536,
        }
    }
}

pub struct LoginLimit {
    rule: LoginDelay,
    counts: Mutex<Counts>,
    /// The failures at all servers of a zone.
    zone: Option<ZoneFailures>,
}

/// Why a login may not be attempted now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoginRefused {
    /// There were failures; the next attempt must wait.
    Wait(Duration),
    Store(StoreError),
}

impl From<StoreError> for LoginRefused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

struct Counts {
    own: Table,
    at_address: Table,
    for_account: Table,
}

impl LoginLimit {
    pub fn new(policy: LoginPolicy, store: &Store) -> Self {
        let zone = || ZoneFailures::new(store.clone(), policy);
        Self {
            zone: store.is_shared().then(zone),
            ..Self::of_one_server(policy)
        }
    }

    fn of_one_server(policy: LoginPolicy) -> Self {
        Self {
            zone: None,
            rule: policy.slow_down,
            counts: Mutex::new(Counts {
                own: Table::new(policy.tracked),
                // There are fewer addresses and fewer users than pairs of both.
                at_address: Table::new(policy.tracked / 4),
                for_account: Table::new(policy.tracked / 4),
            }),
        }
    }

    /// Counts an attempt as failed before the password is checked, so that concurrent attempts
    /// cannot avoid the limit. A rejected attempt is not counted.
    pub async fn begin(
        &self,
        username: &str,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), LoginRefused> {
        if let Some(zone) = &self.zone {
            zone.check(username, network(address)).await?;
        }
        self.begin_here(username, address, now)
            .map_err(LoginRefused::Wait)
    }

    /// The error is the time to wait.
    fn begin_here(&self, username: &str, address: IpAddr, now: Timestamp) -> Result<(), Duration> {
        let (rule, address) = (&self.rule, network(address));
        let mut counts = self.counts.lock();
        let own = (username, address);
        let wait = rule.wait(
            counts.own.find(&own),
            counts.at_address.find(&address),
            counts.for_account.find(username),
            now,
        );
        if let Some(wait) = wait {
            return Err(wait);
        }
        let count = |failures: Failures| rule.count(failures, now);
        counts.own.change(&own, count);
        counts.at_address.change(&address, count);
        counts.for_account.change(username, count);
        Ok(())
    }

    /// Records that the attempt counted by [`begin`](Self::begin) has failed: the wait starts now.
    pub async fn fail(
        &self,
        username: &str,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.renew_here(username, address, now);
        match &self.zone {
            Some(zone) => zone.count(username, network(address)).await,
            None => Ok(()),
        }
    }

    fn renew_here(&self, username: &str, address: IpAddr, now: Timestamp) {
        let own = (username, network(address));
        let renew = |failures: Failures| Failures {
            last: failures.last.max(now),
            ..failures
        };
        self.counts.lock().own.change(&own, renew);
    }

    /// Records that the attempt counted by [`begin`](Self::begin) has succeeded. It no longer
    /// counts as failed, and earlier failures of this user at this address are forgotten.
    pub async fn succeed(&self, username: &str, address: IpAddr) -> Result<(), StoreError> {
        self.forgive_here(username, address);
        match &self.zone {
            Some(zone) => zone.reset(username, network(address)).await,
            None => Ok(()),
        }
    }

    fn forgive_here(&self, username: &str, address: IpAddr) {
        let address = network(address);
        let mut counts = self.counts.lock();
        let less = |failures: Failures| Failures {
            count: failures.count.saturating_sub(1),
            ..failures
        };
        counts.own.change(&(username, address), |_| Failures::NONE);
        counts.at_address.change(&address, less);
        counts.for_account.change(username, less);
    }
}

/// A fixed number of counters, indexed by two hashes of their keys.
struct Table {
    rows: [(RandomState, Vec<Failures>); 2],
}

impl Table {
    fn new(tracked: usize) -> Self {
        let row = || (RandomState::new(), vec![Failures::NONE; tracked.max(1)]);
        Self {
            rows: [row(), row()],
        }
    }

    /// The failures of a key. The number is too high only if the key shares its slot in each row
    /// with another key.
    fn find<K: Hash + ?Sized>(&self, key: &K) -> Failures {
        let found = self.rows.each_ref().map(|(hasher, row)| {
            let slot = slot(hasher, row.len(), key);
            row[slot]
        });
        found
            .into_iter()
            .min_by_key(|failures| failures.count)
            .unwrap_or(Failures::NONE)
    }

    fn change<K: Hash + ?Sized>(&mut self, key: &K, change: impl Fn(Failures) -> Failures) {
        for (hasher, row) in &mut self.rows {
            let slot = slot(hasher, row.len(), key);
            row[slot] = change(row[slot]);
        }
    }
}

fn slot<K: Hash + ?Sized>(hasher: &RandomState, length: usize, key: &K) -> usize {
    // Lossless: the remainder is below the length, which is a `usize`.
    (hasher.hash_one(key) % length as u64) as usize
}

/// The network of an address. For IPv6 it is the /64, which usually belongs to one owner. For IPv4
/// it is the address itself.
pub fn network(address: IpAddr) -> IpAddr {
    NetworkSize::CLIENT.network_of(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn limit() -> LoginLimit {
        LoginLimit::of_one_server(LoginPolicy {
            slow_down: LoginDelay {
                free: 2,
                wait_max: Duration::from_secs(8),
                suspicious: 20,
                forget_after: Duration::from_secs(60),
            },
            tracked: 65_536,
        })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn after(seconds: u64) -> Timestamp {
        NOW.plus(Duration::from_secs(seconds))
    }

    #[test]
    fn waits_grow_only_for_one_user_at_one_address() {
        let limit = limit();
        let (here, there) = (address("10.0.0.1"), address("10.0.0.2"));
        assert_eq!(limit.begin_here("ann", here, NOW), Ok(()));
        assert_eq!(limit.begin_here("ann", here, NOW), Ok(()));
        for _ in 0..100 {
            let waits = limit.begin_here("ann", here, NOW);
            assert_eq!(waits, Err(Duration::from_secs(1)), "refusals do not count");
        }
        assert_eq!(limit.begin_here("ann", there, NOW), Ok(()));
        assert_eq!(limit.begin_here("bob", here, NOW), Ok(()));
        assert_eq!(limit.begin_here("ann", here, after(1)), Ok(()));
        assert_eq!(
            limit.begin_here("ann", here, after(1)),
            Err(Duration::from_secs(2))
        );
    }

    #[test]
    fn an_attack_on_many_names_leaves_every_user_an_attempt() {
        let limit = limit();
        for host in 0..100 {
            let same_network = address(&format!("2001:db8::{:x}", host % 7 + 1));
            let _ = limit.begin_here(&format!("user{host}"), same_network, NOW);
        }
        let here = address("2001:db8::9");
        assert_eq!(limit.begin_here("ann", here, NOW), Ok(()));
        assert_eq!(
            limit.begin_here("ann", here, NOW),
            Err(Duration::from_secs(1))
        );
        assert_eq!(limit.begin_here("ann", here, after(1)), Ok(()));
    }

    #[test]
    fn a_flood_of_names_does_not_reset_a_counter() {
        let limit = limit();
        let here = address("10.0.0.1");
        for seconds in [0, 0, 1, 3] {
            assert_eq!(limit.begin_here("ann", here, after(seconds)), Ok(()));
        }
        for n in 0..500 {
            let _ = limit.begin_here(&format!("user{n}"), here, after(3));
        }
        assert!(limit.begin_here("ann", here, after(3)).is_err());
    }

    #[test]
    fn a_successful_login_is_not_counted() {
        let limit = limit();
        let here = address("10.0.0.1");
        for _ in 0..50 {
            assert_eq!(limit.begin_here("ann", here, NOW), Ok(()));
            limit.forgive_here("ann", here);
        }
    }
}
