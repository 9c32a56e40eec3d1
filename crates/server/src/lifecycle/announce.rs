//! Emits the event of a space's transition, in the transaction that changes the space. No other
//! code emits these events.

use std::sync::Arc;

use svc_core::{
    EventId,
    event::{Actor, Event},
    json_text::JsonText,
    space::{Subject, Transition},
};
use svc_store::{StoreError, Tx, spaces::SpaceRow};
use uuid::Uuid;

use crate::events::dispatch::emit_in;

/// Emits the system event of a transition (spec 6.1). `row` is the space before the transition.
/// Returns this event, and events about sinks that began to drop events. The caller passes them to
/// the hub after the commit.
pub fn announce(
    tx: &mut Tx<'_>,
    row: &SpaceRow,
    transition: &Transition,
    actor: Actor,
) -> Result<Vec<Arc<Event>>, StoreError> {
    let subject = Subject {
        id: row.id,
        name: &row.name,
        urls: &row.space_urls,
    };
    let event = Event {
        id: EventId(Uuid::now_v7()),
        r#type: transition.event_type().to_owned(),
        ts: svc_clock::now(),
        owner_id: row.owner_id,
        space_id: row.id,
        actor,
        data: JsonText::from(&transition.payload(&subject)),
        trace: None,
    };
    let mut events = emit_in(tx, &event)?.raised;
    events.insert(0, Arc::new(event));
    Ok(events)
}
