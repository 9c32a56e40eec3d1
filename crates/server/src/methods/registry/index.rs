//! Indexes shared methods by the users with whom they are shared: all users, or a group. So the
//! cost of a list depends on the number of methods in the list, not on the number of all methods.

use std::collections::{HashMap, HashSet};

use svc_core::{
    CanonicalName, GroupId, UserId,
    visibility::{MethodScope, Viewer},
};

use super::Definition;

type Key = (UserId, CanonicalName);

#[derive(Default)]
pub struct SharedIndex {
    with_everyone: HashSet<Key>,
    with_group: HashMap<GroupId, HashSet<Key>>,
}

impl SharedIndex {
    pub fn insert(&mut self, owner: UserId, definition: &Definition) {
        let key = (owner, definition.name.clone());
        match (definition.scope, &definition.groups) {
            (MethodScope::Private, _) => {}
            (MethodScope::Shared, None) => {
                self.with_everyone.insert(key);
            }
            (MethodScope::Shared, Some(groups)) => {
                for group in groups {
                    self.with_group
                        .entry(*group)
                        .or_default()
                        .insert(key.clone());
                }
            }
        }
    }

    pub fn remove(&mut self, owner: UserId, definition: &Definition) {
        let key = (owner, definition.name.clone());
        self.with_everyone.remove(&key);
        for group in definition.groups.iter().flatten() {
            if let Some(keys) = self.with_group.get_mut(group) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.with_group.remove(group);
                }
            }
        }
    }

    /// An upper bound of the length of [`Self::visible_to`].
    pub fn visible_max(&self, viewer: Viewer<'_>) -> usize {
        let of_groups = viewer
            .groups
            .iter()
            .filter_map(|group| self.with_group.get(group));
        self.with_everyone.len() + of_groups.map(HashSet::len).sum::<usize>()
    }

    /// The shared methods that a viewer may be able to see, without duplicates. The caller must
    /// still apply the visibility rule.
    pub fn visible_to(&self, viewer: Viewer<'_>) -> HashSet<&Key> {
        let of_groups = viewer
            .groups
            .iter()
            .filter_map(|group| self.with_group.get(group));
        self.with_everyone
            .iter()
            .chain(of_groups.flatten())
            .collect()
    }
}
