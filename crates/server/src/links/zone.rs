//! Reacts to changes that other servers of the zone made to spaces held by this server.

use svc_core::{
    SpaceId,
    space::{Health, State, StopReason},
};
use svc_link::{Control, Goodbye};
use svc_store::{StoreError, spaces::SpaceRow};

use super::Links;

impl Links {
    /// Reads a space again. It may have been deleted, stopped, or linked to another server.
    pub async fn follow(&self, space: SpaceId) -> Result<(), StoreError> {
        let Some(live) = self.find(space) else {
            return Ok(());
        };
        // Held during the read, so that its result applies to the current link.
        let transition = live.transition.lock().await;
        let (row, instance) = self.lifecycle.find_with_instance(space).await?;
        let row = row.filter(|row| row.state != State::Deleted);
        let is_same_agent = live
            .link()
            .is_some_and(|link| Some(&link.instance) == instance.as_ref());
        if let Some(reason) = self.goodbye_reason(row.as_ref(), is_same_agent) {
            self.end(&live, reason);
            drop(transition);
            if row.is_none() {
                self.logs.forget(space);
            }
            self.forget(space);
            return Ok(());
        }
        let Some((row, link)) = row.zip(live.link()) else {
            return Ok(());
        };
        if row.state == State::Stopped {
            // Another server declared this one dead. The new link deploys the space again.
            link.closing().end(Goodbye::Reconnect);
        } else if row.health == Health::Unknown {
            // The health check may have changed: a change makes the health unknown.
            let health_check = row.health_check;
            let _ = link.control(0, &Control::HealthCheckChanged { health_check });
        }
        Ok(())
    }

    /// The goodbye to the agent of a space that may not be linked to this server.
    fn goodbye_reason(&self, row: Option<&SpaceRow>, is_same_agent: bool) -> Option<Goodbye> {
        let Some(row) = row else {
            return Some(Goodbye::Revoked);
        };
        if row.stop_reason == Some(StopReason::Requested) {
            return Some(Goodbye::SpaceStopped);
        }
        let is_elsewhere = row.node_id.is_some_and(|node| node != self.server_id);
        is_elsewhere.then_some(match is_same_agent {
            // The agent is linked to this server. It had given up its link to the other server, but
            // the other server recorded that link later.
            true => Goodbye::Reconnect,
            false => Goodbye::Replaced,
        })
    }

    /// Every space that is linked to this server, or lost its link and is in the grace period.
    pub fn spaces(&self) -> Vec<SpaceId> {
        self.live.read().keys().copied().collect()
    }

    /// The number of linked agents.
    pub fn count(&self) -> u32 {
        let live = self.live.read();
        let linked = live.values().filter(|live| live.link().is_some()).count();
        u32::try_from(linked).unwrap_or(u32::MAX)
    }
}
