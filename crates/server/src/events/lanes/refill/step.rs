//! One step of the refill of a lane: reads stored events, filters them, and queues the events that
//! match.

use std::sync::Arc;

use svc_core::{LaneId, UserId, event::Event, lane::QUEUE_CAPACITY};
use svc_store::{
    StoreError, Tx,
    events::{self, NumberedEvent},
    lanes::{self, RefillLane},
    sinks::GLOBAL,
};
use thiserror::Error;

use super::super::{Deliver, FilterResult, worker::EngineState};
use crate::events::dispatch::{DroppedEvent, drop_event, is_about};

/// One statement reads at most this many events.
const WINDOW: usize = 500;
/// A step that finds no matching event ends after this many statements.
const WINDOWS_MAX: usize = 10;
/// Limit of the bytes of the events that one step filters. A single event may be larger.
pub(super) const FILTER_BYTES_MAX: u64 = 1024 * 1024;

#[derive(Debug, Error)]
pub(in super::super) enum RefillError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The filter was not evaluated for any event.
    #[error("{0}")]
    Filter(String),
}

impl RefillError {
    /// Whether the error needs no log line here: the store is closed, or its outage is logged
    /// elsewhere.
    pub(super) fn is_expected(&self) -> bool {
        match self {
            Self::Store(error) => *error == StoreError::Closed || error.is_outage(),
            Self::Filter(_) => false,
        }
    }
}

/// The events that a step found, and the number of the event that the lane checks next.
struct Plan {
    lane: RefillLane,
    /// The lane's `refill_from` when the events were read: the number of the first event to check.
    from: u64,
    /// The number of the first event that was not checked.
    next: u64,
    matching: Vec<NumberedEvent>,
    /// The same events with their data, if the lane has a filter.
    to_filter: Vec<Event>,
    errors: u64,
    newest_error: Option<String>,
}

/// Makes a step. Returns whether it made progress.
pub(super) async fn run<D: Deliver>(
    shared: &EngineState<D>,
    lane: LaneId,
) -> Result<bool, RefillError> {
    let planned = shared.store.read(move |tx| plan(tx, lane)).await?;
    let Some(mut plan) = planned else {
        return Ok(false);
    };
    let owner = plan.lane.owner_id;
    if let Some(filter) = plan.lane.filter.clone() {
        let events = std::mem::take(&mut plan.to_filter);
        let results = shared.deliver.filter(owner, filter, events).await;
        plan.apply_filter(results.map_err(RefillError::Filter)?);
    }
    let outcome = shared.store.write(move |tx| apply(tx, &plan)).await?;
    shared.hub.committed(&outcome.raised);
    if outcome.queued > 0 {
        shared.hub.wake_owner(owner);
    }
    Ok(outcome.moved)
}

