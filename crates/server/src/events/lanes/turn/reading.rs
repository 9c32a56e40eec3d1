//! Reads the deliveries that a worker may send next.

use std::{collections::VecDeque, sync::Arc};

use svc_core::lane::{QUEUE_CAPACITY, READ_AHEAD_BYTES, STARTS_MAX, SendRate};
use svc_store::{
    StoreError,
    deliveries::{self, QueueHead},
    lanes::{self, Receiver},
};

use super::Turn;
use crate::events::lanes::{Destination, Job, window_of};

/// The maximum number of deliveries that one query reads.
pub(super) const READ_STEP: u32 = 8;

/// The deliveries that a worker already has when it asks for more.
pub(super) struct Reading<'a> {
    pub(super) ready: &'a [u64],
    /// Bytes of the payloads of `ready`.
    pub(super) ready_bytes: usize,
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

/// The next deliveries to read.
enum Heads {
    /// All deliveries after a number.
    After {
        after: u64,
        /// Deliveries that were read already.
        read: VecDeque<QueueHead>,
        /// Whether there are no deliveries after those in `read`.
        is_all: bool,
    },
    /// The deliveries with these numbers.
    Numbers(VecDeque<u64>),
}

impl Heads {
    /// Returns a few deliveries; none if there are no more.
    fn next(
        &mut self,
        turn: &mut Turn<'_, '_>,
        limit: usize,
    ) -> Result<Vec<QueueHead>, StoreError> {
        let lane = turn.lane.held.lane;
        let step = limit.min(READ_STEP as usize);
        match self {
            Self::After {
                after,
                read,
                is_all,
            } => {
                if read.is_empty() && !*is_all {
                    *read = deliveries::list_heads(turn.tx, lane, *after, step as u32)?.into();
                    *is_all = read.len() < step;
                }
                let next: Vec<_> = read.drain(..step.min(read.len())).collect();
                *after = next.last().map_or(*after, |last| last.n);
                Ok(next)
            }
            Self::Numbers(numbers) => {
                let next: Vec<_> = numbers.drain(..step.min(numbers.len())).collect();
                match next.is_empty() {
                    true => Ok(Vec::new()),
                    false => deliveries::list_numbered(turn.tx, lane, &next),
                }
            }
        }
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

    /// The numbers of waiting deliveries that the worker does not have yet. So the payloads of its
    /// other deliveries are not read again.
    fn list_unknown(&mut self, reading: &Reading<'_>) -> Result<Vec<u64>, StoreError> {
        let mut waiting = deliveries::list_waiting(self.tx, self.lane.held.lane)?;
        waiting.retain(|n| !reading.has(*n));
        Ok(waiting)
    }

    fn recount(&mut self) -> Result<(), StoreError> {
        let id = self.lane.held.lane;
        tracing::error!(lane.id = %id, "the depth of a lane is wrong: no delivery is queued; counting again");
        self.lane.depth = 0;
        self.finished = 0;
        lanes::turn::recount(self.tx, id)
    }

    /// Reads further deliveries, as many as the lane's window, its rate and [`READ_AHEAD_BYTES`]
    /// allow. Deliveries at the head that cannot be sent end as dead.
    pub(super) fn read_jobs(
        &mut self,
        reading: &Reading<'_>,
        rate: Option<&SendRate>,
    ) -> Result<Vec<Job>, StoreError> {
        let is_keyed = self.is_keyed();
        let window = match self.progress.is_after_crash {
            true => 1,
            // The whole queue: every delivery near the head may have to wait for an unfinished
            // delivery with the same key, while a delivery far behind can be sent.
            false if is_keyed => QUEUE_CAPACITY as usize,
            false => window_of(self.sink.as_deref()),
        };
        let limit = window.saturating_sub(reading.ready.len());
        let limit = rate.map_or(limit, |rate| limit.min(rate.allowed()));
        let mut heads = match is_keyed {
            true => Heads::Numbers(self.list_unknown(reading)?.into()),
            false => Heads::After {
                after: reading.last_read,
                is_all: self.is_read_to_end,
                read: std::mem::take(&mut self.heads).into(),
            },
        };
        let (mut jobs, mut bytes) = (Vec::new(), reading.ready_bytes);
        while jobs.len() < limit && bytes < READ_AHEAD_BYTES {
            let read = heads.next(self, limit - jobs.len())?;
            if read.is_empty() {
                if reading.is_at_head(&jobs) && self.lane.depth > 0 {
                    self.recount()?;
                }
                break;
            }
            for head in read {
                let is_head = reading.is_at_head(&jobs);
                match self.make_job(&head, is_head) {
                    Ok(job) => {
                        bytes += job.event.data.as_str().len();
                        jobs.push(job);
                    }
                    Err(why) if is_head => self.give_up(head, &why)?,
                    // This delivery is given up later, when it has reached the head.
                    Err(_) => return Ok(jobs),
                }
            }
        }
        Ok(jobs)
    }

    /// The attempt to make, or why none can be made.
    fn make_job(&self, head: &QueueHead, is_head: bool) -> Result<Job, String> {
        let lane = &self.lane;
        let crashes = lane.starts.saturating_sub(lane.failures);
        if is_head && crashes >= STARTS_MAX {
            return Err(format!(
                "given up after {STARTS_MAX} attempts that a crash of the server interrupted"
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
