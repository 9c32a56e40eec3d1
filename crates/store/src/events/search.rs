//! Searches the stored events by actor and by payload. There is no index for either.
//!
//! One request reads a limited number of events and bytes. Its cursor is the last event that it
//! read, whether or not that event matches, so that the next request continues after this event.

use svc_core::Id;
use svc_protocol::api::EventRecord;
use uuid::Uuid;

use super::{
    Filter,
    window::{self, Order},
};
use crate::{
    error::StoreError,
    page::{Page, PageRequest, rows_by_id},
    record::select,
    sql::{FromRow, Tx},
};

/// The maximum number of events that one request reads.
const EVENTS_MAX: u32 = 5_000;
/// A request ends after it has searched this many bytes of payloads. One payload has at most 256
/// KiB.
const BYTES_MAX: u64 = 8 * 1024 * 1024;
/// The number of events whose payloads are read with one statement.
const STEP: usize = 32;

/// The values that an event must have. A field that is `None` matches all events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Search {
    /// The user name of the event's actor.
    pub actor: Option<String>,
    /// A part of the payload as it is stored. Upper and lower case are not distinguished.
    pub text: Option<String>,
}

impl Search {
    pub fn is_empty(&self) -> bool {
        self.actor.is_none() && self.text.is_none()
    }

    fn matches(&self, event: &EventRecord) -> bool {
        let by = |actor: &String| event.actor.username == *actor;
        let holds = |text: &String| {
            let data = event.data.as_str().to_lowercase();
            data.contains(&text.to_lowercase())
        };
        self.actor.as_ref().is_none_or(by) && self.text.as_ref().is_none_or(holds)
    }
}

/// Finds events, newest first. A page may have fewer events than its limit, or none, and still have
/// a cursor.
pub fn search(
    tx: &mut Tx<'_>,
    filter: &Filter,
    search: &Search,
    page: PageRequest,
) -> Result<Page<EventRecord>, StoreError> {
    let between = (Id(Uuid::nil()), page.before());
    let window = window::read(tx, filter, between, Order::NewestFirst, EVENTS_MAX)?;
    let mut last = window.last;
    let candidates: Vec<_> = window.rows.iter().map(|row| row.id).collect();
    let (mut bytes, mut found_bytes, mut items) = (0, 0, Vec::new());
    'reading: for ids in candidates.chunks(STEP) {
        let events = rows_by_id(tx, &select::<EventRecord>(""), ids)?;
        for row in &events {
            let event = EventRecord::read(row)?;
            let (id, size) = (event.event_id, event.data.as_str().len() as u64);
            bytes += size;
            if search.matches(&event) {
                found_bytes += size;
                items.push(event);
            }
            if bytes >= BYTES_MAX || page.is_full(items.len(), found_bytes) {
                last = Some(Id(id.0));
                break 'reading;
            }
        }
    }
    Ok(Page {
        items,
        next_cursor: last.map(|id| id.to_string()),
    })
}

#[cfg(test)]
mod tests;
