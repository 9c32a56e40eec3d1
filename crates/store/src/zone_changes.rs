//! Changes that every server of the zone must see, in the order of commits. A zone is a group of
//! servers that share the database. A server reads the changes since its last read, and then reads
//! the changed records again.

use svc_core::{SpaceId, Timestamp, UserId};

use super::{
    error::StoreError,
    sql::{Tx, values},
};

/// A change to records that servers keep in memory, or a request to the other servers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ZoneChange {
    /// A user, their tokens and sessions.
    User(UserId),
    /// The list of groups.
    Groups,
    /// A space: its agent tokens, its state, the server that holds its link.
    Space(SpaceId),
    /// The tool scripts of an owner: a user's id, or `global`.
    Tools(String),
    /// The servers that announce an address.
    Servers,
    /// The id of a request for the log of a space.
    LogRequest(String),
    /// The sources of a user.
    Sources(UserId),
    /// A schedule has a new next run.
    Schedules,
}

impl ZoneChange {
    fn parts(&self) -> (&'static str, String) {
        match self {
            Self::User(id) => ("user", id.to_string()),
            Self::Groups => ("groups", String::new()),
            Self::Space(id) => ("space", id.to_string()),
            Self::Tools(owner) => ("tools", owner.clone()),
            Self::Servers => ("servers", String::new()),
            Self::LogRequest(id) => ("log_request", id.clone()),
            Self::Sources(owner) => ("sources", owner.to_string()),
            Self::Schedules => ("schedules", String::new()),
        }
    }

    fn of(kind: &str, key: &str) -> Option<Self> {
        Some(match kind {
            "user" => Self::User(key.parse().ok()?),
            "groups" => Self::Groups,
            "space" => Self::Space(key.parse().ok()?),
            "tools" => Self::Tools(key.to_owned()),
            "servers" => Self::Servers,
            "log_request" => Self::LogRequest(key.to_owned()),
            "sources" => Self::Sources(key.parse().ok()?),
            "schedules" => Self::Schedules,
            // A server of a newer version may have written a kind that this version does not know.
            _ => return None,
        })
    }
}

/// Records a change for the other servers; does nothing if the database is not shared.
pub fn append(tx: &mut Tx<'_>, change: &ZoneChange) -> Result<(), StoreError> {
    if !tx.is_shared() {
        return Ok(());
    }
    let (kind, key) = change.parts();
    let now = tx.now()?;
    tx.send(
        "INSERT INTO zone_changes (id, at, kind, key)
         SELECT COALESCE(MAX(id), 0) + 1, ?1, ?2, ?3 FROM zone_changes",
        values![now, kind, key],
    )?;
    tx.hint();
    Ok(())
}

/// The number of the newest change; 0 if there is none.
pub fn newest(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.get("SELECT COALESCE(MAX(id), 0) FROM zone_changes", &[])
}

/// At most `limit` changes after a number, oldest first, and the number to continue from.
pub fn list_after(
    tx: &mut Tx<'_>,
    after: i64,
    limit: u32,
) -> Result<(Vec<ZoneChange>, i64), StoreError> {
    let rows = tx.query(
        "SELECT id, kind, key FROM zone_changes WHERE id > ?1 ORDER BY id LIMIT ?2",
        values![after, limit],
    )?;
    let mut last = after;
    let mut changes = Vec::with_capacity(rows.len());
    for row in rows {
        last = row.get("id")?;
        let (kind, key): (String, String) = (row.get("kind")?, row.get("key")?);
        changes.extend(ZoneChange::of(&kind, &key));
    }
    Ok((changes, last))
}

/// The number of the oldest change that is kept; 0 if there is none.
pub fn oldest(tx: &mut Tx<'_>) -> Result<i64, StoreError> {
    tx.get("SELECT COALESCE(MIN(id), 0) FROM zone_changes", &[])
}

/// The time of the oldest change that is kept.
pub fn oldest_at(tx: &mut Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    tx.find("SELECT at FROM zone_changes ORDER BY id LIMIT 1", &[])
}

/// Removes changes from before a time. The newest change stays, so that numbers continue from it.
pub fn prune(tx: &mut Tx<'_>, before: Timestamp) -> Result<usize, StoreError> {
    tx.count_changes(
        "DELETE FROM zone_changes WHERE at < ?1
             AND id < (SELECT MAX(newest.id) FROM zone_changes newest)",
        values![before],
    )
}
