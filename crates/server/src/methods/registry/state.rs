//! The maps of the registry, and the operations that keep them consistent.

mod limits;
mod unchanged;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, OnceLock},
    time::Duration,
};

use svc_core::{
    CanonicalName, SpaceId, UserId,
    registration::{Acceptance, Definition},
    subscription::Subscription,
    visibility::{Viewer, is_visible},
};

use super::{Conflict, Publication, index::SharedIndex, tool_versions::ToolVersions};
use crate::{methods::provider::Provider, random_key::RandomKeyMap};

/// One method and its providers, in the order of registration. Has at least one provider.
#[derive(Clone)]
pub struct Entry {
    pub definition: Arc<Definition>,
    pub providers: Vec<Arc<Provider>>,
}

#[derive(Default)]
pub struct State {
    owners: RandomKeyMap<UserId, Namespace>,
    /// The owner and the registered canonical names of each space.
    spaces: HashMap<SpaceId, (UserId, Vec<CanonicalName>)>,
    shared: SharedIndex,
    pub tools: ToolVersions,
}

/// The methods of one owner. Methods of different owners never conflict.
#[derive(Default)]
struct Namespace {
    methods: HashMap<CanonicalName, Entry>,
    tools: HashMap<String, CanonicalName>,
    /// Total size of the definitions of `methods`.
    bytes: u64,
}

impl State {
    pub fn find(&self, owner: UserId, canonical: &str) -> Option<&Entry> {
        self.owners.get(&owner)?.methods.get(canonical)
    }

    pub fn find_visible(
        &self,
        viewer: Viewer<'_>,
        owner: UserId,
        canonical: &str,
    ) -> Option<&Entry> {
        self.find(owner, canonical).filter(|entry| {
            let definition = &entry.definition;
            is_visible(
                viewer,
                owner,
                definition.scope,
                definition.groups.as_deref(),
            )
        })
    }

    pub fn subscriptions_of(&self, space: SpaceId) -> Vec<Subscription> {
        let Some((owner, names)) = self.spaces.get(&space) else {
            return Vec::new();
        };
        let entries = names.iter().filter_map(|name| self.find(*owner, name));
        entries
            .filter_map(|entry| entry.definition.subscription())
            .collect()
    }

    pub fn count_of(&self, space: SpaceId) -> usize {
        self.spaces.get(&space).map_or(0, |(_, names)| names.len())
    }

    pub fn count_of_owner(&self, owner: UserId) -> usize {
        let namespace = self.owners.get(&owner);
        namespace.map_or(0, |namespace| namespace.methods.len())
    }

    pub fn method_count(&self) -> usize {
        self.owners
            .values()
            .map(|namespace| namespace.methods.len())
            .sum()
    }

    /// Replaces the methods of a space. Returns the methods that were removed from other spaces.
    pub fn publish(
        &mut self,
        publication: &Publication,
        place: u64,
    ) -> Result<Vec<(SpaceId, CanonicalName)>, Conflict> {
        let conflicting = self.check_at(publication, place)?;
        for (space, name) in &conflicting {
            self.remove_one(*space, name);
        }
        let (space, owner) = (&publication.space, publication.space.owner);
        let counters = self.counters_of(space.id, owner);
        self.tools.is_frozen = self.is_unchanged(publication, place);
        self.withdraw(space.id);
        let timeout = Duration::from_secs(publication.server.timeout.into());
        let mut names = Vec::with_capacity(publication.methods.len());
        for (definition, local_name) in &publication.methods {
            let in_flight = counters.get(&definition.name).cloned().unwrap_or_default();
            let provider = Provider {
                space: Arc::clone(space),
                definition: Arc::clone(definition),
                name: definition.name.as_str().into(),
                prefix: Provider::prefix(local_name),
                local_name: local_name.clone(),
                generation: publication.generation,
                place,
                replaces: publication.replace_conflicting,
                timeout,
                serial: publication.server.excludes_overlap(),
                journal: definition.journal.clone(),
                gets_trace: publication.server.trace,
                in_flight,
                meter: OnceLock::new(),
            };
            self.insert(owner, definition, Arc::new(provider));
            names.push(definition.name.clone());
        }
        self.spaces.insert(space.id, (owner, names));
        self.tools.is_frozen = false;
        Ok(conflicting)
    }

    pub fn withdraw(&mut self, space: SpaceId) -> usize {
        let Some((owner, names)) = self.spaces.remove(&space) else {
            return 0;
        };
        for name in &names {
            self.remove_provider(owner, name, space);
        }
        names.len()
    }

    /// An upper bound of the number of methods that the viewer sees.
    pub fn visible_max(&self, viewer: Viewer<'_>) -> usize {
        let own = self.owners.get(&viewer.id);
        own.map_or(0, |own| own.methods.len()) + self.shared.visible_max(viewer)
    }

    pub fn for_each_visible(&self, viewer: Viewer<'_>, visit: &mut impl FnMut(UserId, &Entry)) {
        if let Some(own) = self.owners.get(&viewer.id) {
            own.methods
                .values()
                .for_each(|entry| visit(viewer.id, entry));
        }
        for (owner, name) in self.shared.visible_to(viewer) {
            if *owner != viewer.id
                && let Some(entry) = self.find_visible(viewer, *owner, name)
            {
                visit(*owner, entry);
            }
        }
    }

    pub fn for_each(&self, visit: &mut impl FnMut(UserId, &Entry)) {
        for (owner, namespace) in &self.owners {
            let entries = namespace.methods.values();
            entries.for_each(|entry| visit(*owner, entry));
        }
    }

