//! The zone: the servers that share a database.
//!
//! Each server records heartbeats, follows changes that other servers made to records it holds in
//! memory, and stops the spaces of dead servers. Each server holds the registrations of the agents
//! that are linked to it. Servers never contact each other: they share only the database.

mod announce;
mod catch_up;
mod follow;
mod identity;
mod limits;
mod log_requests;
mod streams;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use svc_core::{ServerId, Timestamp, UserId};
use svc_protocol::api::ServerRecord;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

pub(crate) use self::identity::{find_id, set_id};
use svc_store::{
    SCHEMA_VERSION, Store, StoreError, Tx, limit_use, login_failures,
    servers::{self, ServerLoad, ServerRow},
    zone_changes::{self, ZoneChange},
};

pub use self::{
    catch_up::CatchUp,
    identity::{ServerIdError, own_id},
    limits::ZoneLimits,
};
use crate::{
    events::hub::Hub, identity::Memory, links::Links, live::SpaceLogs, records::tell_zone,
};

/// Interval of heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);
/// A server without a heartbeat for this long is considered dead.
const DEAD_AFTER: Duration = Duration::from_secs(10);
/// Minimum time that a dead server stays in the list.
const FORGET_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// Changes are kept for at least this time, for a server that was suspended or disconnected. A
/// server that missed older changes reads all records again.
const CHANGES_KEPT: Duration = Duration::from_secs(60 * 60);

/// The id, URL and start time of this server in its zone.
#[derive(Clone, Debug)]
pub struct Zone {
    pub id: ServerId,
    /// The URL of this server for agents and users.
    pub url: Arc<str>,
    /// The URL that this server announces to agents. Empty if it announces none.
    pub advertise_url: Arc<str>,
    pub started_at: Timestamp,
}

/// The parts of this server that follow changes made by other servers.
#[derive(Clone)]
pub struct ZoneHandles {
    pub store: Store,
    pub memory: Arc<Memory>,
    pub links: Arc<Links>,
    pub hub: Hub,
    pub limits: ZoneLimits,
    /// The logs of spaces that are linked to this server.
    pub logs: Arc<SpaceLogs>,
    /// The number of the zone's newest change at the start, read before any record was read into
    /// memory.
    pub position: i64,
    /// For requests that wait for the commits of other servers.
    pub catch_up: Arc<CatchUp>,
    /// For event streams that wait for the commits of other servers when they open.
    pub stream_catch_up: Arc<CatchUp>,
    /// Cancelled when the server stops.
    pub shutdown: CancellationToken,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Heartbeat {
    /// The first heartbeat after the start of the server.
    First,
    Regular,
    /// The server is about to stop.
    Last,
}

/// The result of a heartbeat.
enum Beat {
    /// Recorded at this time of the database's clock.
    Recorded(Timestamp),
    /// Another server has started with the same id, at this URL.
    Superseded(String),
    /// A newer svc has migrated the database to this schema version, which this program cannot use.
    IncompatibleSchema(i64),
}

impl Zone {
    /// Chooses a start time that is later than the recorded start time of this id. The first
    /// heartbeat claims the id with the chosen time. If another server runs with the same id, from
    /// a copy of the data folder, it notices the claim at its next heartbeat and stops. Otherwise
    /// both servers would deliver from the same lanes, out of order.
    pub async fn next(
        store: &Store,
        id: ServerId,
        url: &str,
        advertise_url: Option<&str>,
    ) -> Result<Self, StoreError> {
        let started_at = store.read(move |tx| servers::next_start(tx, id)).await?;
        Ok(Self {
            id,
            url: url.into(),
            advertise_url: advertise_url.unwrap_or_default().into(),
            started_at,
        })
    }

    /// The servers of the zone. Dead servers are listed for at least a day.
    pub async fn list(
        &self,
        reader: UserId,
        store: &Store,
        links: &Links,
    ) -> Result<Vec<ServerRecord>, StoreError> {
        let alone = !store.is_shared();
        if alone {
            // A server without a zone has no regular heartbeats.
            self.beat(store, links, Heartbeat::Regular).await?;
        }
        let read = |tx: &mut Tx<'_>| Ok((servers::list(tx)?, tx.now()?));
        let (listed, now) = store.read_list(reader, read).await?;
        Ok(listed
            .into_iter()
            .map(|holding| self.present(holding, now))
            .collect())
    }

    fn present(&self, holding: ServerLoad, now: Timestamp) -> ServerRecord {
        let ServerLoad { server, leases } = holding;
        let gone = server.seen_at < now.minus(DEAD_AFTER);
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
            side_links: if gone { 0 } else { server.side_links },
            advertise_url: Some(server.advertise_url).filter(|url| !url.is_empty()),
            leases,
            is_this: server.id == self.id,
        }
    }

