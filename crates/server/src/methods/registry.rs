//! Every method of every space that is linked to this server, or that lost its link and is within
//! the grace period (spec 4.1, D3).
//!
//! A method is found in a hash map, without a scan of a list. A registration touches only its own
//! methods and the methods that it replaces in other spaces. The lock must never be held across an
//! await.

mod index;
mod state;
mod tool_versions;

#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::RwLock;
use svc_core::{
    CanonicalName, QuotaExceeded, Quotas, SpaceId, UserId, registration::ServerDefinition,
    subscription::Subscription, target, visibility::Viewer,
};
use thiserror::Error;
use tokio::sync::watch;

pub use state::Entry;
use state::State;
pub use svc_core::registration::Definition;
pub use tool_versions::ToolsVersion;

use super::provider::Provider;
use crate::live::{Availability, LiveSpace};

/// Largest list that is built on the current thread, by number of methods and bytes of definitions.
/// Larger lists are built on the compute pool.
const SMALL_METHODS: usize = 32;
const SMALL_BYTES: usize = 64 * 1024;

#[derive(Default)]
pub struct Registry {
    state: RwLock<State>,
    last_place: AtomicU64,
    /// The number of the last change to any MCP tool.
    tools: watch::Sender<u64>,
}

/// A registration that passed every check that does not depend on other registrations.
pub struct Publication {
    pub space: Arc<LiveSpace>,
    pub server: ServerDefinition,
    pub methods: Vec<(Arc<Definition>, String)>,
    pub generation: u32,
    /// The place in the order of registration that a repeated registration keeps after a lost link.
    /// `None` for a new registration.
    pub place: Option<u64>,
    pub replace_conflicting: bool,
    /// Whether another server of the zone, the home server of the agent, has accepted the
    /// registration. A conflict is then decided by precedence.
    pub accepted_elsewhere: bool,
    pub quotas: Quotas,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Conflict {
    #[error(
        "method `{method}` is published by your space `{space}` with another definition; make both the same, rename one, or use --replace-conflicting"
    )]
    Definition { method: String, space: String },
    #[error(
        "methods `{method}` and `{other}` (of your space `{space}`) would both be the MCP tool `{tool}`; rename one"
    )]
    Tool {
        method: String,
        other: String,
        space: String,
        tool: String,
    },
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    #[error(
        "the definitions of your methods would take {wanted} bytes in total, and at most {limit} are allowed (4 KiB for each method that the setting `quotas.methods` allows, but at least 4 MiB); shorten schemas and descriptions, or unregister the methods of another space first"
    )]
    DefinitionBytes { wanted: u64, limit: u64 },
}

/// Why no target was picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickError {
    /// Unknown or not visible. Callers cannot distinguish the two.
    NotFound,
    /// Visible, but no provider can take a call.
    Unavailable,
}

impl Registry {
    /// Replaces all methods of the space, or changes nothing. Calls `accepted` with the place in
    /// the order of registration, before any caller can pick the new providers. Returns the methods
    /// removed from other spaces.
    pub fn publish(
        &self,
        publication: &Publication,
        now_micros: u64,
        accepted: impl FnOnce(u64),
    ) -> Result<Vec<(SpaceId, CanonicalName)>, Conflict> {
        let place = publication
            .place
            .unwrap_or_else(|| self.next_place(now_micros));
        let mut state = self.state.write();
        let displaced = state.publish(publication, place)?;
        accepted(place);
        let latest = state.tools.latest();
        drop(state);
        self.announce_tools(latest);
        Ok(displaced)
    }

    /// Checks a publication for conflicts, without publishing it.
    pub fn check(&self, publication: &Publication) -> Result<(), Conflict> {
        self.state.read().check(publication)
    }

    pub fn subscriptions_of(&self, space: SpaceId) -> Vec<Subscription> {
        self.state.read().subscriptions_of(space)
    }

    /// Removes all methods of a space. Returns their number.
    pub fn withdraw(&self, space: SpaceId) -> usize {
        let mut state = self.state.write();
        let withdrawn = state.withdraw(space);
        let latest = state.tools.latest();
        drop(state);
        self.announce_tools(latest);
        withdrawn
    }

    /// The version of the MCP tools that the viewer sees.
    pub fn tools_version(&self, viewer: Viewer<'_>) -> ToolsVersion {
        self.state.read().tools.seen_by(viewer)
    }

    /// Notifies about changes of MCP tools. Changes that come together may cause one notification.
    pub fn watch_tools(&self) -> watch::Receiver<u64> {
        self.tools.subscribe()
    }

