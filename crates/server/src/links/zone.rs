//! What another server of the zone did to a space that this one has, or had.

use svc_core::{
    SpaceId,
    space::{Health, State, StopReason},
};
use svc_protocol::link::{Control, Goodbye};

use super::Links;
use crate::store::StoreError;

impl Links {
    /// Looks at a space again: it may be deleted, stopped, or linked to another server by now.
    pub async fn follow(&self, space: SpaceId) -> Result<(), StoreError> {
        let Some(live) = self.find(space) else {
            return Ok(());
        };
        let row = self.lifecycle.whereabouts(space).await?;
        let Some(row) = row.filter(|row| row.state != State::Deleted) else {
            self.cut(space, Goodbye::Revoked).await;
            self.logs.forget(space);
            self.forget(space);
            return Ok(());
        };
        if row.stop_reason == Some(StopReason::Requested) {
            self.cut(space, Goodbye::SpaceStopped).await;
            self.forget(space);
        } else if row.node_id.is_some_and(|node| node != self.server_id) {
            // Its agent has gone there, or a second one has taken its place.
            self.cut(space, Goodbye::Replaced).await;
            self.forget(space);
        } else if let Some(link) = live.link()
            && row.health == Health::Unknown
        {
            // Another check, perhaps: whoever changes it makes the health unknown.
            let health_check = row.health_check;
            let _ = link.control(0, &Control::HealthCheckChanged { health_check });
        }
        Ok(())
    }

    /// Agents that are linked.
    pub fn count(&self) -> u32 {
        let live = self.live.read();
        let linked = live.values().filter(|live| live.link().is_some()).count();
        u32::try_from(linked).unwrap_or(u32::MAX)
    }
}
