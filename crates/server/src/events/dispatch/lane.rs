//! A lane while events are dispatched: decides what the lane does with an event, and gathers the changes
//! of its counters.

use svc_core::{event::Event, lane::QUEUE_CAPACITY};
use svc_store::{
    StoreError, Tx,
    dispatch::{self, DispatchLane, LaneChange},
};

use super::{DispatchResult, DroppedEvent, report_drop};

/// A lane, and the changes that are not written yet.
pub(super) struct LaneInDispatch {
    pub(super) lane: DispatchLane,
    pub(super) change: LaneChange,
}

/// What a lane does with an event that matches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    Queue,
    /// The lane still has to check earlier events and will check this event after them. If the
    /// event were queued now, it would overtake them.
    StayBehind,
    /// The lane will check the stored events from this one on.
    FallBehind,
    Drop,
}

impl LaneInDispatch {
    pub(super) fn new(lane: DispatchLane) -> Self {
        Self {
            lane,
            change: LaneChange::default(),
        }
    }

    pub(super) fn matches(&self, event: &Event) -> bool {
        let mut patterns = self.lane.candidate.patterns.iter();
        patterns.any(|pattern| pattern.matches(&event.r#type))
    }

    pub(super) fn is_dropping(&self) -> bool {
        self.lane.dropping
    }

    pub(super) fn decide(&self) -> Decision {
        let (lane, candidate) = (&self.lane, &self.lane.candidate);
        if candidate.is_behind {
            Decision::StayBehind
        } else if candidate.active && !candidate.has_filter && lane.depth < QUEUE_CAPACITY {
            Decision::Queue
        } else if candidate.holds || candidate.has_filter {
            Decision::FallBehind
        } else {
            Decision::Drop
        }
    }

    /// Queues an event that matches the patterns, lets the lane check it later, or drops it.
    pub(super) fn dispatch(
        &mut self,
        tx: &mut Tx<'_>,
        event: &Event,
        seq: u64,
        result: &mut DispatchResult,
    ) -> Result<(), StoreError> {
        let decision = self.decide();
        let Self { lane, change } = self;
        let candidate = &mut lane.candidate;
        match decision {
            Decision::StayBehind => result.held += 1,
            Decision::Queue => {
                lane.tail += 1;
                lane.depth += 1;
                change.queued += 1;
                let delivery = (candidate.lane, lane.tail);
                dispatch::insert_delivery(tx, delivery, (event.id, &event.r#type), event.ts)?;
                result.queued += 1;
            }
            Decision::FallBehind => {
                candidate.is_behind = true;
                change.refill_from = Some(seq);
                result.held += 1;
            }
            Decision::Drop => {
                lane.dropping = true;
                change.dropped += 1;
                let receiver = (&*lane.owner_key, &candidate.receiver);
                report_drop(tx, receiver, DroppedEvent::of(event))?;
                result.dropped += 1;
            }
        }
        Ok(())
    }
}
