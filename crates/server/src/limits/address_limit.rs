//! Limits how many requests of one kind come from one network: an IPv4 address, or the /64 network
//! of an IPv6 address.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::network;

/// The maximum number of networks that have their own counter. Further networks share one counter.
const NETWORKS_MAX: usize = 10_000;
/// The counter that further networks share.
const REST: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// At most `count` requests of one network within `window`.
pub struct AddressLimit {
    count: u32,
    window: Duration,
    networks_max: usize,
    taken: Mutex<Counters>,
}

/// The start of each network's window, and its requests since then.
type Counters = HashMap<IpAddr, (Instant, u32)>;

impl AddressLimit {
    pub fn new(count: u32, window: Duration) -> Self {
        Self {
            count,
            window,
            networks_max: NETWORKS_MAX,
            taken: Mutex::default(),
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
        let mut taken = self.taken.lock();
        let key = self.counter_key(&mut taken, address, now);
        let counter = taken.get(&key);
        let Some((start, count)) = counter else {
            return Ok(());
        };
        let age = now.saturating_duration_since(*start);
        match *count >= self.count && age < self.window {
            true => Err(self.window.saturating_sub(age)),
            false => Ok(()),
        }
    }

    /// Counts a request. The error is the time until the next request is accepted.
    pub fn take(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let mut taken = self.taken.lock();
        let key = self.counter_key(&mut taken, address, now);
        let (start, count) = taken.entry(key).or_insert((now, 0));
        let age = now.saturating_duration_since(*start);
        if age >= self.window {
            (*start, *count) = (now, 0);
        }
        if *count >= self.count {
            return Err(self.window.saturating_sub(age));
        }
        *count += 1;
        Ok(())
    }

    /// The key of the counter of `address`: its network, or the shared counter if all counters are
    /// in use. Removes ended windows first.
    fn counter_key(&self, taken: &mut Counters, address: IpAddr, now: Instant) -> IpAddr {
        let key = network(address);
        if taken.contains_key(&key) || taken.len() < self.networks_max {
            return key;
        }
        taken.retain(|_, (start, _)| now.saturating_duration_since(*start) < self.window);
        match taken.len() < self.networks_max {
            true => key,
            false => REST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_a_network_and_the_number_of_networks_are_limited() {
        let limit = AddressLimit::new(2, Duration::from_secs(60));
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let one: IpAddr = "2001:db8::1".parse().expect("an address");
        let same: IpAddr = "2001:db8::2".parse().expect("an address");
        let other: IpAddr = "192.0.2.1".parse().expect("an address");
        assert_eq!(limit.take(one, at(0)), Ok(()));
        assert_eq!(limit.take(same, at(10)), Ok(()));
        assert_eq!(limit.take(one, at(20)), Err(Duration::from_secs(40)));
        assert_eq!(limit.check(one, at(20)), Err(Duration::from_secs(40)));
        assert_eq!(limit.check(other, at(20)), Ok(()));
        assert_eq!(limit.take(other, at(20)), Ok(()));
        assert_eq!(limit.check(one, at(60)), Ok(()));
        assert_eq!(limit.take(one, at(60)), Ok(()));
        for n in 0..NETWORKS_MAX as u32 {
            let _ = limit.take(Ipv4Addr::from_bits(0x0a00_0000 + n).into(), at(61));
        }
        assert!(limit.taken.lock().len() <= NETWORKS_MAX + 1);
        // Networks beyond the limit share a counter, and known networks keep theirs.
        assert!(
            limit
                .take("198.51.100.1".parse().expect("one"), at(62))
                .is_err()
        );
        assert_eq!(limit.take(one, at(62)), Ok(()));
    }
    #[test]
    fn ended_windows_make_room_for_a_new_network() {
        let limit = AddressLimit::new(1, Duration::from_secs(60)).with_networks(2);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let address = |last| IpAddr::V4(Ipv4Addr::new(192, 0, 2, last));
        for (last, seconds) in [(1, 0), (2, 0), (3, 50)] {
            assert_eq!(limit.take(address(last), at(seconds)), Ok(()));
        }
        // The third network has used up the shared counter, and the first two windows still run.
        assert!(limit.check(address(4), at(59)).is_err());
        assert_eq!(limit.check(address(4), at(61)), Ok(()));
        assert_eq!(limit.take(address(4), at(61)), Ok(()));
    }
}
