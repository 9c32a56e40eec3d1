//! Bodies of `/api/users`, `/api/groups`, `/api/roles` and `/api/permissions`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use svc_core::{
    GroupId, Permissions, Quota, QuotaOverrides, RoleId, Timestamp, UserId, UserName,
    name::FreeName,
};

use svc_derive::Patch;

use super::{
    PASSWORD_MAX, PASSWORD_MIN,
    patch::{set, yes},
};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct User {
    pub id: UserId,
    pub username: UserName,
    pub roles: Vec<String>,
    pub groups: Vec<String>,
    pub active: bool,
    pub created_at: Timestamp,
    /// Quotas that an administrator set for this user. For all other quotas the server's values
    /// apply.
    #[serde(default)]
    pub quotas: QuotaOverrides,
    /// Whether a login with the password also needs a second factor.
    #[serde(default)]
    pub second_factor: bool,
    /// When the user last used a session, a token or a connected app; exact to a minute. Null if never,
    /// and in the answers to a setup and to a login.
    #[serde(default)]
    pub last_seen_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"username": "ann", "password": "correct horse battery", "groups": ["ops"]}))]
pub struct NewUser {
    #[schemars(with = "UserName")]
    pub username: String,
    #[schemars(length(min = PASSWORD_MIN, max = PASSWORD_MAX))]
    pub password: String,
    /// Names of roles; the built-in role `user` if absent.
    pub roles: Option<Vec<String>>,
    #[serde(default)]
    pub groups: Vec<String>,
    #[serde(default = "yes")]
    pub active: bool,
}

/// A merge patch: fields that are absent keep their values.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(example = json!({"groups": ["ops", "dev"], "quotas": {"sinks": 200}}))]
pub struct UserPatch {
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = PASSWORD_MIN, max = PASSWORD_MAX))]
    pub password: Option<String>,
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub roles: Option<Vec<String>>,
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub groups: Option<Vec<String>>,
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub active: Option<bool>,
    /// Only the named quotas change; `null` resets a quota to the server's value.
    #[serde(deserialize_with = "set", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BTreeMap<Quota, Option<u64>>")]
    pub quotas: Option<BTreeMap<Quota, Option<u64>>>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    pub id: GroupId,
    pub name: String,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Patch)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"name": "ops"}))]
#[patch(GroupPatch, example = json!({"name": "operators"}))]
pub struct GroupBody {
    #[schemars(with = "FreeName")]
    pub name: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Role {
    pub id: RoleId,
    pub name: String,
    pub permissions: Permissions,
    /// True for `admin` and `user`, whose names and permissions cannot be changed.
    pub builtin: bool,
    pub created_at: Timestamp,
    /// Whether users with this role need a second factor to log in with their password.
    #[serde(default)]
    pub require_second_factor: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Patch)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({"name": "auditor", "permissions": ["view_audit"]}))]
#[patch(RolePatch of Role, example = json!({"permissions": ["view_audit", "use_methods"]}))]
pub struct NewRole {
    #[schemars(with = "FreeName")]
    pub name: String,
    #[serde(default)]
    pub permissions: Permissions,
    /// Whether users with this role need a second factor to log in with their password.
    #[serde(default)]
    #[patch(doc = "The only member that may change in a built-in role.")]
    pub require_second_factor: bool,
}

/// `GET /api/permissions`
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PermissionList {
    pub permissions: Permissions,
    pub next_cursor: Option<String>,
}
