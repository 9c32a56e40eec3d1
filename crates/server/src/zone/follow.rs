//! Applies changes of other servers to the records that this server holds in memory.
//!
//! A notification starts a look (one read of the log of changes) at once. Notifications may be
//! lost, so the server also looks twice a second: a revoked token is rejected within a second.
//! Spaces are followed by a separate task, because a link can be busy for a while and must not
//! delay other changes.

use std::{collections::HashSet, time::Duration};

use parking_lot::Mutex;
use svc_core::SpaceId;
use svc_store::{
    StoreError, Tx,
    zone_changes::{self, ZoneChange},
};
use tokio::{sync::Notify, time::Instant};
use tracing::{error, warn};

use super::{ZoneHandles, log_requests::LogRequests};

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Minimum time from the start of a look to the start of the next look that a request causes. It is
/// needed because clients without a valid credential can request looks too.
const LOOK_PAUSE: Duration = Duration::from_millis(25);
/// The maximum number of changes that are read at a time.
const CHANGES_MAX: u32 = 1_000;

/// Spaces that another server changed.
#[derive(Default)]
struct ChangedSpaces {
    spaces: Mutex<HashSet<SpaceId>>,
    added: Notify,
}

impl ChangedSpaces {
    fn add(&self, spaces: impl IntoIterator<Item = SpaceId>) {
        self.spaces.lock().extend(spaces);
        self.added.notify_one();
    }
}

/// Changes that separate tasks handle.
#[derive(Default)]
struct Changed {
    spaces: ChangedSpaces,
    logs: LogRequests,
}

/// Follows changes until the server stops.
pub(super) async fn run(handles: &ZoneHandles) {
    let changed = Changed::default();
    tokio::join!(
        follow_records(handles, &changed),
        follow_spaces(handles, &changed.spaces),
        changed.logs.run(handles)
    );
}

/// Starts at [`ZoneHandles::position`], which was read before any record was read into memory.
async fn follow_records(handles: &ZoneHandles, changed: &Changed) {
    let mut position = handles.position;
    loop {
        let (number, began) = (handles.catch_up.begin(), Instant::now());
        let looked = look(handles, &mut position, changed).await;
        // A look is complete only if no change is left.
        handles.catch_up.done(number, matches!(looked, Ok(false)));
        match looked {
            Ok(true) => continue,
            Ok(false) => {}
            Err(StoreError::Closed) => return,
            Err(error) => super::log_failure("cannot read the changes of other servers", &error),
        }
        tokio::select! {
            () = handles.store.wait_for_hint() => handles.hub.wake(),
            () = requested_look(handles, began) => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = handles.shutdown.cancelled() => return,
        }
    }
}

async fn requested_look(handles: &ZoneHandles, began: Instant) {
    handles.catch_up.requested().await;
    tokio::time::sleep_until(began + LOOK_PAUSE).await;
}

/// Applies the next changes. Returns whether there may be more. `position` advances only past
/// applied changes.
async fn look(
    handles: &ZoneHandles,
    position: &mut i64,
    changed: &Changed,
) -> Result<bool, StoreError> {
    let after = *position;
    let read = move |tx: &mut Tx<'_>| {
        let (changes, last) = zone_changes::list_after(tx, after, CHANGES_MAX)?;
        let newest = zone_changes::newest(tx)?;
        // Changes that this server has read are gone: the database failed over to a standby that
        // lacked them.
        let is_back = newest < after;
        // The changes right after `after` were deleted before this server read them.
        let is_cut = !changes.is_empty() && zone_changes::oldest(tx)? > after + 1;
        let from = if is_back { newest } else { last };
        Ok((changes, from, from < newest, is_back || is_cut))
    };
    let (changes, last, more, must_reload) = handles.store.read(read).await?;
    if must_reload {
        warn!("changes of other servers were missed; all records are read again");
        handles.memory.reload().await?;
        changed.spaces.add(handles.links.spaces());
    }
    apply(handles, changes, changed).await?;
    *position = last;
    Ok(more)
}

async fn apply(
    handles: &ZoneHandles,
    changes: Vec<ZoneChange>,
    changed: &Changed,
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    // A record that changed several times is read once.
    let changes: HashSet<_> = changes.into_iter().collect();
    // On an error the position stays, so the changes are read again.
    let affected = changes.iter().cloned().collect();
    handles.memory.apply(affected).await?;
    let mut spaces = Vec::new();
    for change in changes {
        match change {
            ZoneChange::Space(space) => spaces.push(space),
            ZoneChange::LogRequest(id) => changed.logs.add(id),
            _ => {}
        }
    }
    changed.spaces.add(spaces);
    Ok(())
}

/// Follows changed spaces. A space is retried while the database is unreachable, so that a link
/// that must end does end.
async fn follow_spaces(handles: &ZoneHandles, changed: &ChangedSpaces) {
    loop {
        let spaces = std::mem::take(&mut *changed.spaces.lock());
        // The pause collects changes that arrive together. It is longer while the database is
        // unreachable.
        let mut pause = LOOK_PAUSE;
        for space in spaces {
            match handles.links.follow(space).await {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                Err(error) if error.is_outage() => {
                    pause = LOOK_EVERY;
                    changed.add([space]);
                }
                Err(error) => {
                    error!(space.id = %space, "cannot read a space that another server changed: {error}");
                }
            }
        }
        tokio::select! {
            () = changed.added.notified() => {}
            () = handles.shutdown.cancelled() => return,
        }
        tokio::time::sleep(pause).await;
    }
}
