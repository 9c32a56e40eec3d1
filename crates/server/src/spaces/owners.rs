//! If the owner of a space that runs on the server is deactivated or loses `manage_spaces`, stops
//! the space.

use futures_util::future::join_all;
use serde_json::json;
use svc_core::{Permission, SpaceId, UserId, event::Actor as EventActor, space::StopReason};
use svc_link::Goodbye;
use svc_store::{audit, spaces, zone_changes::ZoneChange};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

use super::Spaces;
use crate::{
    identity::DirectoryChange,
    lifecycle::{self, append},
    records::{RecordError, tell_zone},
};

impl Spaces {
    /// Follows the directory until the server stops.
    pub async fn watch_owners(&self, shutdown: &CancellationToken) {
        let mut changes = self.directory.watch(shutdown);
        while let Some(change) = changes.next().await {
            match change {
                Some(DirectoryChange::UserChanged(_) | DirectoryChange::UserDeactivated(_))
                | None => self.stop_disallowed().await,
                Some(_) => {}
            }
        }
    }

    async fn stop_disallowed(&self) {
        let running = self.local.running().into_iter();
        let disallowed = running.filter(|&(_, owner)| !self.may_run(owner));
        join_all(disallowed.map(|(space, _)| self.stop_local(space))).await;
    }

    /// Whether the owner may run code on the server.
    pub fn may_run(&self, owner: UserId) -> bool {
        self.directory.find_user(owner).is_some_and(|owner| {
            owner.active && owner.permissions.contains(Permission::ManageSpaces)
        })
    }

    /// Stops a space in the same way as a stop that a user requests: its owner may start it again
    /// when they have the permission again.
    async fn stop_local(&self, id: SpaceId) {
        warn!(space.id = %id, "a space on this server is stopped: its owner is not active or does not hold `manage_spaces`");
        let stopping = self.store.try_write(move |tx| {
            let row = spaces::get(tx, id)?;
            let event = lifecycle::stop(tx, id, StopReason::Requested, EventActor::system())?;
            tell_zone(tx, &[ZoneChange::Space(id)])?;
            let detail = json!({"name": row.name, "reason": "owner_not_allowed"});
            append(tx, audit::SYSTEM, "space.stopped", id, detail)?;
            Ok::<_, RecordError>(event)
        });
        match stopping.await {
            Ok(event) => self.hub.committed(event.as_slice()),
            // The agent is stopped anyway, and gets no token for another start.
            Err(error) => error!(space.id = %id, "cannot record that a space stopped: {error}"),
        }
        self.links.cut(id, Goodbye::SpaceStopped).await;
        self.local.stop_soon(id).await;
    }
}