    async fn beat(
        &self,
        store: &Store,
        links: &Links,
        heartbeat: Heartbeat,
    ) -> Result<Beat, StoreError> {
        let (linked, side_links) = links.count();
        // The agents of the zone must link to a new server, and not to one that stops.
        let changes_list = heartbeat != Heartbeat::Regular && !self.advertise_url.is_empty();
        let mut row = ServerRow {
            id: self.id,
            url: self.url.to_string(),
            svc_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: self.started_at,
            seen_at: Timestamp::default(),
            links: linked,
            side_links,
            advertise_url: self.advertise_url.to_string(),
            draining: heartbeat == Heartbeat::Last,
        };
        let beat = move |tx: &mut Tx<'_>| {
            let newer = svc_store::find_newer_schema(tx)?;
            if let Some(newer) = newer.filter(|newer| !newer.is_compatible) {
                return Ok(Beat::IncompatibleSchema(newer.version));
            }
            row.seen_at = tx.now()?;
            if servers::beat(tx, &row)? {
                if changes_list {
                    tell_zone(tx, &[ZoneChange::Servers])?;
                }
                return Ok(Beat::Recorded(row.seen_at));
            }
            let other = servers::find(tx, row.id)?;
            Ok(Beat::Superseded(
                other.map_or_else(String::new, |other| other.url),
            ))
        };
        store.write(beat).await
    }

    /// Runs the tasks of the zone until the server stops. Does nothing without a zone.
    pub async fn run(self, handles: ZoneHandles) {
        if !handles.store.is_shared() {
            return;
        }
        tokio::join!(
            self.send_heartbeats(&handles),
            follow::run(&handles),
            announce::run(&handles),
            streams::run(&handles),
            limits::run(&handles.store, self.id, &handles.limits, &handles.shutdown)
        );
    }

    /// Records heartbeats. The last heartbeat, when the server stops, marks the server as draining,
    /// so that agents and callers choose another server.
    async fn send_heartbeats(&self, handles: &ZoneHandles) {
        let (mut steady_since, mut last) = (Instant::now(), Timestamp::default());
        let mut is_first = true;
        loop {
            let draining = handles.shutdown.is_cancelled();
            let heartbeat = match (draining, is_first) {
                (true, _) => Heartbeat::Last,
                (false, true) => Heartbeat::First,
                (false, false) => Heartbeat::Regular,
            };
            let began = Instant::now();
            let beat = self.beat(&handles.store, &handles.links, heartbeat).await;
            is_first &= beat.is_err();
            let is_steady = match beat {
                // Measured with the database's clock: the local clock stops while the machine is
                // suspended.
                Ok(Beat::Recorded(at)) => {
                    at.since(std::mem::replace(&mut last, at)) <= DEAD_AFTER / 2
                }
                Ok(Beat::Superseded(url)) => return self.stop_superseded(handles, &url),
                Ok(Beat::IncompatibleSchema(version)) => {
                    return stop_incompatible(handles, version);
                }
                Err(error) => {
                    log_failure("cannot record a heartbeat", &error);
                    false
                }
            };
            // If this heartbeat took long, the heartbeats of other servers may be late too.
            if !is_steady || began.elapsed() > DEAD_AFTER / 2 {
                steady_since = Instant::now();
            }
            if draining {
                return;
            }
            if let Err(error) = self.clean_up(handles, steady_since.elapsed()).await {
                log_failure("cannot clean up after dead servers", &error);
            }
            tokio::select! {
                () = tokio::time::sleep(HEARTBEAT_INTERVAL) => {}
                () = handles.shutdown.cancelled() => {}
            }
        }
    }

    /// Stops this server because another one has started with the same id.
    fn stop_superseded(&self, handles: &ZoneHandles, url: &str) {
        if !handles.shutdown.is_cancelled() {
            error!(
                "another server, {url}, has started with the id of this server, {}; this server stops. If the data folder of this server was copied, remove `{}` from one of the two folders and start that server again",
                self.id,
                identity::FILE
            );
            handles.shutdown.cancel();
        }
    }

    /// Stops the spaces of dead servers and removes old changes. `steady` is the time for which
    /// this server has reached the database without a gap. No space is stopped while `steady` is
    /// shorter than the grace period: the other servers may have been cut off from the database
    /// too, and have had no time for a heartbeat.
    async fn clean_up(&self, handles: &ZoneHandles, steady: Duration) -> Result<(), StoreError> {
        let grace = handles.links.policy.grace.max(DEAD_AFTER);
        if steady > grace {
            let stopped = handles.links.lifecycle.stop_orphans(grace).await?;
            if stopped > 0 {
                info!(spaces = stopped, "stopped the spaces of dead servers");
            }
        }
        let has_old_changes = |tx: &mut Tx<'_>| {
            let now = tx.now()?;
            let oldest = zone_changes::oldest_at(tx)?;
            Ok(oldest.is_some_and(|at| at < now.minus(CHANGES_KEPT * 2)))
        };
        if handles.store.read(has_old_changes).await? {
            let prune = |tx: &mut Tx<'_>| {
                let now = tx.now()?;
                zone_changes::prune(tx, now.minus(CHANGES_KEPT))?;
                limit_use::prune(tx, now.minus(CHANGES_KEPT))?;
                login_failures::prune(tx, now.minus(FORGET_AFTER))?;
                servers::prune(tx, now.minus(FORGET_AFTER))
            };
            handles.store.write(prune).await?;
        }
        Ok(())
    }
}

/// Stops this server because it cannot use the schema of the database any more.
fn stop_incompatible(handles: &ZoneHandles, version: i64) {
    if !handles.shutdown.is_cancelled() {
        error!(
            "a newer svc has migrated the database to schema version {version}, which this svc (schema version {SCHEMA_VERSION}) cannot use; this server stops. Start the newer svc in its place"
        );
        handles.shutdown.cancel();
    }
}

/// Logs a failure that will be retried. An outage of the database is logged by the store.
fn log_failure(what: &str, error: &StoreError) {
    if !error.is_outage() {
        warn!("{what}: {error}");
    }
}
