//! Which users may act on or for which other users.
//!
//! If a user resets the password of another user, rotates their agent token or chooses the code
//! that runs for them, the first user can do everything that the other user can do. So each such
//! action requires every permission that the other user holds. This rule is implemented only here.

use std::fmt;

use thiserror::Error;

use crate::permission::{Permission, Permissions};

/// The actor lacks permissions that the subject holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub struct ExceedsOwnPower {
    /// Permissions that the subject holds and the actor lacks. Never empty.
    pub missing: Permissions,
}

/// The missing permissions, such as "`manage_users` and `view_audit`".
impl fmt::Display for ExceedsOwnPower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.missing.iter().map(|p| format!("`{p}`")).collect();
        match names.as_slice() {
            [] => Ok(()),
            [one] => f.write_str(one),
            [first @ .., last] => write!(f, "{} and {last}", first.join(", ")),
        }
    }
}

/// Whether a user who holds `actor` may act on or for a user who holds `subject`.
pub fn check(actor: Permissions, subject: Permissions) -> Result<(), ExceedsOwnPower> {
    let missing: Permissions = subject
        .iter()
        .filter(|&permission| !actor.contains(permission))
        .collect();
    if missing == Permissions::NONE {
        Ok(())
    } else {
        Err(ExceedsOwnPower { missing })
    }
}

/// The permissions that a user held when they saved a global script, a global formatter or a
/// template. If it was saved several times, the last time counts.
///
/// Shared code runs with the permissions of each user who uses it. So it takes effect only for
/// users whose permissions are among those of the user who saved it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SavedPower {
    /// Saved by a user who held every permission. Not stored as a list: a permission that a later
    /// version adds must not disable the code that an administrator saved.
    Everything,
    Only(Permissions),
}

impl SavedPower {
    /// The power of a user who saves now.
    pub fn of(saver: Permissions) -> Self {
        if Permission::ALL.iter().all(|&p| saver.contains(p)) {
            Self::Everything
        } else {
            Self::Only(saver)
        }
    }

    /// Whether the code takes effect for a user with these permissions.
    pub fn check(self, user: Permissions) -> Result<(), ExceedsOwnPower> {
        match self {
            Self::Everything => Ok(()),
            Self::Only(saver) => check(saver, user),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Permission::*, *};

    fn set(permissions: &[Permission]) -> Permissions {
        Permissions::of(permissions)
    }

    #[test]
    fn an_actor_needs_every_permission_of_the_subject() {
        let rows: &[(&[Permission], &[Permission], &[Permission])] = &[
            // actor, subject, missing
            (&[], &[], &[]),
            (&[UseSpaces], &[], &[]),
            (&[], &[UseSpaces], &[UseSpaces]),
            (&[UseSpaces], &[UseSpaces], &[]),
            (&[ManageSpaces], &[UseSpaces], &[UseSpaces]),
            (&[UseSpaces, ManageSpaces], &[UseSpaces], &[]),
            (&[UseSpaces], &[UseSpaces, ManageUsers], &[ManageUsers]),
            (
                &[ManageUsers],
                &[ManageRoles, ViewAudit, ManageUsers],
                &[ManageRoles, ViewAudit],
            ),
            (&[ManageGlobalEventSinks], &[ManageOwnEventSinks], &[]),
            (
                &[ManageOwnEventSinks],
                &[ManageGlobalEventSinks],
                &[ManageGlobalEventSinks],
            ),
            (Permission::ALL, Permission::ALL, &[]),
        ];
        for (actor, subject, missing) in rows {
            let checked = check(set(actor), set(subject));
            let expected = match missing {
                [] => Ok(()),
                missing => Err(ExceedsOwnPower {
                    missing: set(missing),
                }),
            };
            assert_eq!(checked, expected, "{actor:?} on {subject:?}");
        }
    }

    #[test]
    fn each_single_missing_permission_is_enough_to_refuse() {
        for &missing in Permission::ALL {
            let actor: Permissions = Permission::ALL
                .iter()
                .copied()
                .filter(|&held| held != missing)
                .collect();
            let implied = actor.contains(missing);
            let refused = check(actor, Permissions::all());
            assert_eq!(refused.is_ok(), implied, "{missing}");
            assert_eq!(
                check(Permissions::all(), actor),
                Ok(()),
                "an administrator may act on every user"
            );
        }
    }

    #[test]
    fn the_message_names_what_is_missing() {
        let refused = |subject: &[Permission]| {
            let refused = check(Permissions::NONE, set(subject));
            refused.expect_err("nothing is held").to_string()
        };
        assert_eq!(refused(&[UseMcp]), "`use_mcp`");
        assert_eq!(
            refused(&[UseSpaces, UseMcp, ViewAudit]),
            "`use_spaces`, `use_mcp` and `view_audit`"
        );
    }

    #[test]
    fn shared_code_takes_effect_for_users_who_hold_no_more_than_its_saver() {
        let editor = set(&[ManageScripts, UseSpaces]);
        let saved = SavedPower::of(editor);
        assert_eq!(saved, SavedPower::Only(editor));
        assert_eq!(saved.check(set(&[UseSpaces])), Ok(()));
        assert_eq!(saved.check(editor), Ok(()));
        assert!(saved.check(Permissions::all()).is_err());
        let administrator = SavedPower::of(Permissions::all());
        assert_eq!(administrator, SavedPower::Everything);
        assert_eq!(administrator.check(Permissions::all()), Ok(()));
    }
}
