//! Bodies of `/api/users`, `/api/groups`, `/api/roles` and `/api/permissions`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use svc_core::{GroupId, Permissions, Quota, QuotaOverrides, RoleId, Timestamp, UserId, UserName};

use super::patch::{set, yes};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct User {
    pub id: UserId,
    pub username: UserName,
    pub roles: Vec<String>,
    pub groups: Vec<String>,
    pub active: bool,
    pub created_at: Timestamp,
    /// Quotas that an administrator set for this user. For the others the server's values apply.
    #[serde(default)]
    pub quotas: QuotaOverrides,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    pub username: String,
    pub password: String,
    /// Names of roles; the built-in role `user` if absent.
    pub roles: Option<Vec<String>>,
    #[serde(default)]
    pub groups: Vec<String>,
    #[serde(default = "yes")]
    pub active: bool,
}

/// A merge patch: absent members do not change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserPatch {
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Only the named quotas change; `null` resets a quota to the server's value.
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    pub quotas: Option<BTreeMap<Quota, Option<u64>>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    pub id: GroupId,
    pub name: String,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupBody {
    pub name: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GroupPatch {
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Role {
    pub id: RoleId,
    pub name: String,
    pub permissions: Permissions,
    /// True for `admin` and `user`, which cannot be changed.
    pub builtin: bool,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRole {
    pub name: String,
    #[serde(default)]
    pub permissions: Permissions,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RolePatch {
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
}

/// `GET /api/permissions`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PermissionList {
    pub permissions: Permissions,
    pub next_cursor: Option<String>,
}
