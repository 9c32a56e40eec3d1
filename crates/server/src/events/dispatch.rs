//! Dispatch: chooses the lanes of an event, in the transaction that creates the event.
//!
//! A lane gets the custom and system events of its owner; a global lane gets those of all users. A
//! full lane drops the event, and every drop is one audit entry (spec 6.5). A lane that holds
//! events or has a filter does not drop the event. It looks at the event later
//! ([`lanes::refill`](super::lanes)); only the number of the first such event is written.

use std::sync::Arc;

use serde_json::json;
use svc_core::{
    EventId, LaneId, Timestamp, UserId,
    event::{Event, SINK_EVENTS},
};
use svc_store::{
    StoreError, Tx, audit, events,
    lanes::{self, Candidate, Receiver},
    sinks,
};

use super::{audit::target_of, sink_event::sink_event};

/// Lanes that matched an event, and events about their sinks.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DispatchResult {
    /// Lanes that queued the event.
    pub queued: u32,
    /// Lanes that were full.
    pub dropped: u32,
    /// Lanes that will look at the event later.
    pub held: u32,
    /// Bytes of the owner's stored events, this one included.
    pub stored_bytes: u64,
    /// Events about sinks that began to drop events. The caller reports them after the commit, like
    /// the event itself.
    pub raised: Vec<Arc<Event>>,
}

/// An event that a full lane drops.
#[derive(Clone, Copy, Debug)]
pub(super) struct DroppedEvent<'a> {
    pub(super) id: EventId,
    pub(super) r#type: &'a str,
    pub(super) ts: Timestamp,
    pub(super) owner_id: UserId,
}

/// Writes an event with a delivery for each lane whose patterns match. The caller calls
/// [`Hub::committed`](super::hub::Hub::committed) after the commit.
pub fn emit_in(tx: &mut Tx<'_>, event: &Event) -> Result<DispatchResult, StoreError> {
    emit_except(tx, event, None)
}

/// Like [`emit_in`], for an event about a lane. This lane does not receive the event.
pub fn emit_to_others(
    tx: &mut Tx<'_>,
    event: &Event,
    about: LaneId,
) -> Result<DispatchResult, StoreError> {
    emit_except(tx, event, Some(about))
}

/// Whether an event is about the sink of this lane. A sink does not receive events about itself.
pub(super) fn is_about(
    tx: &mut Tx<'_>,
    receiver: &Receiver,
    (id, event_type): (EventId, &str),
) -> Result<bool, StoreError> {
    let (Receiver::Sink(sink), true) = (receiver, event_type.starts_with(SINK_EVENTS)) else {
        return Ok(false);
    };
    let Some(event) = events::find(tx, id)? else {
        return Ok(true);
    };
    let data: serde_json::Value = serde_json::from_str(event.data.as_str()).unwrap_or_default();
    Ok(data["sink_id"] == json!(sink))
}

fn emit_except(
    tx: &mut Tx<'_>,
    event: &Event,
    except: Option<LaneId>,
) -> Result<DispatchResult, StoreError> {
    let mut result = DispatchResult {
        stored_bytes: events::insert(tx, event)?,
        ..DispatchResult::default()
    };
    for candidate in lanes::list_candidates(tx, event.owner_id)? {
        if Some(candidate.lane) == except {
            continue;
        }
        let matches = candidate
            .patterns
            .iter()
            .any(|pattern| pattern.matches(&event.r#type));
        if !matches {
            continue;
        }
        dispatch(tx, &candidate, event, &mut result)?;
    }
    Ok(result)
}

/// Queues an event in a lane whose patterns match, or lets the lane look at it later, or drops it.
fn dispatch(
    tx: &mut Tx<'_>,
    candidate: &Candidate,
    event: &Event,
    result: &mut DispatchResult,
) -> Result<(), StoreError> {
    if candidate.is_behind {
        // Earlier events still wait, and the lane will look at this one after them. If it were
        // queued now, it would overtake them.
        result.held += 1;
        return Ok(());
    }
    let queued = match candidate.active && !candidate.has_filter {
        true => lanes::enqueue(tx, candidate.lane, (event.id, &event.r#type), event.ts)?,
        false => None,
    };
    if queued.is_some() {
        result.queued += 1;
    } else if candidate.holds || candidate.has_filter {
        lanes::begin_refill(tx, candidate.lane)?;
        result.held += 1;
    } else {
        let event = DroppedEvent {
            id: event.id,
            r#type: &event.r#type,
            ts: event.ts,
            owner_id: event.owner_id,
        };
        let raised = drop_event(tx, candidate.lane, &candidate.receiver, event)?;
        result.raised.extend(raised);
        result.dropped += 1;
    }
    Ok(())
}

/// Counts, audits and logs an event that a full lane dropped. Returns the events about its sink.
pub(super) fn drop_event(
    tx: &mut Tx<'_>,
    lane: LaneId,
    receiver: &Receiver,
    event: DroppedEvent<'_>,
) -> Result<Vec<Arc<Event>>, StoreError> {
    let raised = match lanes::count_drop(tx, lane)? {
        true => raise_dropping(tx, lane, receiver, event)?,
        false => Vec::new(),
    };
    let (target_type, target_id) = target_of(receiver);
    tracing::warn!(
        event.id = %event.id,
        event_type = %event.r#type,
        target = %target_id,
        "an event was dropped: the queue of its {target_type} is full"
    );
    let detail = json!({
        "event_id": event.id, "event_type": event.r#type, "owner_id": event.owner_id,
    });
    let target = (target_type, target_id);
    let entry = audit::Entry::by_system(event.ts, "event_sink.dropped", target, detail);
    audit::append(tx, &entry)?;
    Ok(raised)
}

/// Creates an event about a sink that begins to drop events, if the sink's policy asks for such
/// events. If the dropped event is itself about a sink, no event is created.
fn raise_dropping(
    tx: &mut Tx<'_>,
    lane: LaneId,
    receiver: &Receiver,
    event: DroppedEvent<'_>,
) -> Result<Vec<Arc<Event>>, StoreError> {
    let Receiver::Sink(sink) = receiver else {
        return Ok(Vec::new());
    };
    if event.r#type.starts_with(SINK_EVENTS) {
        return Ok(Vec::new());
    }
    let Some(sink) = sinks::find(tx, *sink)?.filter(|sink| sink.policy.notify) else {
        return Ok(Vec::new());
    };
    let detail = json!({"event_id": event.id, "event_type": event.r#type});
    let event = sink_event(&sink, "dropping", detail, event.ts);
    let mut raised = emit_to_others(tx, &event, lane)?.raised;
    raised.push(Arc::new(event));
    Ok(raised)
}
