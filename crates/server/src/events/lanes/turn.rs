//! The transactions of the worker that holds a lane: begin the delivery at the head; finish it and
//! begin the next one. A busy lane costs one commit per delivery.

use std::time::Duration;

use serde_json::json;
use svc_core::{
    EventId, Timestamp,
    lane::{REFILL_DEPTH, STARTS_MAX},
};
use svc_protocol::api::DeliveryState;
use svc_store::{
    StoreError, Tx, audit,
    deliveries::{self, QueueHead},
    lanes::{self, LaneLease, LeasedLane, Receiver},
    sinks,
};

use super::{AttemptDetail, Destination, Job};
use crate::events::audit::target_of;

/// A delivery whose start is recorded, and the attempt to make.
#[derive(Clone, Debug)]
pub(super) struct StartedDelivery {
    pub(super) held: LaneLease,
    pub(super) job: Job,
}

/// How a delivery in flight ended.
#[derive(Clone, Debug)]
pub(super) enum DeliveryEnd {
    Delivered(AttemptDetail),
    /// Failed, with a retry after this time.
    RetryIn(Duration, AttemptDetail),
    Dead(AttemptDetail),
    /// No attempt was made, so none is recorded.
    Unattempted {
        wait: Duration,
    },
}

/// A delivery that ended as dead, for the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DeadDelivery {
    pub(super) receiver: Receiver,
    pub(super) event_id: EventId,
    pub(super) event_type: String,
    pub(super) error: String,
}

/// The result of a transaction: the next delivery of the lane.
#[derive(Clone, Debug, Default)]
pub(super) struct LaneProgress {
    /// `None` if the lane was released.
    pub(super) started: Option<StartedDelivery>,
    pub(super) dead: Vec<DeadDelivery>,
    /// Whether the lane has fallen behind and has room for stored events.
    pub(super) can_refill: bool,
}

/// The time of a transaction, by the clock that all servers of the database share.
#[derive(Clone, Copy, Debug)]
pub(super) struct TransactionTime {
    pub(super) now: Timestamp,
    /// The end of a lease renewed now.
    pub(super) lease_until: Timestamp,
}

impl TransactionTime {
    pub(super) fn of(tx: &mut Tx<'_>, lease: Duration) -> Result<Self, StoreError> {
        let now = tx.now()?;
        Ok(Self {
            now,
            lease_until: now.plus(lease),
        })
    }
}

/// Begins the first delivery of a lane that was just claimed; `None` if the lane is no longer held.
pub(super) fn begin(
    tx: &mut Tx<'_>,
    held: LaneLease,
    time: TransactionTime,
) -> Result<Option<LaneProgress>, StoreError> {
    let Some(lane) = lanes::hold(tx, held, time.lease_until)? else {
        return Ok(None);
    };
    begin_held(tx, lane, LaneProgress::default(), time).map(Some)
}

/// Ends the delivery in flight and, if `begin_next`, begins the next one. Returns `None` and writes
/// nothing if the lane is no longer held.
pub(super) fn finish(
    tx: &mut Tx<'_>,
    (held, n): (LaneLease, u64),
    ending: &DeliveryEnd,
    time: TransactionTime,
    begin_next: bool,
) -> Result<Option<LaneProgress>, StoreError> {
    let Some(mut lane) = lanes::hold(tx, held, time.lease_until)? else {
        return Ok(None);
    };
    let mut progress = LaneProgress::default();
    let id = held.lane;
    match ending {
        DeliveryEnd::Unattempted { wait } => {
            lanes::undo_start(tx, id)?;
            lanes::release(tx, id, time.now.plus(*wait))?;
            return Ok(Some(progress));
        }
        DeliveryEnd::RetryIn(wait, detail) => {
            record_attempt(tx, &lane, n, detail, time.now)?;
            lanes::retry(tx, id)?;
            lanes::release(tx, id, time.now.plus(*wait))?;
            return Ok(Some(progress));
        }
        DeliveryEnd::Delivered(detail) => {
            if !deliveries::finish(tx, id, n, DeliveryState::Delivered, time.now)? {
                // Ended already, by a commit whose answer was lost.
                return continue_held(tx, lane, progress, time, begin_next).map(Some);
            }
            record_attempt(tx, &lane, n, detail, time.now)?;
            lanes::advance(tx, id)?;
        }
        DeliveryEnd::Dead(detail) => {
            let Some(head) = deliveries::find_head(tx, id)?.filter(|head| head.n == n) else {
                return continue_held(tx, lane, progress, time, begin_next).map(Some);
            };
            progress
                .dead
                .push(end_as_dead(tx, &lane, head, detail, time.now)?);
        }
    }
    apply_advance(&mut lane);
    progress.can_refill = lane.refilling && lane.depth <= REFILL_DEPTH;
    continue_held(tx, lane, progress, time, begin_next).map(Some)
}

