//! Takes in what other servers changed of what this one keeps in memory.
//!
//! A notification says when to look, and looking twice a second is what counts on: a revoked token
//! is refused here within a second, whatever became of the notification. Spaces are followed by a
//! task of their own: a link can be busy for a while, and nothing else may wait for it.

use std::{collections::HashSet, time::Duration};

use parking_lot::Mutex;
use svc_core::SpaceId;
use svc_store::{
    StoreError, Tx,
    zone_changes::{self, ZoneChange},
};
use tokio::{sync::Notify, time::Instant};
use tracing::{error, warn};

use super::ZoneHandles;
use crate::identity::Affected;

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Between looks that requests ask for: strangers can ask too.
const LOOK_PAUSE: Duration = Duration::from_millis(25);
/// Changes taken in at once.
const CHANGES_MAX: u32 = 1_000;

/// Spaces that another server changed.
#[derive(Default)]
struct Changed {
    spaces: Mutex<HashSet<SpaceId>>,
    added: Notify,
}

impl Changed {
    fn add(&self, spaces: impl IntoIterator<Item = SpaceId>) {
        self.spaces.lock().extend(spaces);
        self.added.notify_one();
    }
}

/// Until the server stops.
pub(super) async fn run(handles: &ZoneHandles) {
    let changed = Changed::default();
    tokio::join!(
        follow_records(handles, &changed),
        follow_spaces(handles, &changed)
    );
}

/// Looking begins from `position`, which was taken before the server read anything into
/// memory.
async fn follow_records(handles: &ZoneHandles, changed: &Changed) {
    let mut position = handles.position;
    loop {
        let (number, began) = (handles.catch_up.begin(), Instant::now());
        let looked = look(handles, &mut position, changed).await;
        // Whoever waits knows everything only if there is nothing more to take in.
        handles.catch_up.done(number, matches!(looked, Ok(false)));
        match looked {
            Ok(true) => continue,
            Ok(false) => {}
            Err(StoreError::Closed) => return,
            Err(error) => super::tell("changes of other servers could not be read", &error),
        }
        tokio::select! {
            () = handles.store.hinted() => handles.hub.wake(),
            () = asked(handles, began) => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = handles.shutdown.cancelled() => return,
        }
    }
}

async fn asked(handles: &ZoneHandles, began: Instant) {
    handles.catch_up.asked().await;
    tokio::time::sleep_until(began + LOOK_PAUSE).await;
}

/// Whether there may be more to take in. `position` moves only past what has been taken in.
async fn look(
    handles: &ZoneHandles,
    position: &mut i64,
    changed: &Changed,
) -> Result<bool, StoreError> {
    let after = *position;
    let read = move |tx: &mut Tx<'_>| {
        let (changes, last) = zone_changes::list_after(tx, after, CHANGES_MAX)?;
        // Numbers that were seen and are gone: a standby took over that had not got them yet.
        let is_back = zone_changes::newest(tx)? < after;
        let is_cut = !changes.is_empty() && zone_changes::oldest(tx)? > after + 1;
        let from = if is_back {
            zone_changes::newest(tx)?
        } else {
            last
        };
        Ok((changes, from, is_back || is_cut))
    };
    let (changes, last, must_reload) = handles.store.read(read).await?;
    if must_reload {
        warn!("changes of other servers were missed; everything is read again");
        handles.identity.reload().await?;
        handles.tools.load().await?;
        changed.add(handles.links.spaces());
    }
    let more = changes.len() >= CHANGES_MAX as usize;
    take_in(handles, changes, changed).await?;
    *position = last;
    Ok(more)
}

async fn take_in(
    handles: &ZoneHandles,
    changes: Vec<ZoneChange>,
    changed: &Changed,
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    // The same record changed often is read once.
    let changes: HashSet<_> = changes.into_iter().collect();
    handles
        .identity
        .take_in(changes.iter().cloned().collect::<Affected>())
        .await?;
    let mut spaces = Vec::new();
    for change in changes {
        match change {
            // What could not be read stays to be taken in.
            ZoneChange::Tools(owner) => handles.tools.reread(owner).await?,
            ZoneChange::Space(space) => spaces.push(space),
            ZoneChange::User(_) | ZoneChange::Groups => {}
        }
    }
    changed.add(spaces);
    Ok(())
}

/// A link that must end, ends, however long the database was away meanwhile.
async fn follow_spaces(handles: &ZoneHandles, changed: &Changed) {
    loop {
        let spaces = std::mem::take(&mut *changed.spaces.lock());
        // Gathers what comes at once; with the database away, it is not asked all the time.
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
                    error!(space.id = %space, "a space that another server changed could not be read: {error}");
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
