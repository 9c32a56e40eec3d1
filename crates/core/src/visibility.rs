//! Which users see a method, and under which name (spec 4.1, V1-V6).

use std::borrow::Cow;

use crate::{
    id::{GroupId, UserId},
    permission::{Permission, Permissions},
    text_enum::text_enum,
};

text_enum! {
    /// Whether a method is only for its owner, or also for other users.
    #[derive(Default)]
    MethodScope {
        #[default]
        Private = "private",
        Shared = "shared",
    }
}

/// The user who lists or calls methods, with the facts that visibility depends on.
#[derive(Clone, Copy, Debug)]
pub struct Viewer<'a> {
    pub id: UserId,
    pub permissions: Permissions,
    pub groups: &'a [GroupId],
}

/// Whether `viewer` sees a method of `owner` (V1-V4).
///
/// `groups` is `None` for a method that was published without a list of groups. If all groups of a
/// list have been deleted, the list is empty and matches no user.
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

/// The owner of a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner<'a> {
    pub id: UserId,
    pub name: &'a str,
}

/// The name under which `viewer` sees and calls a method: for the owner the bare canonical name
/// (V5), for every other user `user.<owner>.<canonical>` (V6).
pub fn visible_name<'a>(viewer: UserId, owner: Owner<'_>, canonical: &'a str) -> Cow<'a, str> {
    match viewer == owner.id {
        true => Cow::Borrowed(canonical),
        false => Cow::Owned(shared_name(owner.name, canonical)),
    }
}

/// The name under which every user but the owner sees a shared method (V6).
pub fn shared_name(owner: &str, canonical: &str) -> String {
    format!("user.{owner}.{canonical}")
}

/// The owner and the canonical name of the method that `caller` means by `name` (V5, V6). `None` if
/// the prefix `user.<owner>.` names the caller, or no active user. The inverse of [`visible_name`].
/// `find_owner` returns the id of the active user with a given name.
///
/// A canonical name of three or more segments never begins with `user.`, so the two forms cannot be
/// confused.
pub fn resolve(
    caller: UserId,
    name: &str,
    find_owner: impl FnOnce(&str) -> Option<UserId>,
) -> Option<(UserId, &str)> {
    let prefixed = name.strip_prefix("user.");
    let Some((owner, canonical)) = prefixed.and_then(|rest| rest.split_once('.')) else {
        return Some((caller, name));
    };
    let owner = find_owner(owner)?;
    // The owner never uses the prefix (V5).
    (owner != caller).then_some((owner, canonical))
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
    fn v1_v2_v3_v4_private_and_shared_methods_are_visible_to_the_right_users() {
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
        // If the last group of a list was deleted, the list matches no user.
        check(OTHER, may, &[OPS], MethodScope::Shared, Some(&[]), false);
        // A private method ignores its groups.
        check(
            OTHER,
            may,
            &[OPS],
            MethodScope::Private,
            Some(&[OPS]),
            false,
        );
    }

    const ANN: Owner<'_> = Owner {
        id: OWNER,
        name: "ann",
    };

    #[test]
    fn v5_v6_the_owner_sees_the_bare_name_and_others_the_prefixed_one() {
        for (viewer, canonical, expected) in [
            (OWNER, "search", "search"),
            (OWNER, "notes.search", "notes.search"),
            (OTHER, "search", "user.ann.search"),
            (OTHER, "a.b", "user.ann.a.b"),
        ] {
            assert_eq!(visible_name(viewer, ANN, canonical), expected);
        }
    }

    #[test]
    fn v5_v6_names_resolve_one_way_only() {
        let find_owner = |name: &str| (name == ANN.name).then_some(ANN.id);
        for (caller, name, expected) in [
            (OTHER, "search", Some((OTHER, "search"))),
            (OTHER, "notes.search", Some((OTHER, "notes.search"))),
            (OTHER, "user.x", Some((OTHER, "user.x"))),
            (OTHER, "user.ann.search", Some((OWNER, "search"))),
            (OTHER, "user.ann.a.b", Some((OWNER, "a.b"))),
            (OTHER, "user.unknown.search", None),
            // V5: the owner never uses the prefix.
            (OWNER, "user.ann.search", None),
            (OWNER, "search", Some((OWNER, "search"))),
        ] {
            assert_eq!(resolve(caller, name, find_owner), expected, "{name}");
        }
    }

    #[test]
    fn v5_v6_resolve_is_the_inverse_of_visible_name() {
        for viewer in [OWNER, OTHER] {
            for canonical in ["search", "a.b", "user.x"] {
                let visible = visible_name(viewer, ANN, canonical);
                let resolved = resolve(viewer, &visible, |_| Some(ANN.id));
                assert_eq!(resolved, Some((OWNER, canonical)));
            }
        }
    }

    #[test]
    fn a_script_is_visible_to_its_owner_and_a_global_script_to_every_user() {
        for (is_global, user, expected) in [
            (false, OWNER, true),
            (false, OTHER, false),
            (true, OWNER, true),
            (true, OTHER, true),
        ] {
            assert_eq!(
                is_script_visible(is_global, OWNER, user),
                expected,
                "{is_global} {user}"
            );
        }
    }
}
