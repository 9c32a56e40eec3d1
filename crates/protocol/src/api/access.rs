//! `GET /api/users/{id}/access`: what a user may do, and through what.

use serde::{Deserialize, Serialize};
use svc_core::{Permission, UserId, UserName};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserAccess {
    pub user_id: UserId,
    pub username: UserName,
    /// Nobody inactive may do anything.
    pub active: bool,
    pub roles: Vec<String>,
    pub groups: Vec<String>,
    /// All there are.
    pub permissions: Vec<HeldPermission>,
    /// Methods of others that the user sees.
    pub methods: Vec<AccessibleMethod>,
    /// Methods of their own; which ones is their own business.
    pub own_methods: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HeldPermission {
    pub name: Permission,
    /// Those that give it; none: the user does not hold it.
    pub roles: Vec<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AccessibleMethod {
    /// As this user calls it.
    pub name: String,
    pub owner: UserName,
    pub through: SharedThrough,
    /// The user's groups that it is shared with.
    pub groups: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SharedThrough {
    /// Everyone who may use others' methods.
    Everyone,
    Group,
}
