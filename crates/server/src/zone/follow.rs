//! Takes in what other servers changed of what this one keeps in memory.
//!
//! A notification says when to look, and looking twice a second is what counts on: a revoked token
//! is refused here within a second, whatever became of the notification.

use std::{collections::HashSet, time::Duration};

use tracing::{error, warn};

use crate::{
    app::App,
    identity::Affected,
    store::{
        StoreError, Tx,
        zone_changes::{self, ZoneChange},
    },
};

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Changes taken in at once.
const CHANGES_MAX: u32 = 1_000;

/// Until the server stops. It begins with what the server read at its start: looking begins from
/// `zone_position`, which was taken before that.
pub(super) async fn run(app: &App) {
    let mut position = app.zone_position;
    loop {
        let number = app.catch_up.begin();
        let looked = look(app, &mut position).await;
        app.catch_up.done(number);
        match looked {
            // There may be more.
            Ok(true) => continue,
            Ok(false) => {}
            Err(StoreError::Closed) => return,
            Err(error) => super::tell("changes of other servers could not be read", &error),
        }
        tokio::select! {
            () = app.store.hinted() => app.hub.wake(),
            () = app.catch_up.asked() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = app.shutdown.cancelled() => return,
        }
    }
}

/// Whether there may be more to take in. `position` moves only past what has been taken in.
async fn look(app: &App, position: &mut i64) -> Result<bool, StoreError> {
    let after = *position;
    let read = move |tx: &mut Tx<'_>| {
        let (changes, last) = zone_changes::list_after(tx, after, CHANGES_MAX)?;
        let is_cut = !changes.is_empty() && zone_changes::oldest(tx)? > after + 1;
        Ok((changes, last, is_cut))
    };
    let (changes, last, is_cut) = app.store.read(read).await?;
    if changes.is_empty() {
        *position = last;
        return Ok(false);
    }
    let more = changes.len() >= CHANGES_MAX as usize;
    if is_cut {
        warn!("too much was missed to be taken in one by one; everything is read again");
        app.identity.reload().await?;
        app.scripts.tools.load().await?;
    }
    take_in(app, changes).await?;
    *position = last;
    Ok(more)
}

async fn take_in(app: &App, changes: Vec<ZoneChange>) -> Result<(), StoreError> {
    // The same record changed often is read once.
    let changes: HashSet<_> = changes.into_iter().collect();
    app.identity
        .take_in(changes.iter().cloned().collect::<Affected>())
        .await?;
    for change in changes {
        let taken_in = match &change {
            ZoneChange::Tools(owner) => app.scripts.tools.reread(owner.clone()).await,
            ZoneChange::Space(space) => app.links.follow(*space).await,
            ZoneChange::User(_) | ZoneChange::Groups => Ok(()),
        };
        match taken_in {
            // It stays to be taken in: a link that must end, ends.
            Err(error) if error.is_outage() => return Err(error),
            Err(error) => error!("{change:?} of another server could not be taken in: {error}"),
            Ok(()) => {}
        }
    }
    Ok(())
}
