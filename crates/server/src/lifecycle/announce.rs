//! The one place where a transition of a space is announced, inside its transaction.

use std::sync::Arc;

use svc_core::{
    EventId,
    event::{Actor, Event},
    space::{Subject, Transition},
};
use svc_store::{StoreError, Tx, spaces::SpaceRow};
use uuid::Uuid;

use crate::events::dispatch::emit_in;

/// Emits the system event of a transition (spec 6.1). `row` is the space as it was before. The
/// event is to be handed to the hub once the transaction has been committed.
pub fn announce(
    tx: &mut Tx<'_>,
    row: &SpaceRow,
    transition: &Transition,
    actor: Actor,
) -> Result<Arc<Event>, StoreError> {
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
        data: transition.payload(&subject),
    };
    emit_in(tx, &event)?;
    Ok(Arc::new(event))
}