    /// Checks a publication. A publication without a place is checked as the last in the order of
    /// registration.
    pub fn check(&self, publication: &Publication) -> Result<(), Conflict> {
        let place = publication.place.unwrap_or(u64::MAX);
        self.check_at(publication, place).map(|_| ())
    }

    /// Checks a publication with this place. Returns the methods that must be removed from other
    /// spaces before the publication is applied.
    fn check_at(
        &self,
        publication: &Publication,
        place: u64,
    ) -> Result<Vec<(SpaceId, CanonicalName)>, Conflict> {
        let conflicting = self.find_conflicts(publication, place)?;
        self.check_limits(publication, &conflicting)?;
        Ok(conflicting)
    }

    /// Finds conflicting methods of other spaces. Returns an error, or the methods to remove
    /// because this publication replaces or precedes them.
    fn find_conflicts(
        &self,
        publication: &Publication,
        place: u64,
    ) -> Result<Vec<(SpaceId, CanonicalName)>, Conflict> {
        let space = &publication.space;
        let acceptance = Acceptance {
            place,
            space: space.id,
            replaces: publication.replace_conflicting,
        };
        let may_remove = |provider: &Provider| match publication.accepted_elsewhere {
            true => acceptance.precedes(&provider.acceptance()),
            false => publication.replace_conflicting,
        };
        let Some(namespace) = self.owners.get(&space.owner) else {
            return Ok(Vec::new());
        };
        // A method may conflict both by its name and by its tool name. It is listed once.
        let (mut conflicting, mut seen) = (Vec::new(), HashSet::new());
        for (definition, _) in &publication.methods {
            let changed = namespace.methods.get(&definition.name);
            let changed = changed.filter(|entry| entry.definition != *definition);
            let tool = definition.tool_name.as_ref();
            let same_tool = tool
                .and_then(|tool| namespace.tools.get(tool))
                .filter(|name| **name != definition.name)
                .and_then(|name| namespace.methods.get(name));
            for entry in changed.into_iter().chain(same_tool) {
                let other = &entry.definition.name;
                let providers = entry.providers.iter();
                for provider in providers.filter(|provider| provider.space.id != space.id) {
                    if !may_remove(provider) {
                        let method = definition.name.to_string();
                        let space = provider.space.name.to_string();
                        return Err(match tool {
                            Some(tool) if *other != definition.name => Conflict::Tool {
                                method,
                                other: other.to_string(),
                                space,
                                tool: tool.clone(),
                            },
                            _ => Conflict::Definition { method, space },
                        });
                    }
                    let conflict = (provider.space.id, other.clone());
                    if seen.insert(conflict.clone()) {
                        conflicting.push(conflict);
                    }
                }
            }
        }
        Ok(conflicting)
    }

    /// The counters of calls in flight, which a new registration of the same space keeps.
    fn counters_of(
        &self,
        space: SpaceId,
        owner: UserId,
    ) -> HashMap<CanonicalName, Arc<std::sync::atomic::AtomicU32>> {
        let names = self.spaces.get(&space).map_or(&[][..], |(_, names)| names);
        names
            .iter()
            .filter_map(|name| {
                let entry = self.find(owner, name)?;
                let provider = entry.providers.iter().find(|p| p.space.id == space)?;
                Some((name.clone(), Arc::clone(&provider.in_flight)))
            })
            .collect()
    }

    fn insert(&mut self, owner: UserId, definition: &Arc<Definition>, provider: Arc<Provider>) {
        let namespace = self.owners.entry(owner).or_default();
        if let Some(entry) = namespace.methods.get_mut(&definition.name) {
            let at = entry
                .providers
                .partition_point(|other| other.place <= provider.place);
            entry.providers.insert(at, provider);
            return;
        }
        if let Some(tool) = &definition.tool_name {
            namespace
                .tools
                .insert(tool.clone(), definition.name.clone());
        }
        self.shared.insert(owner, definition);
        self.tools.changed(owner, definition);
        let entry = Entry {
            definition: Arc::clone(definition),
            providers: vec![provider],
        };
        namespace.bytes += definition.bytes as u64;
        namespace.methods.insert(definition.name.clone(), entry);
    }

    fn remove_one(&mut self, space: SpaceId, name: &CanonicalName) {
        let Some((owner, names)) = self.spaces.get_mut(&space) else {
            return;
        };
        names.retain(|registered| registered != name);
        let (owner, is_empty) = (*owner, names.is_empty());
        if is_empty {
            self.spaces.remove(&space);
        }
        self.remove_provider(owner, name, space);
    }

    fn remove_provider(&mut self, owner: UserId, name: &CanonicalName, space: SpaceId) {
        let Some(namespace) = self.owners.get_mut(&owner) else {
            return;
        };
        let Some(entry) = namespace.methods.get_mut(name) else {
            return;
        };
        entry
            .providers
            .retain(|provider| provider.space.id != space);
        if !entry.providers.is_empty() {
            return;
        }
        if let Some(entry) = namespace.methods.remove(name) {
            namespace.bytes -= entry.definition.bytes as u64;
            self.shared.remove(owner, &entry.definition);
            self.tools.changed(owner, &entry.definition);
            if let Some(tool) = &entry.definition.tool_name {
                namespace.tools.remove(tool);
            }
        }
        if namespace.methods.is_empty() {
            self.owners.remove(&owner);
        }
    }
}
