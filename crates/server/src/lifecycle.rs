//! State transitions of spaces. One transaction writes the new state, the event of the transition
//! and, for some transitions, an audit entry.

mod announce;

pub use announce::announce;

use std::{sync::Arc, time::Duration};

use svc_core::{
    ServerId, SpaceId, Timestamp, UserId,
    event::{Actor, Event},
    space::{Health, HealthCheck, State, StopReason, Transition},
};
use svc_link::SpaceIdentity;
use svc_store::{
    Store, StoreError, Tx,
    audit::{self, Entry},
    lanes::{self, Withdrawal},
    records,
    spaces::{self, NewState, SpaceRow},
    zone_changes::ZoneChange,
};
use thiserror::Error;

use crate::{
    events::{hub::Hub, subscriptions},
    identity::Directory,
    live::HealthReport,
    records::tell_zone,
};

/// The maximum number of spaces that one transaction stops. It keeps the transaction short.
const ORPHANS_MAX: u32 = 200;

pub struct Lifecycle {
    pub store: Store,
    pub hub: Hub,
    pub directory: Arc<Directory>,
    pub server_id: ServerId,
}

/// A space that was deployed for a new link.
pub struct DeployedSpace {
    pub health_check: HealthCheck,
    /// Whether this link changed the space to deployed.
    pub started: bool,
    /// Whether the space has subscriptions in the store.
    pub declares: bool,
}

#[derive(Debug, Error)]
pub enum LinkRefused {
    #[error("the space does not exist")]
    Gone,
    #[error("the space's owner is deactivated")]
    OwnerInactive,
    #[error("the space was stopped")]
    Stopped,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Lifecycle {
    /// The owner and the identity of a space.
    pub async fn identity_of(
        &self,
        space: SpaceId,
    ) -> Result<(UserId, SpaceIdentity), LinkRefused> {
        let row = self
            .store
            .read(move |tx| records::find::<SpaceRow>(tx, space))
            .await?;
        let row = row
            .filter(|row| row.state != State::Deleted)
            .ok_or(LinkRefused::Gone)?;
        let owner = self.directory.find_user(row.owner_id);
        if owner.is_some_and(|owner| !owner.active) {
            return Err(LinkRefused::OwnerInactive);
        }
        self.identify(&row).ok_or(LinkRefused::Gone)
    }

    /// The deployed spaces whose agents this server waits for after its start. Without a zone,
    /// these are all deployed spaces. In a zone, they are the spaces that were deployed on this
    /// server.
    pub async fn deployed(&self) -> Result<Vec<(UserId, SpaceIdentity)>, StoreError> {
        let rows = self
            .store
            .read_table(|tx| spaces::list_in_state(tx, State::Deployed))
            .await?;
        let alone = !self.store.is_shared();
        Ok(rows
            .iter()
            .filter(|row| alone || row.node_id == Some(self.server_id))
            .filter_map(|row| self.identify(row))
            .collect())
    }

    /// Stops spaces of servers whose last heartbeat is older than `grace`, at most `ORPHANS_MAX` in
    /// one call. Returns the number of spaces that were stopped.
    pub async fn stop_orphans(&self, grace: Duration) -> Result<usize, StoreError> {
        let listing = move |tx: &mut Tx<'_>| {
            let before = tx.now()?.minus(grace);
            spaces::list_orphans(tx, before, ORPHANS_MAX)
        };
        if self.store.read_table(listing).await?.is_empty() {
            return Ok(0);
        }
        let events = self.store.write(move |tx| {
            let (mut events, mut count) = (Vec::new(), 0);
            for space in listing(tx)? {
                let stopped = stop(tx, space, StopReason::LinkLost, Actor::system())?;
                count += usize::from(!stopped.is_empty());
                events.extend(stopped);
                // The server of the space may still run, for example after its machine was
                // suspended. Then that server must end the link.
                tell_zone(tx, &[ZoneChange::Space(space)])?;
            }
            Ok((events, count))
        });
        let (events, count) = events.await?;
        self.hub.committed(&events);
        Ok(count)
    }

    fn identify(&self, row: &SpaceRow) -> Option<(UserId, SpaceIdentity)> {
        let owner = self.directory.find_user(row.owner_id)?;
        let identity = SpaceIdentity {
            id: row.id,
            name: row.name.clone(),
            owner: owner.name.clone(),
            urls: row.space_urls.clone(),
        };
        Some((row.owner_id, identity))
    }

    /// Deploys a space for an agent that has connected.
    pub async fn link_up(
        &self,
        space: SpaceId,
        instance: &str,
    ) -> Result<DeployedSpace, LinkRefused> {
        let (node_id, instance) = (self.server_id, instance.to_owned());
        let (linked, events) = self
            .store
            .try_write(move |tx| {
                let row = records::find::<SpaceRow>(tx, space)?.ok_or(LinkRefused::Gone)?;
                let started = match (row.state, row.stop_reason) {
                    (State::Deleted, _) => return Err(LinkRefused::Gone),
                    (State::Stopped, Some(StopReason::Requested)) => {
                        return Err(LinkRefused::Stopped);
                    }
                    (State::Deployed, _) => {
                        if row.node_id != Some(node_id) {
                            spaces::set_node(tx, space, node_id)?;
                        }
                        Vec::new()
                    }
                    (State::Created | State::Stopped, _) => {
                        let at = svc_clock::now();
                        spaces::set_state(tx, space, NewState::Deployed { node_id }, at)?;
                        let started = Transition::Started { node_id, at };
                        announce(tx, &row, &started, Actor::system())?
                    }
                };
                if tx.is_shared() {
                    spaces::set_link_instance(tx, space, &instance)?;
                }
                if row.node_id != Some(node_id) {
                    tell_zone(tx, &[ZoneChange::Space(space)])?;
                }
                let linked = DeployedSpace {
                    health_check: row.health_check,
                    started: !started.is_empty(),
                    declares: lanes::declares(tx, space)?,
                };
                Ok((linked, started))
            })
            .await?;
        self.hub.committed(&events);
        Ok(linked)
    }

