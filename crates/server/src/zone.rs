//! The zone: this server among those that share its database.
//!
//! Each server gives signs of life, reads what the others changed of what it keeps in memory, and
//! stops the spaces of servers that are gone. Registrations stay with the server that has the
//! link; nothing here asks another server anything: the database is all they have in common.

mod catch_up;
mod follow;
mod identity;
mod streams;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use svc_core::{ServerId, Timestamp};
use svc_protocol::api::ServerRecord;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

pub(crate) use self::identity::{find_id, set_id};
use svc_store::{
    Store, StoreError, Tx,
    servers::{self, ServerHolding, ServerRow},
    zone_changes,
};

pub use self::{
    catch_up::CatchUp,
    identity::{ServerIdError, own_id},
};
use crate::{events::hub::Hub, identity::Identity, links::Links, scripts::StoredTools};

/// Between signs of life.
const BEAT_EVERY: Duration = Duration::from_secs(2);
/// Without a sign for so long, a server is taken for gone.
const GONE_AFTER: Duration = Duration::from_secs(10);
/// How long a server that is gone stays in the list.
const FORGET_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// How long changes are kept for a server that was frozen or cut off; after more it reads
/// everything again.
const CHANGES_KEPT: Duration = Duration::from_secs(60 * 60);

/// This server, as the others know it.
#[derive(Clone, Debug)]
pub struct Zone {
    pub id: ServerId,
    /// The address agents and people reach it by.
    pub url: Arc<str>,
    pub started_at: Timestamp,
}

/// The parts of this server that follow what other servers change.
#[derive(Clone)]
pub struct ZoneHandles {
    pub store: Store,
    pub identity: Identity,
    pub tools: Arc<StoredTools>,
    pub links: Arc<Links>,
    pub hub: Hub,
    /// The newest change of the zone that was in the database before anything was read into memory.
    pub position: i64,
    /// Ends the wait of requests for what other servers have committed.
    pub catch_up: Arc<CatchUp>,
    /// The same for streams of events that open.
    pub stream_catch_up: Arc<CatchUp>,
    /// Cancelled when the server stops.
    pub shutdown: CancellationToken,
}

/// What became of a sign of life.
enum Beat {
    /// When it was given, by the database's clock.
    Given(Timestamp),
    /// Another server has started under this one's id, at this address.
    Superseded(String),
}

impl Zone {
    /// The next server with this id, from its first sign of life on. One that still has the id, from
    /// a copy of the data folder, finds out by its own next sign and stops: two of them would
    /// deliver from the same queues, each in its own order.
    pub async fn next(store: &Store, id: ServerId, url: &str) -> Result<Self, StoreError> {
        let started_at = store.read(move |tx| servers::next_start(tx, id)).await?;
        Ok(Self {
            id,
            url: url.into(),
            started_at,
        })
    }

    /// The servers of the zone, those that are gone included for a day.
    pub async fn list(
        &self,
        store: &Store,
        links: &Links,
    ) -> Result<Vec<ServerRecord>, StoreError> {
        let alone = !store.is_shared();
        if alone {
            // A server that is alone gives no regular signs of life.
            self.beat(store, links, false).await?;
        }
        let read = |tx: &mut Tx<'_>| Ok((servers::list(tx)?, tx.now()?));
        let (listed, now) = store.read(read).await?;
        Ok(listed
            .into_iter()
            .map(|holding| self.present(holding, now))
            .collect())
    }

    fn present(&self, holding: ServerHolding, now: Timestamp) -> ServerRecord {
        let ServerHolding { server, leases } = holding;
        let gone = server.seen_at < now.minus(GONE_AFTER);
        ServerRecord {
            id: server.id,
            url: server.url,
            state: match (gone, server.draining) {
                (true, _) => "gone",
                (false, true) => "draining",
                (false, false) => "up",
            }
            .to_owned(),
            svc_version: server.svc_version,
            started_at: server.started_at,
            seen_at: server.seen_at,
            links: if gone { 0 } else { server.links },
            leases,
            is_this: server.id == self.id,
        }
    }

