//! Dispatch: chooses the lanes of an event, in the transaction that creates the event.
//!
//! A lane gets the events of its owner, a global lane those of all users; custom and system events
//! alike. A full lane drops the event, and every drop is one audit entry (spec 6.5).

use serde_json::json;
use svc_core::{LaneId, event::Event};
use svc_store::{
    StoreError, Tx, audit, events,
    lanes::{self, Candidate},
};

use super::audit::target_of;

/// Lanes that matched an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DispatchCounts {
    /// Lanes that queued the event.
    pub queued: u32,
    /// Lanes that were full.
    pub dropped: u32,
}

/// Writes an event with a delivery for each lane whose patterns match. The caller calls
/// [`Hub::committed`](super::hub::Hub::committed) after the commit.
pub fn emit_in(tx: &mut Tx<'_>, event: &Event) -> Result<DispatchCounts, StoreError> {
    emit_except(tx, event, None)
}

/// [`emit_in`] for an event about a lane, which does not receive it.
pub fn emit_to_others(tx: &mut Tx<'_>, event: &Event, about: LaneId) -> Result<(), StoreError> {
    emit_except(tx, event, Some(about)).map(drop)
}

fn emit_except(
    tx: &mut Tx<'_>,
    event: &Event,
    except: Option<LaneId>,
) -> Result<DispatchCounts, StoreError> {
    events::insert(tx, event)?;
    let mut counts = DispatchCounts::default();
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
        match lanes::enqueue(tx, candidate.lane, (event.id, &event.r#type), event.ts)? {
            Some(_) => counts.queued += 1,
            None => {
                drop_event(tx, &candidate, event)?;
                counts.dropped += 1;
            }
        }
    }
    Ok(counts)
}

/// Counts, audits and logs an event that a full lane dropped.
fn drop_event(tx: &mut Tx<'_>, candidate: &Candidate, event: &Event) -> Result<(), StoreError> {
    lanes::count_drop(tx, candidate.lane)?;
    let (target_type, target_id) = target_of(&candidate.receiver);
    tracing::warn!(
        event.id = %event.id,
        event_type = %event.r#type,
        target = %target_id,
        "an event was dropped: the queue of its {target_type} is full"
    );
    audit::append(
        tx,
        &audit::Entry {
            at: event.ts,
            actor: audit::SYSTEM.to_owned(),
            action: "event_sink.dropped",
            target_type,
            target_id,
            detail: json!({
                "event_id": event.id,
                "event_type": event.r#type,
                "owner_id": event.owner_id,
            }),
        },
    )
}