    /// Stops a space whose agent has disconnected, unless the space is on another server by now.
    pub async fn stopped(&self, space: SpaceId, reason: StopReason) -> Result<(), StoreError> {
        let (here, alone) = (self.server_id, !self.store.is_shared());
        let stopping = move |tx: &mut Tx<'_>| {
            let node = records::find::<SpaceRow>(tx, space)?.and_then(|row| row.node_id);
            match alone || node == Some(here) {
                true => stop(tx, space, reason, Actor::system()),
                false => Ok(Vec::new()),
            }
        };
        let events = self.store.write(stopping).await?;
        self.hub.committed(&events);
        Ok(())
    }

    /// Whether the database cannot be reached.
    pub async fn is_unreachable(&self) -> bool {
        let asked = self.store.read(|tx| tx.now()).await;
        asked.is_err_and(|error| error.is_outage())
    }

    /// A space's record, and the id of the agent process that linked last.
    pub async fn find_with_instance(
        &self,
        space: SpaceId,
    ) -> Result<(Option<SpaceRow>, Option<String>), StoreError> {
        let read = move |tx: &mut Tx<'_>| {
            Ok((
                records::find::<SpaceRow>(tx, space)?,
                spaces::find_link_instance(tx, space)?,
            ))
        };
        self.store.read(read).await
    }

    /// Records a change of a space's health and emits its event.
    pub async fn health_changed(
        &self,
        space: SpaceId,
        report: HealthReport,
    ) -> Result<(), StoreError> {
        let events = self
            .store
            .write(move |tx| {
                let Some(row) = records::find::<SpaceRow>(tx, space)? else {
                    return Ok(Vec::new());
                };
                let (previous, current) = (row.health, report.current);
                // Ignore spaces that are not deployed, reports without a change, and `unknown`.
                if row.state != State::Deployed || previous == current || current == Health::Unknown
                {
                    return Ok(Vec::new());
                }
                spaces::set_health(tx, space, current)?;
                let transition = Transition::HealthChanged {
                    previous,
                    current,
                    consecutive_failures: report.consecutive_failures,
                    at: report.checked_at,
                };
                announce(tx, &row, &transition, Actor::system())
            })
            .await?;
        self.hub.committed(&events);
        Ok(())
    }

    /// The time when a space was stopped; `None` unless it is stopped now.
    pub async fn stopped_at(&self, space: SpaceId) -> Result<Option<Timestamp>, StoreError> {
        let row = self
            .store
            .read(move |tx| records::find::<SpaceRow>(tx, space))
            .await?;
        let stopped = row.filter(|row| row.state == State::Stopped);
        Ok(stopped.and_then(|row| row.stopped_at))
    }

    /// Removes the subscriptions of a space, except those with `event_overflow = "hold"`, if the
    /// space has been stopped since `stopped_at` without interruption.
    pub async fn withdraw_subscriptions(
        &self,
        space: SpaceId,
        stopped_at: Timestamp,
    ) -> Result<(), StoreError> {
        self.store
            .write(move |tx| {
                let row = records::find::<SpaceRow>(tx, space)?;
                let same = |row: &SpaceRow| {
                    row.state == State::Stopped && row.stopped_at == Some(stopped_at)
                };
                if row.as_ref().is_some_and(same) {
                    subscriptions::withdraw_space(tx, space, Withdrawal::ExceptHolding)?;
                }
                Ok(())
            })
            .await
    }
}

/// Stops a space within a transaction, and returns the events for the hub. A space that is already
/// stopped keeps its stop reason, unless a user requests the stop: then the agent must not
/// reconnect. If the agent stopped by itself, the subscriptions stay, because the agent may restart
/// within the grace period.
pub fn stop(
    tx: &mut Tx<'_>,
    space: SpaceId,
    reason: StopReason,
    actor: Actor,
) -> Result<Vec<Arc<Event>>, StoreError> {
    let Some(row) = records::find::<SpaceRow>(tx, space)? else {
        return Ok(Vec::new());
    };
    if reason != StopReason::AgentStopped {
        subscriptions::withdraw_space(tx, space, Withdrawal::ExceptHolding)?;
    }
    match row.state {
        State::Deleted => Ok(Vec::new()),
        State::Stopped => {
            if reason == StopReason::Requested {
                spaces::set_stop_reason(tx, space, Some(reason))?;
            }
            Ok(Vec::new())
        }
        State::Created | State::Deployed => {
            let at = svc_clock::now();
            spaces::set_state(tx, space, NewState::Stopped { reason }, at)?;
            if reason == StopReason::LinkLost {
                let detail = serde_json::json!({"reason": reason});
                let target = ("space", space.to_string());
                let entry = Entry::by_system(at, "space.stopped", target, detail);
                audit::append_for(tx, &row.owner_id.to_string(), &entry)?;
            }
            announce(tx, &row, &Transition::Stopped { at }, actor)
        }
    }
}

/// Writes an audit entry about a space.
pub fn append(
    tx: &mut Tx<'_>,
    actor: &str,
    action: &'static str,
    space: SpaceId,
    detail: serde_json::Value,
) -> Result<(), StoreError> {
    let entry = Entry::by(svc_clock::now(), actor, action, ("space", space), detail);
    audit::append(tx, &entry)
}
