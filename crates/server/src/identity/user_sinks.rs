//! Deletes event sinks: a single sink, or all sinks of a user who is being deleted.

use serde_json::json;
use svc_core::{SinkId, Timestamp, UserId};
use svc_store::{
    StoreError, Tx,
    audit::{self, Entry},
    sinks,
};

/// Deletes a sink with its queue. Records the number of queued deliveries in the audit log and
/// returns it.
pub fn delete_sink(
    tx: &mut Tx<'_>,
    id: SinkId,
    actor: &str,
    at: Timestamp,
) -> Result<u32, StoreError> {
    let deleted = sinks::delete(tx, id)?;
    let detail = json!({"name": deleted.name, "queued": deleted.queued});
    let target = ("event_sink", deleted.id);
    let entry = Entry::by(at, actor, "event_sink.deleted", target, detail);
    audit::append(tx, &entry)?;
    Ok(deleted.queued)
}

/// Deletes the sinks of a user who is being deleted. Global sinks stay.
pub(super) fn delete_sinks_of(
    tx: &mut Tx<'_>,
    owner: UserId,
    actor: &str,
    at: Timestamp,
) -> Result<(), StoreError> {
    for sink in sinks::list_ids_of_owner(tx, owner)? {
        delete_sink(tx, sink, actor, at)?;
    }
    Ok(())
}
