//! `GET /api/users/{id}/access`: what a user may do, and through which roles and groups.
//! `GET /api/groups/{id}/methods`: what the members of a group may call through it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use svc_core::{Permission, UserId, UserName};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UserAccess {
    pub user_id: UserId,
    pub username: UserName,
    /// An inactive user may do nothing.
    pub active: bool,
    pub roles: Vec<String>,
    pub groups: Vec<String>,
    /// All permissions that exist, held or not.
    pub permissions: Vec<HeldPermission>,
    /// Methods of other users that the user sees.
    pub methods: Vec<AccessibleMethod>,
    /// Number of the user's own methods. Their names are private.
    pub own_methods: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HeldPermission {
    pub name: Permission,
    /// The user's roles that grant the permission; empty if the user does not hold it.
    pub roles: Vec<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AccessibleMethod {
    /// The name under which this user calls the method.
    pub name: String,
    pub owner: UserName,
    pub through: SharedThrough,
    /// The user's groups that the method is shared with.
    pub groups: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SharedThrough {
    /// Shared with every user who has `use_methods`.
    Everyone,
    Group,
}

/// The methods that are limited to this group, or to this group and others. If this group is
/// deleted, a member can call such a method of another user only through one of the other groups.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GroupMethods {
    pub total: usize,
    /// Methods that are shared with no other group. Without this group, only their owners see them.
    pub only: usize,
    /// Sorted by name, at most 100. Callers without `manage_users` who are not members of the group see
    /// only the names of their own methods.
    pub methods: Vec<GroupMethod>,
    /// Active script sinks of members. Their scripts may call the methods.
    pub script_sinks: u64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GroupMethod {
    /// The name under which the caller would call the method.
    pub name: String,
    pub owner: UserName,
    /// Whether the method is shared with no other group.
    pub only: bool,
}
