//! [`ReadyJobs`]: the deliveries of a lane that were read but not sent yet. Decides which of them
//! may be sent now. Deliveries with the same key are sent one after the other.

use std::collections::{BTreeMap, HashMap, HashSet};

use svc_core::Timestamp;

use super::Job;

#[derive(Default)]
pub(super) struct ReadyJobs {
    /// By number, in the order of delivery.
    jobs: BTreeMap<u64, Job>,
    /// Number and key of each delivery in progress. No other delivery with the same key may be
    /// sent.
    busy: HashMap<u64, String>,
}

impl ReadyJobs {
    pub(super) fn add(&mut self, jobs: Vec<Job>) {
        self.jobs.extend(jobs.into_iter().map(|job| (job.n, job)));
    }

    pub(super) fn clear(&mut self) {
        self.jobs.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(super) fn first(&self) -> Option<&Job> {
        self.jobs.values().next()
    }

    /// Bytes of the payloads of these deliveries.
    pub(super) fn bytes(&self) -> usize {
        self.jobs
            .values()
            .map(|job| job.event.data.as_str().len())
            .sum()
    }

    pub(super) fn numbers(&self) -> Vec<u64> {
        self.jobs.keys().copied().collect()
    }

    /// The number of the next delivery that may be sent at this time.
    pub(super) fn next(&self, now: Timestamp) -> Option<u64> {
        let mut taken: HashSet<&str> = self.busy.values().map(String::as_str).collect();
        let mut jobs = self.jobs.values();
        let next = loop {
            let job = jobs.next()?;
            // Only the first delivery of each key may be sent.
            if taken.insert(&job.key) && job.retry_at <= now {
                break job;
            }
        };
        Some(next.n)
    }

    /// The earliest future retry time of a delivery; `None` if a delivery may be sent now or is in
    /// progress, or if there are no deliveries.
    pub(super) fn blocked_until(&self, now: Timestamp) -> Option<Timestamp> {
        if !self.busy.is_empty() || self.next(now).is_some() {
            return None;
        }
        self.jobs
            .values()
            .map(|job| job.retry_at)
            .filter(|at| *at > now)
            .min()
    }

    /// Removes a delivery that is sent now.
    pub(super) fn take(&mut self, n: u64) -> Option<Job> {
        let job = self.jobs.remove(&n)?;
        self.busy.insert(n, job.key.clone());
        Some(job)
    }

    /// Ends a delivery, so that the next one with its key may be sent.
    pub(super) fn free(&mut self, n: u64) {
        self.busy.remove(&n);
    }
}

#[cfg(test)]
mod tests {
    use svc_core::{
        EventId, LaneId, SpaceId, UserId,
        event::{Actor, Event},
        json_text::JsonText,
    };

    use super::*;
    use crate::events::lanes::Destination;

    fn job(n: u64, key: &str, retry_at: i64) -> Job {
        Job {
            lane: LaneId::NIL,
            n,
            attempt: 1,
            event: Event {
                id: EventId::NIL,
                r#type: "custom.x".to_owned(),
                ts: Timestamp(0),
                owner_id: UserId::NIL,
                space_id: SpaceId::NIL,
                actor: Actor::system(),
                data: JsonText::parse("{}").expect("JSON"),
                trace: None,
            },
            destination: Destination::Method {
                owner_id: UserId::NIL,
                method: "x".to_owned(),
                formatters: Vec::new(),
            },
            retry_at: Timestamp(retry_at),
            key: key.to_owned(),
        }
    }

    #[test]
    fn a_delivery_waits_for_an_earlier_one_with_its_key_and_others_overtake() {
        let mut ready = ReadyJobs::default();
        let now = Timestamp(10);
        ready.add(vec![job(1, "a", 0), job(2, "a", 0), job(3, "b", 0)]);
        assert_eq!(ready.next(now), Some(1));
        assert!(ready.take(1).is_some());
        assert_eq!(ready.next(now), Some(3), "`a` is busy");
        assert!(ready.take(3).is_some());
        assert_eq!(ready.next(now), None);
        assert_eq!(ready.blocked_until(now), None, "deliveries are in flight");
        ready.free(1);
        assert_eq!(ready.next(now), Some(2));
    }

    #[test]
    fn a_lane_with_a_delivery_in_flight_is_not_blocked() {
        let mut ready = ReadyJobs::default();
        ready.add(vec![job(1, "a", 0), job(2, "b", 20)]);
        assert!(ready.take(1).is_some());
        assert_eq!(ready.blocked_until(Timestamp(10)), None);
        ready.free(1);
        assert_eq!(ready.blocked_until(Timestamp(10)), Some(Timestamp(20)));
    }

    #[test]
    fn a_lane_is_blocked_until_the_first_delivery_of_a_key_may_be_sent_again() {
        let mut ready = ReadyJobs::default();
        ready.add(vec![job(1, "a", 20), job(2, "a", 10)]);
        assert_eq!(ready.blocked_until(Timestamp(10)), Some(Timestamp(20)));
    }

    #[test]
    fn a_delivery_that_waits_for_its_retry_holds_back_its_key_only() {
        let mut ready = ReadyJobs::default();
        ready.add(vec![job(1, "a", 20), job(2, "a", 0), job(3, "b", 0)]);
        assert_eq!(ready.next(Timestamp(10)), Some(3));
        assert!(ready.take(3).is_some());
        ready.free(3);
        assert_eq!(ready.blocked_until(Timestamp(10)), Some(Timestamp(20)));
        assert_eq!(ready.next(Timestamp(20)), Some(1));
        assert_eq!(ready.blocked_until(Timestamp(20)), None);
    }
}