    fn announce_tools(&self, latest: u64) {
        self.tools.send_if_modified(|known| {
            let is_newer = latest > *known;
            *known = latest.max(*known);
            is_newer
        });
    }

    /// The number of methods that a space has registered.
    pub fn count_of(&self, space: SpaceId) -> usize {
        self.state.read().count_of(space)
    }

    pub fn method_count(&self) -> usize {
        self.state.read().method_count()
    }

    /// The number of methods that all spaces of an owner have registered.
    pub fn count_of_owner(&self, owner: UserId) -> usize {
        self.state.read().count_of_owner(owner)
    }

    /// Counts the methods that a viewer sees, and the linked spaces that offer them; without a
    /// viewer, all of them. Skips owners for which `counted` is false.
    pub fn count_seen(
        &self,
        viewer: Option<Viewer<'_>>,
        counted: impl Fn(UserId) -> bool,
    ) -> (usize, usize) {
        let mut methods = 0;
        let mut spaces = HashSet::new();
        let mut count = |owner, entry: &Entry| {
            if !counted(owner) {
                return;
            }
            methods += 1;
            let able = entry.providers.iter();
            let able = able.filter(|provider| provider.availability() != Availability::Unlinked);
            spaces.extend(able.map(|provider| provider.space.id));
        };
        let state = self.state.read();
        match viewer {
            Some(viewer) => state.for_each_visible(viewer, &mut count),
            None => state.for_each(&mut count),
        }
        (methods, spaces.len())
    }

    /// Picks the target of a call (D2) among the owner's available providers, except those in
    /// `tried`.
    pub fn pick(
        &self,
        viewer: Viewer<'_>,
        owner: UserId,
        canonical: &str,
        tried: &[Arc<Provider>],
    ) -> Result<Arc<Provider>, PickError> {
        let state = self.state.read();
        let entry = state.find_visible(viewer, owner, canonical);
        let entry = entry.ok_or(PickError::NotFound)?;
        let choose = |wanted: Availability| {
            let able = entry.providers.iter().enumerate().filter(|(_, provider)| {
                provider.availability() == wanted
                    && !tried.iter().any(|tried| Arc::ptr_eq(tried, provider))
            });
            target::choose(able.map(|(index, provider)| (index, provider.candidate())))
        };
        choose(Availability::Ready)
            .or_else(|| choose(Availability::Restarting))
            .map(|index| Arc::clone(&entry.providers[index]))
            .ok_or(PickError::Unavailable)
    }

    /// Every method that the viewer sees, unordered. Copies only handles, so the lock is held
    /// briefly.
    pub fn list_visible(&self, viewer: Viewer<'_>) -> Vec<(UserId, Entry)> {
        self.map_visible(viewer, Entry::clone)
    }

    /// Like [`list_visible`](Self::list_visible), but copies only the definitions.
    pub fn list_visible_definitions(&self, viewer: Viewer<'_>) -> Vec<(UserId, Arc<Definition>)> {
        self.map_visible(viewer, |entry| Arc::clone(&entry.definition))
    }

    fn map_visible<T>(&self, viewer: Viewer<'_>, of: impl Fn(&Entry) -> T) -> Vec<(UserId, T)> {
        let mut found = Vec::new();
        let mut add = |owner, entry: &Entry| found.push((owner, of(entry)));
        self.state.read().for_each_visible(viewer, &mut add);
        found
    }

    /// Whether the viewer sees so few methods, with so short definitions, that a list takes at most
    /// about a millisecond.
    pub fn is_small_for(&self, viewer: Viewer<'_>) -> bool {
        let state = self.state.read();
        if state.visible_max(viewer) > SMALL_METHODS {
            return false;
        }
        let mut bytes = 0;
        state.for_each_visible(viewer, &mut |_, entry| bytes += entry.definition.bytes);
        bytes <= SMALL_BYTES
    }

    /// Finds one method, if the viewer sees it.
    pub fn find_visible(
        &self,
        viewer: Viewer<'_>,
        owner: UserId,
        canonical: &str,
    ) -> Option<Entry> {
        let state = self.state.read();
        state.find_visible(viewer, owner, canonical).cloned()
    }

    /// Places come from the clock, so they also grow across restarts. The place that an agent keeps
    /// after a lost link is before all places that are given later.
    fn next_place(&self, now_micros: u64) -> u64 {
        let advance = |last: u64| Some(now_micros.max(last + 1));
        let previous = self
            .last_place
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance)
            .unwrap_or_default();
        now_micros.max(previous + 1)
    }
}