    async fn beat(&self, store: &Store, links: &Links, draining: bool) -> Result<Beat, StoreError> {
        let mut row = ServerRow {
            id: self.id,
            url: self.url.to_string(),
            svc_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at,
            seen_at: Timestamp::default(),
            links: links.count(),
            draining,
        };
        let beat = move |tx: &mut Tx<'_>| {
            row.seen_at = tx.now()?;
            if servers::beat(tx, &row)? {
                return Ok(Beat::Given(row.seen_at));
            }
            let other = servers::find(tx, row.id)?;
            Ok(Beat::Superseded(
                other.map_or_else(String::new, |other| other.url),
            ))
        };
        store.write(beat).await
    }

    /// Works with the other servers until this one stops.
    pub async fn run(self, handles: ZoneHandles) {
        if !handles.store.is_shared() {
            return;
        }
        tokio::join!(
            self.give_signs_of_life(&handles),
            follow::run(&handles),
            streams::run(&handles)
        );
    }

    /// Signs of life, the last of them at the beginning of a stop: agents and callers are to look
    /// for another server.
    async fn give_signs_of_life(&self, handles: &ZoneHandles) {
        let (mut steady_since, mut last) = (Instant::now(), Timestamp::default());
        loop {
            let draining = handles.shutdown.is_cancelled();
            let began = Instant::now();
            let is_steady = match self.beat(&handles.store, &handles.links, draining).await {
                // By the database's clock: that of a machine that stood still did so too.
                Ok(Beat::Given(at)) => at.since(std::mem::replace(&mut last, at)) <= GONE_AFTER / 2,
                Ok(Beat::Superseded(url)) => return self.give_way(handles, &url),
                Err(error) => {
                    tell("no sign of life could be given", &error);
                    false
                }
            };
            // Others could give no sign either, when this took so long.
            if !is_steady || began.elapsed() > GONE_AFTER / 2 {
                steady_since = Instant::now();
            }
            if draining {
                return;
            }
            if let Err(error) = self.tidy(handles, steady_since.elapsed()).await {
                tell("the zone could not be tidied up", &error);
            }
            tokio::select! {
                () = tokio::time::sleep(BEAT_EVERY) => {}
                () = handles.shutdown.cancelled() => {}
            }
        }
    }

    /// Stops this server, as another has its id.
    fn give_way(&self, handles: &ZoneHandles, url: &str) {
        if !handles.shutdown.is_cancelled() {
            error!(
                "another server, {url}, has started under the id of this one, {}; this one stops. If its data folder was copied, remove `{}` from one of the two and start it again",
                self.id,
                identity::FILE
            );
            handles.shutdown.cancel();
        }
    }

    /// `steady`: for how long this server and the database have been there without a gap. Before a
    /// grace period of it is over, a server without a sign of life may merely not have been able to
    /// give one.
    async fn tidy(&self, handles: &ZoneHandles, steady: Duration) -> Result<(), StoreError> {
        let grace = handles.links.policy.grace.max(GONE_AFTER);
        if steady > grace {
            let stopped = handles.links.lifecycle.stop_orphans(grace).await?;
            if stopped > 0 {
                info!(
                    spaces = stopped,
                    "spaces of servers that are gone are stopped"
                );
            }
        }
        let past = |tx: &mut Tx<'_>| {
            let now = tx.now()?;
            let oldest = zone_changes::oldest_at(tx)?;
            Ok(oldest.is_some_and(|at| at < now.minus(CHANGES_KEPT * 2)))
        };
        if handles.store.read(past).await? {
            let prune = |tx: &mut Tx<'_>| {
                let now = tx.now()?;
                zone_changes::prune(tx, now.minus(CHANGES_KEPT))?;
                servers::prune(tx, now.minus(FORGET_AFTER))
            };
            handles.store.write(prune).await?;
        }
        Ok(())
    }
}

/// Tells of a failure that is tried again by itself.
fn tell(what: &str, error: &StoreError) {
    if !error.is_outage() {
        warn!("{what}: {error}");
    }
}
