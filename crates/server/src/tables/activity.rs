//! The activity of one source, in memory: counters, the last requests, and the limit of rejected
//! requests. A flood of requests changes only these bounded values.

use std::{
    collections::VecDeque,
    net::IpAddr,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use svc_core::Timestamp;
use svc_protocol::api::{RequestOutcome, SourceRejection, SourceRequest};

use crate::limits::AddressLimit;

/// Requests of a source that are kept.
const REQUESTS_KEPT: usize = 50;
/// The number of requests of one network that may be rejected within a minute. Further requests of
/// this network are rejected before their body is read. Each network has its own counter, so a
/// stranger who knows the URL, and who has addresses in a few networks, cannot block the real
/// sender. A wider network (IPv6 /48, IPv4 /16) may have more of them: see [`AddressLimit`].
const REJECTED_PER_MINUTE: u32 = 60;
/// For each source, the maximum number of sending networks of each size that have their own counter.
/// Further networks share the counter of the wider network that contains them.
const NETWORKS_MAX: usize = 256;
/// Complete requests of a source that are handled at the same time.
const IN_FLIGHT_MAX: usize = 64;

/// The statuses of answers that count as faults of the sender.
const FAULTS: [u16; 5] = [400, 401, 404, 408, 413];

pub struct Activity {
    state: Mutex<State>,
    rejections: AddressLimit,
    in_flight: AtomicUsize,
}

#[derive(Default)]
struct State {
    accepted: u64,
    rejected: u64,
    last_accepted_at: Option<Timestamp>,
    last_rejection: Option<SourceRejection>,
    /// Newest first.
    requests: VecDeque<SourceRequest>,
}

/// The counters of a source.
pub struct Counters {
    pub accepted: u64,
    pub rejected: u64,
    pub last_accepted_at: Option<Timestamp>,
    pub last_rejection: Option<SourceRejection>,
}

impl Default for Activity {
    fn default() -> Self {
        let rejections = AddressLimit::new(REJECTED_PER_MINUTE, Duration::from_secs(60));
        Self {
            state: Mutex::default(),
            rejections: rejections.with_networks(NETWORKS_MAX),
            in_flight: AtomicUsize::new(0),
        }
    }
}

impl Activity {
    /// Checks whether a request from this address may be read. The error is the time to wait.
    pub fn check_address(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        self.rejections.check(address, now)
    }

    /// Counts a request as in flight until the result is dropped; `None` if there are too many.
    pub fn begin(&self) -> Option<InFlight<'_>> {
        let before = self.in_flight.fetch_add(1, Ordering::AcqRel);
        let guard = InFlight(&self.in_flight);
        (before < IN_FLIGHT_MAX).then_some(guard)
    }

    pub fn note(&self, address: IpAddr, request: SourceRequest) {
        // Rejections because of the owner's limits are not faults of the sender.
        if request.outcome == RequestOutcome::Rejected && FAULTS.contains(&request.status) {
            // The result would apply only to the next request.
            let _ = self.rejections.take(address, Instant::now());
        }
        let mut state = self.state.lock();
        match request.outcome {
            RequestOutcome::Accepted => {
                state.accepted += 1;
                state.last_accepted_at = Some(request.at);
            }
            RequestOutcome::Rejected => {
                state.rejected += 1;
                state.last_rejection = Some(SourceRejection {
                    at: request.at,
                    reason: request.reason.clone().unwrap_or_default(),
                });
            }
            RequestOutcome::Repeated | RequestOutcome::Challenge => {}
        }
        state.requests.push_front(request);
        state.requests.truncate(REQUESTS_KEPT);
    }

    /// Counts a request that was rejected before it was read. The request is not listed: a flood
    /// would remove useful requests from the list.
    pub fn note_refused(&self) {
        self.state.lock().rejected += 1;
    }

    pub fn counters(&self) -> Counters {
        let state = self.state.lock();
        Counters {
            accepted: state.accepted,
            rejected: state.rejected,
            last_accepted_at: state.last_accepted_at,
            last_rejection: state.last_rejection.clone(),
        }
    }

    /// The last requests, newest first.
    pub fn requests(&self) -> Vec<SourceRequest> {
        self.state.lock().requests.iter().cloned().collect()
    }
}

/// A request in flight.
pub struct InFlight<'a>(&'a AtomicUsize);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(outcome: RequestOutcome, at: i64) -> SourceRequest {
        SourceRequest {
            at: Timestamp(at),
            outcome,
            status: 401,
            reason: Some(format!("reason {at}")),
            address: "192.0.2.1".to_owned(),
            event_type: None,
            event_id: None,
        }
    }

    #[test]
    fn a_flood_of_one_network_stays_bounded_and_stops_only_this_network() {
        let activity = Activity::default();
        let (bad, good): (IpAddr, IpAddr) = (
            "192.0.2.1".parse().expect("one"),
            "198.51.100.1".parse().expect("one"),
        );
        for n in 0..10_000 {
            activity.note(bad, request(RequestOutcome::Rejected, n));
        }
        assert_eq!(activity.requests().len(), REQUESTS_KEPT);
        assert_eq!(activity.counters().rejected, 10_000);
        assert_eq!(activity.requests()[0].at, Timestamp(9_999));
        assert!(activity.check_address(bad, Instant::now()).is_err());
        assert_eq!(activity.check_address(good, Instant::now()), Ok(()));
        activity.note(good, request(RequestOutcome::Accepted, 1));
        assert_eq!(activity.counters().accepted, 1);
    }

    #[test]
    fn a_flood_of_many_networks_stops_no_other_network() {
        let activity = Activity::default();
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        // A stranger with sixteen /48 uses up the counters of the /64 networks.
        for n in 0..20_000_u32 {
            let from = format!("2001:db8:{:x}:{:x}::1", n % 16, n / 16);
            activity.note(address(&from), request(RequestOutcome::Rejected, 1));
        }
        let now = Instant::now();
        assert!(activity.check_address(address("2001:db8::"), now).is_err());
        for other in ["2001:db8:10::1", "192.0.2.1"] {
            assert_eq!(
                activity.check_address(address(other), now),
                Ok(()),
                "{other}"
            );
        }
    }

    #[test]
    fn requests_in_flight_are_limited_and_released() {
        let activity = Activity::default();
        let held: Vec<_> = (0..IN_FLIGHT_MAX).map(|_| activity.begin()).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(activity.begin().is_none());
        drop(held);
        assert!(activity.begin().is_some());
    }
}
