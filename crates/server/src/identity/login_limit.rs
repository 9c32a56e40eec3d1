//! How many failed logins are let through. In memory only: a restart forgives.

use std::{
    collections::HashMap,
    hash::Hash,
    net::{IpAddr, Ipv6Addr},
    time::Duration,
};

use parking_lot::Mutex;
use svc_core::Timestamp;

use super::policy::LoginPolicy;

pub(super) struct LoginLimit {
    policy: LoginPolicy,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    by_user_and_address: HashMap<(String, IpAddr), Window>,
    by_address: HashMap<IpAddr, Window>,
}

#[derive(Clone, Copy)]
struct Window {
    began: Timestamp,
    failures: u32,
}

impl LoginLimit {
    pub(super) fn new(policy: LoginPolicy) -> Self {
        Self {
            policy,
            counts: Mutex::default(),
        }
    }

    /// Counts an attempt as failed before it is looked at, so that many at once gain nothing.
    /// `Err` says when to come back.
    pub(super) fn begin(
        &self,
        username: &str,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), Duration> {
        let address = network(address);
        let mut counts = self.counts.lock();
        let counts = &mut *counts;
        let LoginPolicy {
            window,
            per_user_and_address,
            per_address,
            tracked_max,
        } = self.policy;
        let key = (username.to_owned(), address);
        let left = |found: Option<&Window>, max| match found {
            Some(found) if now < found.began.plus(window) && found.failures >= max => {
                Err(found.began.plus(window).since(now))
            }
            _ => Ok(()),
        };
        left(counts.by_user_and_address.get(&key), per_user_and_address)?;
        left(counts.by_address.get(&address), per_address)?;
        count(
            &mut counts.by_user_and_address,
            key,
            now,
            window,
            tracked_max,
        );
        count(&mut counts.by_address, address, now, window, tracked_max);
        Ok(())
    }

    /// Takes back what [`begin`](Self::begin) counted: the attempt was good.
    pub(super) fn succeed(&self, username: &str, address: IpAddr) {
        let address = network(address);
        let mut counts = self.counts.lock();
        counts
            .by_user_and_address
            .remove(&(username.to_owned(), address));
        if let Some(window) = counts.by_address.get_mut(&address) {
            window.failures = window.failures.saturating_sub(1);
        }
    }
}

fn count<K: Hash + Eq + Clone>(
    windows: &mut HashMap<K, Window>,
    key: K,
    now: Timestamp,
    length: Duration,
    tracked_max: usize,
) {
    if windows.len() >= tracked_max && !windows.contains_key(&key) {
        windows.retain(|_, window| now < window.began.plus(length));
        if windows.len() >= tracked_max {
            let oldest = windows.iter().min_by_key(|(_, window)| window.began);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                windows.remove(&oldest);
            }
        }
    }
    let window = windows.entry(key).or_insert(Window {
        began: now,
        failures: 0,
    });
    if now >= window.began.plus(length) {
        *window = Window {
            began: now,
            failures: 0,
        };
    }
    window.failures += 1;
}

/// Whoever has one IPv6 address has its whole /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn limit() -> LoginLimit {
        LoginLimit::new(LoginPolicy {
            window: Duration::from_secs(60),
            per_user_and_address: 2,
            per_address: 4,
            tracked_max: 3,
        })
    }

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_user_at_one_address_has_so_many_failures_per_window() {
        let limit = limit();
        let (here, there) = (address("10.0.0.1"), address("10.0.0.2"));
        assert_eq!(limit.begin("ann", here, NOW), Ok(()));
        assert_eq!(limit.begin("ann", here, NOW), Ok(()));
        assert_eq!(limit.begin("ann", here, NOW), Err(Duration::from_secs(60)));
        assert_eq!(limit.begin("ann", there, NOW), Ok(()));
        assert_eq!(limit.begin("bob", here, NOW), Ok(()));
        let later = NOW.plus(Duration::from_secs(60));
        assert_eq!(limit.begin("ann", here, later), Ok(()));
    }

    #[test]
    fn an_address_has_so_many_failures_over_all_users() {
        let limit = limit();
        for (user, host) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
            let same_network = address(&format!("2001:db8::{host}"));
            assert_eq!(limit.begin(user, same_network, NOW), Ok(()));
        }
        assert!(limit.begin("e", address("2001:db8::9"), NOW).is_err());
        assert!(limit.begin("e", address("2001:db8:1::9"), NOW).is_ok());
    }

    #[test]
    fn a_good_login_takes_its_attempts_back() {
        let limit = limit();
        let here = address("10.0.0.1");
        for _ in 0..20 {
            assert_eq!(limit.begin("ann", here, NOW), Ok(()));
            limit.succeed("ann", here);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let limit = limit();
        for host in 0..100 {
            let _ = limit.begin("ann", address(&format!("10.0.0.{host}")), NOW);
        }
        let counts = limit.counts.lock();
        assert_eq!(counts.by_user_and_address.len(), 3);
        assert_eq!(counts.by_address.len(), 3);
    }
}
