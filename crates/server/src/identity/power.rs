//! Applies the rule of [`svc_core::power`] inside the transaction that makes a change.
//!
//! The permissions of the actor and of the other user are read in the transaction, because the
//! permissions that were read at the start of the request may be outdated.

use svc_core::{
    GroupId, Permission, Permissions, ScriptId, UserId, UserName,
    power::{self, SavedPower},
};
use svc_store::{
    Tx, groups, scripts,
    users::{self, UserFilter, UserPower},
};

use super::caller::Caller;
use crate::records::{RecordError, Result, UNAUTHORIZED};

/// The user who makes a request, as read in the transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Actor {
    pub id: UserId,
    pub name: UserName,
    pub permissions: Permissions,
}

impl Actor {
    /// Rejects an actor who was deleted or deactivated since the request was authenticated.
    pub fn read(tx: &mut Tx<'_>, caller: &Caller) -> Result<Self> {
        let found = users::find_power(tx, caller.user.id)?;
        match found.filter(|user| user.active) {
            Some(user) => Ok(Self {
                id: user.id,
                name: user.username,
                permissions: user.permissions,
            }),
            None => Err(RecordError::new(UNAUTHORIZED, "the user is not active")),
        }
    }

    pub fn may(&self, permission: Permission) -> bool {
        self.permissions.contains(permission)
    }

    /// Checks that the actor holds every permission of a user, and so may act on or for that user.
    /// A deactivated user still holds the permissions of their roles.
    pub fn check_user(&self, tx: &mut Tx<'_>, id: UserId) -> Result<()> {
        if id == self.id {
            return Ok(());
        }
        match users::find_power(tx, id)? {
            Some(user) => self.check(&user),
            // A deleted user holds no permissions.
            None => Ok(()),
        }
    }

    /// Checks that the actor may act on every user who uses a script: as the startup script of a
    /// space, or as the script of a sink.
    pub fn check_script_users(&self, tx: &mut Tx<'_>, script: ScriptId) -> Result<()> {
        self.check_users(tx, UserFilter::StartupScript(script))?;
        for owner in scripts::list_sink_owners(tx, script)? {
            self.check_user(tx, owner)?;
        }
        Ok(())
    }

    /// Checks that the actor may act on every user that the filter selects.
    pub fn check_users(&self, tx: &mut Tx<'_>, with: UserFilter) -> Result<()> {
        for user in users::list_powers(tx, with)? {
            self.check(&user)?;
        }
        Ok(())
    }

    fn check(&self, user: &UserPower) -> Result<()> {
        if user.id == self.id {
            return Ok(());
        }
        power::check(self.permissions, user.permissions).map_err(|exceeds| {
            exceeds_own_power(format!(
                "user `{}` holds {exceeds}, which you do not hold; ask an administrator to do this, or to give you a role with {exceeds}",
                user.username
            ))
        })
    }

    /// Checks that the actor may grant, change or remove a role with these permissions.
    pub fn check_role(&self, name: &str, permissions: Permissions) -> Result<()> {
        power::check(self.permissions, permissions).map_err(|exceeds| {
            exceeds_own_power(format!(
                "role `{name}` contains {exceeds}, which you do not hold; ask an administrator to do this, or to give you a role with {exceeds}"
            ))
        })
    }

    /// Checks that the actor may add or remove members of a group. This is restricted because
    /// members see the methods that are shared with the group.
    pub fn check_group(&self, tx: &mut Tx<'_>, id: GroupId, name: &str) -> Result<()> {
        if self.may(Permission::ManageGroups) || groups::is_member(tx, id, self.id)? {
            return Ok(());
        }
        Err(exceeds_own_power(format!(
            "you are not a member of group `{name}`, so you need the permission `manage_groups` to change its members; ask an administrator for a role with this permission"
        )))
    }
}

/// Checks that shared code (a global script, a template) may take effect for a user.
pub fn check_saved(saved: SavedPower, what: &str, user: Permissions) -> Result<()> {
    saved.check(user).map_err(|exceeds| {
        exceeds_own_power(format!(
            "{what} was last saved by a user without {exceeds}, so it does not run for users who hold {exceeds}; review it, then ask a user who holds {exceeds} to save it again"
        ))
    })
}

fn exceeds_own_power(message: String) -> RecordError {
    RecordError::new("exceeds_own_power", message)
}