/// Begins the next delivery of a lane, or releases the lane.
fn continue_held(
    tx: &mut Tx<'_>,
    lane: LeasedLane,
    progress: LaneProgress,
    time: TransactionTime,
    begin_next: bool,
) -> Result<LaneProgress, StoreError> {
    if begin_next {
        return begin_held(tx, lane, progress, time);
    }
    lanes::release(tx, lane.held.lane, time.now)?;
    Ok(progress)
}

/// Begins the delivery at the head, or releases the lane if nothing is left to send.
fn begin_held(
    tx: &mut Tx<'_>,
    mut lane: LeasedLane,
    mut progress: LaneProgress,
    TransactionTime { now, .. }: TransactionTime,
) -> Result<LaneProgress, StoreError> {
    let id = lane.held.lane;
    while lane.active && lane.depth > 0 {
        let Some(head) = deliveries::find_head(tx, id)? else {
            tracing::error!(lane.id = %id, "the depth of a lane is wrong: no delivery is queued; counting again");
            lanes::recount(tx, id)?;
            break;
        };
        let given_up = match make_job(tx, &lane, &head)? {
            Ok(job) => {
                lanes::start(tx, id)?;
                let held = lane.held;
                progress.started = Some(StartedDelivery { held, job });
                return Ok(progress);
            }
            Err(why) => AttemptDetail::error(why),
        };
        progress
            .dead
            .push(end_as_dead(tx, &lane, head, &given_up, now)?);
        apply_advance(&mut lane);
    }
    lanes::release(tx, id, now)?;
    Ok(progress)
}

/// Makes the same changes as [`lanes::advance`] made to the lane's row.
fn apply_advance(lane: &mut LeasedLane) {
    lane.depth = lane.depth.saturating_sub(1);
    lane.failures = 0;
    lane.starts = 0;
}

/// The attempt to make, or why there is none.
fn make_job(
    tx: &mut Tx<'_>,
    lane: &LeasedLane,
    head: &QueueHead,
) -> Result<Result<Job, String>, StoreError> {
    if lane.starts >= STARTS_MAX {
        return Ok(Err(format!(
            "given up after {STARTS_MAX} starts, each ended by a crash of the server"
        )));
    }
    let Some(event) = head.event.clone() else {
        return Ok(Err("the event no longer exists".to_owned()));
    };
    let destination = match &lane.receiver {
        Receiver::Sink(sink) => match sinks::find(tx, *sink)? {
            Some(sink) => Destination::Sink(Box::new(sink)),
            None => return Ok(Err("the sink no longer exists".to_owned())),
        },
        Receiver::Method(method) => Destination::Method {
            owner_id: lane.owner_id,
            method: method.clone(),
            formatters: lane.formatters.clone(),
        },
    };
    Ok(Ok(Job {
        lane: lane.held.lane,
        n: head.n,
        attempt: lane.failures + 1,
        event,
        destination,
    }))
}

/// Ends the delivery at the head as dead. The delivery is kept, and an audit entry is written.
fn end_as_dead(
    tx: &mut Tx<'_>,
    lane: &LeasedLane,
    head: QueueHead,
    detail: &AttemptDetail,
    now: Timestamp,
) -> Result<DeadDelivery, StoreError> {
    let id = lane.held.lane;
    record_attempt(tx, lane, head.n, detail, now)?;
    deliveries::finish(tx, id, head.n, DeliveryState::Dead, now)?;
    lanes::advance(tx, id)?;
    let error = match (&detail.error, detail.status) {
        (Some(error), _) => error.clone(),
        (None, Some(status)) => format!("the receiver answered {status}"),
        (None, None) => "the attempt failed".to_owned(),
    };
    let (target_type, target_id) = target_of(&lane.receiver);
    audit::append(
        tx,
        &audit::Entry {
            at: now,
            actor: audit::SYSTEM.to_owned(),
            action: "event_sink.dead",
            target_type,
            target_id,
            detail: json!({
                "n": head.n,
                "event_id": head.event_id,
                "event_type": head.event_type,
                "attempts": lane.failures + 1,
                "error": error,
            }),
        },
    )?;
    Ok(DeadDelivery {
        receiver: lane.receiver.clone(),
        event_id: head.event_id,
        event_type: head.event_type,
        error,
    })
}

fn record_attempt(
    tx: &mut Tx<'_>,
    lane: &LeasedLane,
    n: u64,
    detail: &AttemptDetail,
    now: Timestamp,
) -> Result<(), StoreError> {
    let attempt = detail.clone().into_attempt(now);
    deliveries::insert_attempt(tx, lane.held.lane, n, lane.failures + 1, &attempt)
}
