//! Versions of the MCP tools of each owner, of each group and of all users.
//!
//! Every change gets a new number, so equal numbers mean equal tools. The version for one user
//! depends on few numbers, regardless of how many methods, spaces and users exist.

use std::collections::HashMap;

use svc_core::{
    GroupId, Permission, UserId,
    visibility::{MethodScope, Viewer},
};

use super::Definition;

#[derive(Default)]
pub struct ToolVersions {
    latest: u64,
    of_owner: HashMap<UserId, u64>,
    of_group: HashMap<GroupId, u64>,
    of_everyone: u64,
    /// While methods are replaced by equal ones, nothing changes.
    pub is_frozen: bool,
}

/// The version of the tools that one user sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ToolsVersion {
    pub own: u64,
    /// The number of the latest change to a tool that is shared with this user; 0 without
    /// `use_methods`.
    pub shared: u64,
}

impl ToolVersions {
    /// Records that a method was added or removed.
    pub fn changed(&mut self, owner: UserId, definition: &Definition) {
        if definition.tool_name.is_none() || self.is_frozen {
            return;
        }
        self.latest += 1;
        self.of_owner.insert(owner, self.latest);
        match (definition.scope, &definition.groups) {
            (MethodScope::Private, _) => {}
            (MethodScope::Shared, None) => self.of_everyone = self.latest,
            (MethodScope::Shared, Some(groups)) => {
                for group in groups {
                    self.of_group.insert(*group, self.latest);
                }
            }
        }
    }

    /// The number of the latest change.
    pub fn latest(&self) -> u64 {
        self.latest
    }

    pub fn seen_by(&self, viewer: Viewer<'_>) -> ToolsVersion {
        let of_groups = viewer.groups.iter().map(|group| self.of_group.get(group));
        let shared = if viewer.permissions.contains(Permission::UseMethods) {
            of_groups
                .flatten()
                .copied()
                .fold(self.of_everyone, u64::max)
        } else {
            0
        };
        ToolsVersion {
            own: self.of_owner.get(&viewer.id).copied().unwrap_or_default(),
            shared,
        }
    }
}
