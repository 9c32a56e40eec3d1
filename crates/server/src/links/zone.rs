//! Reacts to changes that other servers of the zone made to spaces that are linked to this server.
//! An agent has a home link to one server, and may have side links to the other servers.

use std::{sync::Arc, time::Duration};

use svc_core::{
    SpaceId,
    space::{Health, State, StopReason},
};
use svc_link::{AnnouncedServer, AnnouncedServers, Control, Goodbye};
use svc_store::{StoreError, spaces::SpaceRow};

use super::{Links, side::side_goodbye};
use crate::live::{Link, LiveSpace};

/// An agent that makes another server its home replaces its home link to this server by a side
/// link. If the agent does not do so, this server ends the home link after this time, or after half
/// of the grace period if that is shorter.
const MOVE_MAX: Duration = Duration::from_secs(10);

/// The number of links per second that all agents together open to a server that joins the zone.
const LINKS_PER_SECOND: u32 = 1_000;
/// The shortest and the longest time over which agents spread their links to a server that joins.
const SPREAD_MILLIS: std::ops::RangeInclusive<u32> = 1_000..=20_000;

impl Links {
    /// Reads a space again. It may have been deleted, stopped, or linked to another server.
    pub async fn follow(self: &Arc<Self>, space: SpaceId) -> Result<(), StoreError> {
        let Some(live) = self.find(space) else {
            return Ok(());
        };
        // The lock is held during the read, so that its result applies to the current link.
        let transition = live.transition.lock().await;
        let (row, instance) = self.lifecycle.find_with_instance(space).await?;
        let row = row.filter(|row| row.state != State::Deleted);
        let is_same_agent = live
            .link()
            .is_some_and(|link| Some(&link.instance) == instance.as_ref());
        let reason = match live.link() {
            Some(link) if self.is_moving(&link, row.as_ref(), is_same_agent) => {
                self.expect_move(&live, link);
                return Ok(());
            }
            Some(link) if link.is_side() => side_goodbye(row.as_ref(), is_same_agent),
            // The methods of a lost side link stay for the grace period.
            None if live.is_side() => side_goodbye(row.as_ref(), true),
            _ => self.goodbye_reason(row.as_ref(), is_same_agent),
        };
        if let Some(reason) = reason {
            self.end(&live, reason);
            drop(transition);
            if row.is_none() {
                self.logs.forget(space);
            }
            self.forget(space);
            return Ok(());
        }
        let Some((row, link)) = row.zip(live.link().filter(|link| !link.is_side())) else {
            return Ok(());
        };
        if row.state == State::Stopped {
            // Another server declared this server dead and stopped the space. The agent links
            // again, and the new link makes the space deployed.
            link.closing().end(Goodbye::Reconnect);
        } else if row.health == Health::Unknown {
            // The health check may have changed: a change makes the health unknown.
            let health_check = row.health_check;
            let _ = link.control(0, &Control::HealthCheckChanged { health_check });
        }
        Ok(())
    }

    /// Whether the agent of a home link has just made another server its home. The agent will then
    /// replace the link by a side link.
    fn is_moving(&self, link: &Link, row: Option<&SpaceRow>, is_same_agent: bool) -> bool {
        let is_elsewhere = row.is_some_and(|row| {
            row.state == State::Deployed && row.node_id.is_some_and(|node| node != self.server_id)
        });
        !link.is_side() && is_same_agent && is_elsewhere
    }

    /// Ends a home link that no side link replaces in time: the agent may have closed its link to
    /// the other server.
    fn expect_move(self: &Arc<Self>, live: &Arc<LiveSpace>, link: Arc<Link>) {
        let (links, live) = (Arc::clone(self), Arc::clone(live));
        self.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(MOVE_MAX.min(links.policy.grace / 2)) => {}
                () = links.shutdown.cancelled() => return,
            }
            let _transition = live.transition.lock().await;
            if live.is_current(&link) {
                link.closing().end(Goodbye::Reconnect);
            }
        });
    }

    /// Why the home link of a space must end; `None` if it may stay.
    fn goodbye_reason(&self, row: Option<&SpaceRow>, is_same_agent: bool) -> Option<Goodbye> {
        let Some(row) = row else {
            return Some(Goodbye::Revoked);
        };
        if row.stop_reason == Some(StopReason::Requested) {
            return Some(Goodbye::SpaceStopped);
        }
        let is_elsewhere = row.node_id.is_some_and(|node| node != self.server_id);
        is_elsewhere.then_some(match is_same_agent {
            // The agent is linked to this server. It had closed its link to the other server, but
            // the other server recorded that link later.
            true => Goodbye::Reconnect,
            false => Goodbye::Replaced,
        })
    }

    /// Every space that is linked to this server, or lost its link and is in the grace period.
    pub fn spaces(&self) -> Vec<SpaceId> {
        self.live.read().keys().copied().collect()
    }

    /// The number of home links, and the number of side links.
    pub fn count(&self) -> (u32, u32) {
        let live = self.live.read();
        let links = live.values().filter_map(|live| live.link());
        links.fold((0, 0), |(homes, sides), link| match link.is_side() {
            true => (homes, sides + 1),
            false => (homes + 1, sides),
        })
    }

    /// Sends a changed list of announced servers to the agents.
    pub fn announce(&self, servers: Vec<AnnouncedServer>) {
        let (homes, sides) = self.count();
        // The lock is held until the list was sent on every link. A link that is attached later
        // reads the new list.
        let mut announced = self.announced.write();
        if announced
            .as_ref()
            .is_some_and(|known| known.servers == servers)
        {
            return;
        }
        let list = AnnouncedServers {
            servers,
            spread_millis: spread_millis(homes.saturating_add(sides)),
        };
        let message = Control::Servers(list.clone());
        *announced = Some(list);
        let live = self.live.read();
        let links = live.values().filter_map(|live| live.link());
        for link in links.filter(|link| !link.is_side()) {
            let _ = link.control(0, &message);
        }
    }
}

/// The time over which this number of agents spread their links to a server that joins.
fn spread_millis(agents: u32) -> u32 {
    let millis = u64::from(agents) * 1_000 / u64::from(LINKS_PER_SECOND);
    u32::try_from(millis)
        .unwrap_or(u32::MAX)
        .clamp(*SPREAD_MILLIS.start(), *SPREAD_MILLIS.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_spread_their_links_to_a_server_that_joins() {
        let spread = [0, 100, 5_000, 10_000, u32::MAX].map(spread_millis);
        assert_eq!(spread, [1_000, 1_000, 5_000, 10_000, 20_000]);
    }
}
