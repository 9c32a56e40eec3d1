//! Reads the deliveries that a worker may send next.

use std::sync::Arc;

use svc_core::lane::{QUEUE_CAPACITY, READ_AHEAD_BYTES, STARTS_MAX, SendRate};
use svc_store::{
    StoreError,
    deliveries::{self, QueueHead},
    lanes::{self, Receiver},
};

use super::Turn;
use crate::events::lanes::{Destination, Job, window_of};

/// Deliveries that one query reads.
const READ_STEP: u32 = 8;

/// The deliveries that a worker knows when it asks for more.
pub(super) struct Reading<'a> {
    pub(super) ready: &'a [u64],
    pub(super) in_flight: &'a [u64],
    pub(super) last_read: u64,
}

impl Reading<'_> {
    fn has(&self, n: u64) -> bool {
        self.ready.contains(&n) || self.in_flight.contains(&n)
    }

    /// Whether the next delivery that is read is at the head of the lane.
    fn is_at_head(&self, jobs: &[Job]) -> bool {
        self.ready.is_empty() && self.in_flight.is_empty() && jobs.is_empty()
    }
}

impl Turn<'_, '_> {
    /// The rate of the sink and how much of it is used.
    pub(super) fn rate(&self) -> Option<SendRate> {
        let per_minute = self.sink.as_ref()?.policy.rate_per_minute?;
        let (until, now) = (self.lane.rate_until, self.time.now);
        Some(SendRate::new(per_minute, until, now))
    }

    pub(super) fn is_keyed(&self) -> bool {
        self.sink.as_ref().is_some_and(|sink| sink.is_keyed())
    }

    /// Reads further deliveries, as many as the lane's window and rate allow. Deliveries at the head
    /// that cannot be sent end as dead.
    pub(super) fn read_jobs(
        &mut self,
        reading: &Reading<'_>,
        rate: Option<&SendRate>,
    ) -> Result<Vec<Job>, StoreError> {
        let is_keyed = self.is_keyed();
        let window = match self.progress.is_after_crash {
            true => 1,
            // A delivery may wait for its key, so all of them are read.
            false if is_keyed => QUEUE_CAPACITY as usize,
            false => window_of(self.sink.as_deref()),
        };
        let limit = window.saturating_sub(reading.ready.len());
        let limit = rate.map_or(limit, |rate| limit.min(rate.allowed()));
        // Those behind a delivery that failed were read before it is sent again.
        let mut after = if is_keyed { 0 } else { reading.last_read };
        let (mut jobs, mut bytes) = (Vec::new(), 0);
        while jobs.len() < limit && bytes < READ_AHEAD_BYTES {
            let step = match is_keyed {
                true => READ_STEP,
                false => READ_STEP.min(u32::try_from(limit - jobs.len()).unwrap_or(READ_STEP)),
            };
            let heads = deliveries::list_heads(self.tx, self.lane.held.lane, after, step)?;
            if heads.is_empty() && reading.is_at_head(&jobs) && self.lane.depth > 0 {
                let id = self.lane.held.lane;
                tracing::error!(lane.id = %id, "the depth of a lane is wrong: no delivery is queued; counting again");
                lanes::recount(self.tx, id)?;
                self.lane.depth = 0;
            }
            let is_last = heads.len() < step as usize;
            for head in heads {
                after = head.n;
                if reading.has(head.n) || jobs.len() >= limit {
                    continue;
                }
                let is_head = reading.is_at_head(&jobs);
                match self.make_job(&head, is_head) {
                    Ok(job) => {
                        bytes += job.event.data.as_str().len();
                        jobs.push(job);
                    }
                    Err(why) if is_head => self.give_up(head, &why)?,
                    // Decided when it is at the head.
                    Err(_) => return Ok(jobs),
                }
            }
            if is_last {
                break;
            }
        }
        Ok(jobs)
    }

    /// The attempt to make, or why there is none.
    fn make_job(&self, head: &QueueHead, is_head: bool) -> Result<Job, String> {
        let lane = &self.lane;
        let crashes = lane.starts.saturating_sub(lane.failures);
        if is_head && crashes >= STARTS_MAX {
            return Err(format!(
                "given up after {STARTS_MAX} starts, each ended by a crash of the server"
            ));
        }
        let Some(event) = head.event.clone() else {
            return Err("the event no longer exists".to_owned());
        };
        let destination = match (&lane.receiver, &self.sink) {
            (Receiver::Sink(_), Some(sink)) => Destination::Sink(Arc::clone(sink)),
            (Receiver::Sink(_), None) => return Err("the sink no longer exists".to_owned()),
            (Receiver::Method(method), _) => Destination::Method {
                owner_id: lane.owner_id,
                method: method.clone(),
                formatters: lane.formatters.clone(),
            },
        };
        Ok(Job {
            lane: lane.held.lane,
            n: head.n,
            attempt: match is_head && !self.is_keyed() {
                true => lane.failures + 1,
                false => head.failures + 1,
            },
            event,
            destination,
            retry_at: head.retry_at,
            key: String::new(),
        })
    }
}
