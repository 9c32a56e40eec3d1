//! Who sees which method, and under what name (spec 4.1, V1-V6).

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    id::{GroupId, UserId},
    permission::{Permission, Permissions},
};

/// How far a method is published.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MethodScope {
    #[default]
    Private,
    Shared,
}

impl MethodScope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Shared => "shared",
        }
    }
}

impl fmt::Display for MethodScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for MethodScope {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "private" => Ok(Self::Private),
            "shared" => Ok(Self::Shared),
            _ => Err(()),
        }
    }
}

/// The user who looks: only what visibility depends on.
#[derive(Clone, Copy, Debug)]
pub struct Viewer<'a> {
    pub id: UserId,
    pub permissions: Permissions,
    pub groups: &'a [GroupId],
}

/// Whether `viewer` sees a method of `owner`.
///
/// `groups` is `None` for a method published without a group list. A list all of whose groups
/// have been deleted is still a list: it matches nobody.
pub fn is_visible(
    viewer: Viewer<'_>,
    owner: UserId,
    scope: MethodScope,
    groups: Option<&[GroupId]>,
) -> bool {
    if viewer.id == owner {
        return true;
    }
    match scope {
        MethodScope::Private => false,
        MethodScope::Shared => {
            viewer.permissions.contains(Permission::UseMethods)
                && groups.is_none_or(|groups| groups.iter().any(|g| viewer.groups.contains(g)))
        }
    }
}

/// Whether a user may use a stored script: their own, or a global one.
pub fn is_script_visible(is_global: bool, owner: UserId, user: UserId) -> bool {
    is_global || owner == user
}

/// The name under which someone other than the owner sees a shared method (V6).
pub fn name_for_others(owner_name: &str, canonical: &str) -> String {
    format!("user.{owner_name}.{canonical}")
}

/// What a name in a call refers to, before anyone has looked whether it exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reference<'a> {
    /// A bare name: the caller's own method (V5).
    Own(&'a str),
    /// `user.<owner>.<canonical>`: another user's shared method (V6).
    Others { owner: &'a str, canonical: &'a str },
}

impl<'a> Reference<'a> {
    /// Splits a visible name. Canonical names of three segments never begin with `user.`, so the
    /// two forms cannot be confused.
    pub fn parse(name: &'a str) -> Self {
        match name
            .strip_prefix("user.")
            .and_then(|rest| rest.split_once('.'))
        {
            Some((owner, canonical)) => Self::Others { owner, canonical },
            None => Self::Own(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: UserId = UserId(uuid::Uuid::from_u128(1));
    const OTHER: UserId = UserId(uuid::Uuid::from_u128(2));
    const OPS: GroupId = GroupId(uuid::Uuid::from_u128(3));
    const DEV: GroupId = GroupId(uuid::Uuid::from_u128(4));

    fn check(
        viewer: UserId,
        permissions: Permissions,
        member_of: &[GroupId],
        scope: MethodScope,
        groups: Option<&[GroupId]>,
        expected: bool,
    ) {
        let viewer = Viewer {
            id: viewer,
            permissions,
            groups: member_of,
        };
        assert_eq!(
            is_visible(viewer, OWNER, scope, groups),
            expected,
            "{viewer:?} {scope} {groups:?}"
        );
    }

    #[test]
    fn v1_to_v4_visibility() {
        let may = Permissions::of(&[Permission::UseMethods]);
        let none = Permissions::NONE;
        check(OWNER, none, &[], MethodScope::Private, None, true);
        check(OTHER, may, &[], MethodScope::Private, None, false);
        check(OTHER, may, &[], MethodScope::Shared, None, true);
        check(OTHER, none, &[], MethodScope::Shared, None, false);
        check(OTHER, may, &[DEV], MethodScope::Shared, Some(&[OPS]), false);
        check(
            OTHER,
            may,
            &[DEV, OPS],
            MethodScope::Shared,
            Some(&[OPS]),
            true,
        );
        check(
            OTHER,
            none,
            &[OPS],
            MethodScope::Shared,
            Some(&[OPS]),
            false,
        );
        check(OWNER, none, &[], MethodScope::Shared, Some(&[OPS]), true);
        // A list that lost its last group never becomes "everyone".
        check(OTHER, may, &[OPS], MethodScope::Shared, Some(&[]), false);
        // Private wins over groups.
        check(
            OTHER,
            may,
            &[OPS],
            MethodScope::Private,
            Some(&[OPS]),
            false,
        );
    }

    #[test]
    fn v5_v6_names_split_one_way_only() {
        let check = |name, expected| assert_eq!(Reference::parse(name), expected, "{name}");
        check("search", Reference::Own("search"));
        check("notes.search", Reference::Own("notes.search"));
        check("user.x", Reference::Own("user.x"));
        check(
            "user.ann.search",
            Reference::Others {
                owner: "ann",
                canonical: "search",
            },
        );
        check(
            "user.ann.a.b",
            Reference::Others {
                owner: "ann",
                canonical: "a.b",
            },
        );
        assert_eq!(name_for_others("ann", "a.b"), "user.ann.a.b");
    }
}
