//! Limits how many requests of one kind come from one network, in levels: an IPv6 /64 within its
//! /56 within its /48, and an IPv4 address within its /24 within its /16. So a customer who has a
//! whole /56 or /48 may send little more than a customer who has one /64.

use std::{
    collections::HashMap,
    net::IpAddr,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use svc_core::network::NetworkSize;

/// The maximum number of networks of each level that have their own counter. Further networks have
/// only the counters of the wider networks that contain them.
const NETWORKS_MAX: usize = 10_000;

/// A level of networks. Each network may send `v4_times` or `v6_times` as many requests as one
/// client.
struct Level {
    size: NetworkSize,
    v4_times: u32,
    v6_times: u32,
}

const fn level(v4_bits: u32, v6_bits: u32, v4_times: u32, v6_times: u32) -> Level {
    Level {
        size: NetworkSize::new(v4_bits, v6_bits),
        v4_times,
        v6_times,
    }
}

/// A number of its own: with `LEVELS.len()` in the type of the counters, the compiler reports a cycle in
/// builds that are not incremental.
const LEVEL_COUNT: usize = 5;
/// From narrow to wide. The IPv4 networks may send more, because their addresses often belong to
/// different customers.
const LEVELS: [Level; LEVEL_COUNT] = [
    level(32, 64, 1, 1),
    level(24, 56, 16, 4),
    level(16, 48, 64, 16),
    level(8, 32, 64, 16),
    level(0, 0, 64, 16),
];
/// Each request counts at this many levels. The wider levels count only requests of networks that
/// have no counter at the level before.
const COUNTED_LEVELS: usize = 3;

/// At most `count` requests of one client within `window`, and a few times as many of a wider
/// network.
pub struct AddressLimit {
    count: u32,
    window: Duration,
    networks_max: usize,
    levels: Mutex<Levels>,
}

/// The start of the window of each network, and its requests since then. One table for each level.
type Levels = [HashMap<IpAddr, (Instant, u32)>; LEVEL_COUNT];

impl AddressLimit {
    pub fn new(count: u32, window: Duration) -> Self {
        Self {
            count,
            window,
            networks_max: NETWORKS_MAX,
            levels: Mutex::default(),
        }
    }

    /// The same limit, with fewer networks that have their own counter.
    #[must_use]
    pub fn with_networks(self, networks_max: usize) -> Self {
        Self {
            networks_max,
            ..self
        }
    }

    /// Whether the next request would be accepted. Counts nothing.
    pub fn check(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut levels = self.levels.lock();
        let keys = self.counter_keys(&mut levels, address, now);
        self.check_counters(&levels, &keys, now)
    }

    /// Counts a request. The error is the time until the next request is accepted. A rejected
    /// request is not counted, so that it cannot use up the limit of a wider network.
    pub fn take(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut levels = self.levels.lock();
        let keys = self.counter_keys(&mut levels, address, now);
        self.check_counters(&levels, &keys, now)?;
        for (index, key) in keys {
            let (start, count) = levels[index].entry(key).or_insert((now, 0));
            if now.saturating_duration_since(*start) >= self.window {
                (*start, *count) = (now, 0);
            }
            *count += 1;
        }
        Ok(())
    }

    /// The error is the longest time to wait for one of these counters.
    fn check_counters(
        &self,
        levels: &Levels,
        keys: &[(usize, IpAddr)],
        now: Instant,
    ) -> Result<(), Duration> {
        let waits = keys.iter().filter_map(|(index, key)| {
            let (start, count) = levels[*index].get(key)?;
            let age = now.saturating_duration_since(*start);
            let times = match key {
                IpAddr::V4(_) => LEVELS[*index].v4_times,
                IpAddr::V6(_) => LEVELS[*index].v6_times,
            };
            let is_full = *count >= self.count.saturating_mul(times) && age < self.window;
            is_full.then(|| self.window.saturating_sub(age))
        });
        waits.max().map_or(Ok(()), Err)
    }

    /// The levels that count a request of `address`, and the key of the counter at each level. If
    /// all counters of a level are in use, removes ended windows first.
    fn counter_keys(
        &self,
        levels: &mut Levels,
        address: IpAddr,
        now: Instant,
    ) -> Vec<(usize, IpAddr)> {
        let mut keys: Vec<(usize, IpAddr)> = Vec::with_capacity(LEVELS.len());
        for (index, (level, counters)) in LEVELS.iter().zip(levels).enumerate() {
            let is_counted = keys.last().is_some_and(|(last, _)| last + 1 == index);
            if index >= COUNTED_LEVELS && is_counted {
                break;
            }
            let key = level.size.network_of(address);
            if counters.len() >= self.networks_max && !counters.contains_key(&key) {
                counters
                    .retain(|_, (start, _)| now.saturating_duration_since(*start) < self.window);
                // The last level has two networks: one for IPv4, one for IPv6.
                if counters.len() >= self.networks_max && index + 1 < LEVELS.len() {
                    continue;
                }
            }
            keys.push((index, key));
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    /// How many of these requests are accepted.
    fn accepted(limit: &AddressLimit, now: Instant, from: impl Iterator<Item = String>) -> usize {
        from.filter(|from| limit.take(address(from), now).is_ok())
            .count()
    }

    #[test]
    fn requests_of_a_client_within_a_window_are_limited() {
        let limit = AddressLimit::new(2, Duration::from_secs(60));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let (one, same) = (address("2001:db8::1"), address("2001:db8::2"));
        let other = address("192.0.2.1");
        assert_eq!(limit.take(one, at(0)), Ok(()));
        assert_eq!(limit.take(same, at(10)), Ok(()));
        assert_eq!(limit.take(one, at(20)), Err(Duration::from_secs(40)));
        assert_eq!(limit.check(one, at(20)), Err(Duration::from_secs(40)));
        assert_eq!(limit.check(other, at(20)), Ok(()));
        assert_eq!(limit.take(other, at(20)), Ok(()));
        assert_eq!(limit.check(one, at(60)), Ok(()));
        assert_eq!(limit.take(one, at(60)), Ok(()));
    }

    #[test]
    fn wider_networks_may_send_a_few_times_as_much_as_a_client() {
        let now = Instant::now();
        // Requests of networks inside of one network, how many of them are accepted with a limit of
        // two, an address that is rejected then, and the nearest one that is not.
        type Networks = fn(u32) -> String;
        let cases: [(Networks, usize, &str, &str); 6] = [
            (
                |n| format!("2001:db8::{n:x}"),
                2,
                "2001:db8::ffff",
                "2001:db8:0:1::",
            ),
            (
                |n| format!("2001:db8:0:{:x}::", n % 256),
                8,
                "2001:db8:0:ff::",
                "2001:db8:0:100::",
            ),
            (
                |n| format!("2001:db8:0:{n:x}00::", n = n % 256),
                32,
                "2001:db8:0:ffff::",
                "2001:db8:1::",
            ),
            (|_| "192.0.2.1".to_owned(), 2, "192.0.2.1", "192.0.2.2"),
            (
                |n| format!("192.0.2.{}", n % 256),
                32,
                "192.0.2.255",
                "192.0.3.0",
            ),
            (
                |n| format!("192.0.{}.1", n % 256),
                128,
                "192.0.255.255",
                "192.1.0.0",
            ),
        ];
        for (from, expected, rejected, free) in cases {
            let limit = AddressLimit::new(2, Duration::from_secs(60));
            let accepted = accepted(&limit, now, (0..512).map(from));
            assert_eq!(accepted, expected, "{rejected}");
            assert!(limit.check(address(rejected), now).is_err(), "{rejected}");
            assert_eq!(limit.take(address(free), now), Ok(()), "{free}");
        }
    }

    #[test]
    fn a_rejected_request_does_not_use_up_the_limit_of_a_wider_network() {
        let limit = AddressLimit::new(2, Duration::from_secs(60));
        let now = Instant::now();
        let one = (0..100).map(|_| "2001:db8::1".to_owned());
        assert_eq!(accepted(&limit, now, one), 2);
        assert_eq!(limit.take(address("2001:db8:0:1::1"), now), Ok(()));
    }

    #[test]
    fn networks_without_a_counter_share_that_of_their_wider_network() {
        let limit = AddressLimit::new(1, Duration::from_secs(60)).with_networks(100);
        let now = Instant::now();
        // A stranger with ten /48 uses up the counters of the /64 and of the /56.
        let flood = |n: u32| format!("2001:db8:{:x}:{:x}00::", n % 10, n / 10);
        accepted(&limit, now, (0..1_000).map(flood));
        let used: Vec<usize> = limit.levels.lock().iter().map(HashMap::len).collect();
        assert_eq!(used, [100, 100, 10, 0, 0]);
        // Other networks still have the counter of their own /48 or /16.
        for other in ["2001:db8:a::1", "2001:db8:b::1", "192.0.2.1"] {
            assert_eq!(limit.take(address(other), now), Ok(()), "{other}");
        }
        let same = (0..100).map(|n| format!("2001:db8:a:{n:x}::"));
        assert_eq!(accepted(&limit, now, same), 15, "one /48, and one before");
        assert_eq!(limit.take(address("2001:db8:b::1"), now), Ok(()));
        // Without counters for /48, networks share that of their /32 or /8.
        accepted(&limit, now, (16..256).map(|n| format!("2001:db8:{n:x}::")));
        assert_eq!(limit.levels.lock()[2].len(), 100);
        assert!(limit.check(address("2001:db8:ffff::"), now).is_err());
        assert_eq!(limit.take(address("2001:db9::"), now), Ok(()));
        assert_eq!(limit.take(address("198.51.100.1"), now), Ok(()));
        // Beyond these, all others share two counters.
        let many = (0..1_000).map(|n| format!("2003:{n:x}::"));
        accepted(&limit, now, many);
        let used: Vec<usize> = limit.levels.lock().iter().map(HashMap::len).collect();
        assert_eq!(used, [100, 100, 100, 100, 1]);
        assert_eq!(limit.take(address("203.0.113.1"), now), Ok(()));
    }

    #[test]
    fn ended_windows_make_room_for_a_new_network() {
        let limit = AddressLimit::new(1, Duration::from_secs(60)).with_networks(2);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let own = |limit: &AddressLimit| limit.levels.lock()[0].len();
        for (from, seconds, counters) in [
            ("192.0.2.1", 0, 1),
            ("192.0.2.2", 50, 2),
            ("192.0.2.3", 59, 2),
            // The window of the first address has ended, the second one still runs.
            ("192.0.2.4", 61, 2),
        ] {
            assert_eq!(limit.take(address(from), at(seconds)), Ok(()), "{from}");
            assert_eq!(own(&limit), counters, "{from}");
        }
        assert!(limit.check(address("192.0.2.2"), at(61)).is_err());
        assert!(limit.check(address("192.0.2.4"), at(61)).is_err());
        assert_eq!(limit.check(address("192.0.2.1"), at(61)), Ok(()));
    }
}