/// Reads the events that the lane checks next. `None` if the lane is not behind.
fn plan(tx: &mut Tx<'_>, lane: LaneId) -> Result<Option<Plan>, StoreError> {
    let Some(lane) = lanes::find_refill(tx, lane)? else {
        return Ok(None);
    };
    let Some(from) = lane.refill_from else {
        return Ok(None);
    };
    let owner: Option<UserId> = (lane.owner_key != GLOBAL).then_some(lane.owner_id);
    // Read before the events, so that all events up to this number are visible below.
    let newest = events::newest_number(tx)?;
    let wanted = match lane.holds && lane.filter.is_none() {
        true => QUEUE_CAPACITY.saturating_sub(lane.depth) as usize,
        false => QUEUE_CAPACITY as usize,
    };
    let (mut next, mut matching, mut bytes) = (from, Vec::new(), 0);
    'reading: for _ in 0..WINDOWS_MAX {
        let window = events::list_numbered(tx, owner, next, WINDOW)?;
        let is_last = window.len() < WINDOW;
        for event in window {
            if !lane.matches(&event.r#type)
                || is_about(tx, &lane.receiver, (event.id, &event.r#type))?
            {
                next = event.seq + 1;
                continue;
            }
            bytes += event.data_bytes;
            let is_full = matching.len() >= wanted
                || lane.filter.is_some() && bytes > FILTER_BYTES_MAX && !matching.is_empty();
            if is_full {
                break 'reading;
            }
            next = event.seq + 1;
            matching.push(event);
        }
        if is_last {
            next = next.max(newest + 1);
            break;
        }
        if !matching.is_empty() {
            break;
        }
    }
    let to_filter = match lane.filter {
        Some(_) => read_all(tx, &mut matching)?,
        None => Vec::new(),
    };
    Ok(Some(Plan {
        lane,
        from,
        next,
        matching,
        to_filter,
        errors: 0,
        newest_error: None,
    }))
}

/// Reads events with their data. Skips events that were removed meanwhile.
fn read_all(tx: &mut Tx<'_>, numbered: &mut Vec<NumberedEvent>) -> Result<Vec<Event>, StoreError> {
    let mut events = Vec::with_capacity(numbered.len());
    let mut found = Vec::with_capacity(numbered.len());
    for event in numbered.drain(..) {
        if let Some(whole) = events::find(tx, event.id)? {
            events.push(whole);
            found.push(event);
        }
    }
    *numbered = found;
    Ok(events)
}

impl Plan {
    /// Keeps the events for which the filter is true. If there are fewer results than events, the
    /// next step continues after the last result.
    fn apply_filter(&mut self, results: Vec<FilterResult>) {
        if let Some(first_left) = self.matching.get(results.len()) {
            self.next = first_left.seq;
            self.matching.truncate(results.len());
        }
        let mut results = results.into_iter();
        self.matching.retain(|_| match results.next() {
            Some(Ok(is_true)) => is_true,
            Some(Err(error)) => {
                self.errors += 1;
                self.newest_error = Some(error);
                false
            }
            None => false,
        });
    }
}

#[derive(Debug, Default)]
struct Outcome {
    moved: bool,
    queued: usize,
    /// The `sink.*` events that were created.
    raised: Vec<Arc<Event>>,
}

/// Queues the matching events and stores the number of the event that the lane checks next. Does
/// nothing if the lane has changed meanwhile.
fn apply(tx: &mut Tx<'_>, plan: &Plan) -> Result<Outcome, StoreError> {
    let unchanged = |now: &RefillLane| {
        now.refill_from == Some(plan.from)
            && now.patterns == plan.lane.patterns
            && now.filter == plan.lane.filter
            && (now.active || !now.holds)
    };
    let Some(lane) = lanes::find_refill(tx, plan.lane.id)?.filter(unchanged) else {
        return Ok(Outcome::default());
    };
    let room = QUEUE_CAPACITY.saturating_sub(lane.depth) as usize;
    let (fitting, rest) = plan.matching.split_at(room.min(plan.matching.len()));
    let next = match rest.first() {
        // These events do not fit into the queue, so a later step checks them again.
        Some(first) if lane.holds => first.seq,
        _ => plan.next,
    };
    let events: Vec<_> = fitting
        .iter()
        .map(|event| (event.id, &*event.r#type))
        .collect();
    lanes::append(tx, lane.id, &events, svc_clock::now())?;
    let mut raised = Vec::new();
    if !lane.holds {
        for event in rest {
            let event = DroppedEvent {
                id: event.id,
                r#type: &event.r#type,
                ts: event.ts,
                owner_id: event.owner_id,
            };
            raised.extend(drop_event(
                tx,
                lane.id,
                (&lane.owner_key, &lane.receiver),
                event,
            )?);
        }
    }
    if let Some(error) = &plan.newest_error {
        lanes::count_filter_errors(tx, lane.id, plan.errors, error)?;
    }
    lanes::move_refill(tx, lane.id, next)?;
    Ok(Outcome {
        moved: next > plan.from,
        queued: fitting.len(),
        raised,
    })
}
