//! Permissions of *users* (spec 5.9), and the two built-in roles. What a *token* may reach is in
//! [`scope`](crate::scope).

use std::{borrow::Cow, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::text_enum::text_enum;

text_enum! {
    #[derive(PartialOrd, Ord)]
    #[serde(try_from = "String")]
    Permission {
        /// Manage own spaces, sources and schedules, and emit events.
        UseSpaces = "use_spaces",
        /// Manage the spaces of all users, and spaces that run on the server.
        ManageSpaces = "manage_spaces",
        /// Call shared methods of other users. Own methods need no permission.
        UseMethods = "use_methods",
        UseMcp = "use_mcp",
        ManageOwnEventSinks = "manage_own_event_sinks",
        /// Includes `manage_own_event_sinks`.
        ManageGlobalEventSinks = "manage_global_event_sinks",
        ManageScripts = "manage_scripts",
        ManageTemplates = "manage_templates",
        ManageUsers = "manage_users",
        ManageGroups = "manage_groups",
        ManageRoles = "manage_roles",
        ViewAudit = "view_audit",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("permission `{0}` does not exist")]
pub struct UnknownPermission(pub String);

impl FromStr for Permission {
    type Err = UnknownPermission;

    fn from_str(text: &str) -> Result<Self, UnknownPermission> {
        Self::parse(text).ok_or_else(|| UnknownPermission(text.to_owned()))
    }
}

impl TryFrom<String> for Permission {
    type Error = UnknownPermission;

    fn try_from(text: String) -> Result<Self, UnknownPermission> {
        text.parse()
    }
}

/// A set of permissions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Permissions(u32);

impl Permissions {
    pub const NONE: Self = Self(0);

    pub fn of(permissions: &[Permission]) -> Self {
        permissions.iter().copied().collect()
    }

    pub fn all() -> Self {
        Self::of(Permission::ALL)
    }

    /// The built-in role `user`.
    pub fn of_role_user() -> Self {
        Self::of(&[
            Permission::UseSpaces,
            Permission::UseMethods,
            Permission::UseMcp,
            Permission::ManageOwnEventSinks,
        ])
    }

    /// The permissions of a built-in role. They are not stored, so that `admin` at once has every
    /// permission that a new version adds.
    pub fn of_builtin_role(name: &str) -> Option<Self> {
        match name {
            ROLE_ADMIN => Some(Self::all()),
            ROLE_USER => Some(Self::of_role_user()),
            _ => None,
        }
    }

    pub fn contains(self, permission: Permission) -> bool {
        self.0 & bit(permission) != 0
            || permission == Permission::ManageOwnEventSinks
                && self.0 & bit(Permission::ManageGlobalEventSinks) != 0
    }

    pub fn contains_any(self, permissions: &[Permission]) -> bool {
        permissions
            .iter()
            .any(|&permission| self.contains(permission))
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL
            .iter()
            .copied()
            .filter(move |&p| self.0 & bit(p) != 0)
    }
}

fn bit(permission: Permission) -> u32 {
    1 << (permission as u32)
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(
            permissions
                .into_iter()
                .fold(0, |set, permission| set | bit(permission)),
        )
    }
}

impl Serialize for Permissions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Permission>::deserialize(deserializer)?
            .into_iter()
            .collect())
    }
}

impl JsonSchema for Permissions {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Permissions".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": generator.subschema_for::<Permission>()})
    }
}

/// The built-in roles. Their names and permissions cannot be changed.
pub const ROLE_ADMIN: &str = "admin";
pub const ROLE_USER: &str = "user";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s5_every_permission_has_a_name_that_parses_back() {
        for &permission in Permission::ALL {
            assert_eq!(permission.as_str().parse(), Ok(permission));
            assert!(Permissions::all().contains(permission));
        }
        assert_eq!(Permission::ALL.len(), 12);
        assert_eq!(
            "root".parse::<Permission>(),
            Err(UnknownPermission("root".into()))
        );
    }

    #[test]
    fn s6_6_managing_global_sinks_includes_own_sinks() {
        let set = Permissions::of(&[Permission::ManageGlobalEventSinks]);
        assert!(set.contains(Permission::ManageOwnEventSinks));
        assert_eq!(set.iter().count(), 1);
        let own = Permissions::of(&[Permission::ManageOwnEventSinks]);
        assert!(!own.contains(Permission::ManageGlobalEventSinks));
    }

    #[test]
    fn s6_6_a_permission_includes_no_other_but_global_sinks_include_own_sinks() {
        for &held in Permission::ALL {
            let set = Permissions::of(&[held]);
            for &asked in Permission::ALL {
                let included = (held, asked)
                    == (
                        Permission::ManageGlobalEventSinks,
                        Permission::ManageOwnEventSinks,
                    );
                assert_eq!(
                    set.contains(asked),
                    held == asked || included,
                    "{held} {asked}"
                );
                assert!(!Permissions::NONE.contains(asked), "{asked}");
            }
        }
    }

    #[test]
    fn s5_the_built_in_roles_have_fixed_permissions() {
        let names = |role| {
            let permissions = Permissions::of_builtin_role(role)?;
            Some(
                permissions
                    .iter()
                    .map(Permission::as_str)
                    .collect::<Vec<_>>(),
            )
        };
        let user = [
            "use_spaces",
            "use_methods",
            "use_mcp",
            "manage_own_event_sinks",
        ];
        assert_eq!(names("user"), Some(user.to_vec()));
        let admin = names("admin").expect("a built-in role");
        assert_eq!(admin.len(), 12);
        assert_eq!(names("auditor"), None);
    }

    #[test]
    fn one_permission_of_a_list_is_enough_for_contains_any() {
        let set = Permissions::of(&[Permission::UseMcp, Permission::ViewAudit]);
        for (asked, expected) in [
            (&[][..], false),
            (&[Permission::UseSpaces], false),
            (&[Permission::UseSpaces, Permission::ViewAudit], true),
            (&[Permission::UseMcp], true),
        ] {
            assert_eq!(set.contains_any(asked), expected, "{asked:?}");
        }
    }

    #[test]
    fn a_union_holds_the_permissions_of_both_sets() {
        let [a, b, c] = [
            Permission::UseSpaces,
            Permission::UseMcp,
            Permission::ViewAudit,
        ];
        let union = Permissions::of(&[a, b]).union(Permissions::of(&[b, c]));
        assert_eq!(union, Permissions::of(&[a, b, c]));
        assert_eq!(union.union(Permissions::NONE), union);
    }

    #[test]
    fn permissions_are_a_json_list_of_names_in_a_fixed_order() {
        let read = serde_json::from_str::<Permissions>;
        let set = read(r#"["use_mcp","use_spaces","use_mcp"]"#).expect("known names");
        assert_eq!(
            set,
            Permissions::of(&[Permission::UseSpaces, Permission::UseMcp])
        );
        assert_eq!(
            serde_json::to_string(&set).expect("JSON"),
            r#"["use_spaces","use_mcp"]"#
        );
        let unknown = read(r#"["use_spaces","root"]"#).expect_err("an unknown name");
        let message = unknown.to_string();
        assert!(
            message.starts_with("permission `root` does not exist"),
            "{message}"
        );
    }

    #[test]
    fn the_schema_of_permissions_is_an_inline_list_of_the_permission_schema() {
        assert!(Permissions::inline_schema());
        assert_eq!(Permissions::schema_name(), "Permissions");
        let schema = Permissions::json_schema(&mut SchemaGenerator::default());
        assert_eq!(
            schema.to_value(),
            serde_json::json!({"type": "array", "items": {"$ref": "#/$defs/Permission"}})
        );
    }
}
