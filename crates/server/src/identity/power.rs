//! Applies the rule of [`svc_core::power`] inside the transaction that makes a change.
//!
//! Permissions of the actor and of the other user are read from the transaction. The copy that
//! came with the request may be older than a revocation.

use svc_core::{
    GroupId, Permission, Permissions, RoleId, ScriptId, TemplateId, UserId, UserName,
    power::{self, ExceedsOwnPower, SavedPower},
};
use svc_store::{
    Tx, groups, scripts,
    users::{self, UserPower, UsersWith},
};

use super::{caller::Caller, error::IdentityError};

/// The user who makes a request, as the transaction reads them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Actor {
    pub id: UserId,
    pub name: UserName,
    pub permissions: Permissions,
}

impl Actor {
    /// An actor who was deleted or deactivated since the request came in is refused.
    pub fn read(tx: &mut Tx<'_>, caller: &Caller) -> Result<Self, IdentityError> {
        let found = users::find_power(tx, caller.user.id)?;
        match found.filter(|user| user.active) {
            Some(user) => Ok(Self {
                id: user.id,
                name: user.username,
                permissions: user.permissions,
            }),
            None => Err(IdentityError::unauthorized("the user is not active")),
        }
    }

    pub fn may(&self, permission: Permission) -> bool {
        self.permissions.contains(permission)
    }

    /// Acting on or for a user. Deactivated users count with all that they hold.
    pub fn check_user(&self, tx: &mut Tx<'_>, id: UserId) -> Result<(), IdentityError> {
        if id == self.id {
            return Ok(());
        }
        match users::find_power(tx, id)? {
            Some(user) => self.check(&user),
            // A deleted user holds nothing.
            None => Ok(()),
        }
    }

    /// Acting on everybody who holds a role.
    pub fn check_holders(&self, tx: &mut Tx<'_>, role: RoleId) -> Result<(), IdentityError> {
        self.check_all(tx, UsersWith::Role(role))
    }

    /// Acting on everybody in a group.
    pub fn check_members(&self, tx: &mut Tx<'_>, group: GroupId) -> Result<(), IdentityError> {
        self.check_all(tx, UsersWith::Group(group))
    }

    /// Acting on everybody who has a space of a template.
    pub fn check_template_users(
        &self,
        tx: &mut Tx<'_>,
        template: TemplateId,
    ) -> Result<(), IdentityError> {
        self.check_all(tx, UsersWith::SpaceOf(template))
    }

    /// Acting on everybody whose spaces start with a script, or whose sinks run it.
    pub fn check_script_users(
        &self,
        tx: &mut Tx<'_>,
        script: ScriptId,
    ) -> Result<(), IdentityError> {
        self.check_all(tx, UsersWith::StartupScript(script))?;
        for owner in scripts::list_sink_owners(tx, script)? {
            self.check_user(tx, owner)?;
        }
        Ok(())
    }

    fn check_all(&self, tx: &mut Tx<'_>, with: UsersWith) -> Result<(), IdentityError> {
        for user in users::list_powers(tx, with)? {
            self.check(&user)?;
        }
        Ok(())
    }

    fn check(&self, user: &UserPower) -> Result<(), IdentityError> {
        if user.id == self.id {
            return Ok(());
        }
        power::check(self.permissions, user.permissions).map_err(|exceeds| {
            exceeds_own_power(format!(
                "user `{}` holds {exceeds}, which you do not hold; ask somebody who holds it to do this, or an administrator for a role with it",
                user.username
            ))
        })
    }

    /// Giving, changing or taking permissions, by a role.
    pub fn check_role(&self, name: &str, permissions: Permissions) -> Result<(), IdentityError> {
        power::check(self.permissions, permissions).map_err(|exceeds| {
            exceeds_own_power(format!(
                "role `{name}` contains {exceeds}, which you do not hold; ask an administrator to do this, or for a role with it"
            ))
        })
    }

    /// Putting a user into a group or taking them out of it: it decides who sees the methods that
    /// are shared with the group.
    pub fn check_group(
        &self,
        tx: &mut Tx<'_>,
        id: GroupId,
        name: &str,
    ) -> Result<(), IdentityError> {
        if self.may(Permission::ManageGroups) || groups::is_member(tx, id, self.id)? {
            return Ok(());
        }
        Err(exceeds_own_power(format!(
            "you are not in group `{name}`, so changing who is in it needs the permission `manage_groups`; ask an administrator for a role with it"
        )))
    }
}

/// Whether shared code (a global script, a template) takes effect for a user.
pub fn check_saved(saved: SavedPower, what: &str, user: Permissions) -> Result<(), IdentityError> {
    saved
        .check(user)
        .map_err(|exceeds| exceeds_own_power(saved_by_less(what, &exceeds)))
}

/// Why shared code does not run, for a message.
pub fn saved_by_less(what: &str, exceeds: &ExceedsOwnPower) -> String {
    format!(
        "{what} was last saved by a user without {exceeds}, so it does not run for users who hold that; review it, then have a user who holds that save it again"
    )
}

fn exceeds_own_power(message: String) -> IdentityError {
    IdentityError::forbidden("exceeds_own_power", message)
}
