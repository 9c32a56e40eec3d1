//! Groups and roles that a provider gives to its users. A provider takes away only groups and roles
//! that it gave.

use serde_json::{Value, json};
use svc_core::{
    OidcIdentityId, Permissions, RoleId, UserId,
    oidc::{ClaimValues, find_values},
    permission::{ROLE_ADMIN, ROLE_USER},
    power,
};
use svc_protocol::api::{ClaimMapping, Group, Role};
use svc_store::{
    Tx,
    memberships::{self, Membership},
    oidc::{identities::IdentityRow, providers::ProviderRow},
    records::{self, Named, Owned},
    roles,
};

use super::ExternalAccount;
use crate::{
    identity::{
        caller::Caller,
        membership::{resolve_groups, resolve_roles},
        power::Actor,
    },
    records::Result,
};

/// Gives a user the groups and roles that the provider's claims select, and takes away those that
/// the claims no longer select. Returns the changes, or `None` if there are none.
pub(super) fn apply(
    tx: &mut Tx<'_>,
    account: &ExternalAccount,
    known: &IdentityRow,
) -> Result<Option<Value>> {
    let holder = (known.id, known.user_id);
    let provider = &account.provider;
    let values = match &provider.groups_claim {
        Some(claim) => find_values(&account.claims, claim),
        None => ClaimValues::Absent,
    };
    let values = match values {
        ClaimValues::Known(values) => values,
        ClaimValues::Absent => Vec::new(),
        ClaimValues::Incomplete => {
            tracing::warn!(
                provider = %provider.name,
                "the provider did not send the whole groups claim: the groups of the user stay, and roles with a permission that the role `user` lacks are taken away"
            );
            return withdraw_powerful(tx, holder);
        }
    };
    let meant = |mapping: &&ClaimMapping| values.contains(&mapping.value);
    let meant: Vec<_> = provider.mappings.iter().filter(meant).collect();
    let mut change = Change::default();
    sync(tx, holder, &meant, &mut change)?;
    Ok(change.into_detail())
}

type Holder = (OidcIdentityId, UserId);

#[derive(Default)]
struct Change {
    added: Vec<String>,
    removed: Vec<String>,
}

impl Change {
    fn into_detail(self) -> Option<Value> {
        let is_empty = self.added.is_empty() && self.removed.is_empty();
        (!is_empty).then(|| json!({"added": self.added, "removed": self.removed}))
    }
}

/// Gives the groups and roles of these mappings, and takes away the others that the provider gave.
fn sync(
    tx: &mut Tx<'_>,
    holder: Holder,
    meant: &[&ClaimMapping],
    change: &mut Change,
) -> Result<()> {
    let groups = meant.iter().filter_map(|mapping| mapping.group.as_ref());
    sync_kind::<Group>(tx, holder, groups, change, take_group)?;
    let roles = meant.iter().filter_map(|mapping| mapping.role.as_ref());
    sync_kind::<Role>(tx, holder, roles, change, take_role)
}

fn sync_kind<'a, R>(
    tx: &mut Tx<'_>,
    holder: Holder,
    names: impl Iterator<Item = &'a String>,
    change: &mut Change,
    take: fn(&mut Tx<'_>, Holder, &R, &mut Change) -> Result<()>,
) -> Result<()>
where
    R: Named + Owned<Owner = ()>,
    R::Id: Membership + PartialEq,
{
    let mut wanted = Vec::new();
    for name in names {
        // A group or role that no longer exists is left out.
        if let Some(record) = records::find_named::<R>(tx, &(), name)? {
            if memberships::give(tx, holder, record.id())? {
                change.added.push(format!("{} {}", R::KIND, record.name()));
            }
            wanted.push(record.id());
        }
    }
    for id in memberships::list_given::<R::Id>(tx, holder.0)? {
        if let Some(record) = records::find::<R>(tx, id)?
            && !wanted.contains(&id)
        {
            take(tx, holder, &record, change)?;
        }
    }
    Ok(())
}

/// Takes away the roles that the provider gave and that have a permission that the role `user`
/// lacks.
fn withdraw_powerful(tx: &mut Tx<'_>, holder: Holder) -> Result<Option<Value>> {
    let mut change = Change::default();
    for id in memberships::list_given::<RoleId>(tx, holder.0)? {
        if let Some(role) = records::find::<Role>(tx, id)?
            && power::check(Permissions::of_role_user(), role.permissions).is_err()
        {
            take_role(tx, holder, &role, &mut change)?;
        }
    }
    Ok(change.into_detail())
}

fn take_group(tx: &mut Tx<'_>, holder: Holder, group: &Group, change: &mut Change) -> Result<()> {
    change.removed.push(format!("group {}", group.name));
    Ok(memberships::take_away(tx, holder, group.id)?)
}

/// Takes a role away. The last administrator keeps the role `admin`: otherwise a mistake at the
/// provider could leave the server without an administrator.
fn take_role(tx: &mut Tx<'_>, holder: Holder, role: &Role, change: &mut Change) -> Result<()> {
    let is_last = role.name == ROLE_ADMIN
        && roles::count_other_active_holders(tx, ROLE_ADMIN, holder.1)? == 0;
    if is_last {
        tracing::warn!("the last administrator keeps the role that the provider took away");
        return Ok(());
    }
    change.removed.push(format!("role {}", role.name));
    Ok(memberships::take_away(tx, holder, role.id)?)
}

/// Takes away all groups and roles that the provider gave, before the identity is deleted. The last
/// administrator keeps the role `admin`.
pub(super) fn withdraw_all(tx: &mut Tx<'_>, known: &IdentityRow) -> Result<()> {
    let holder = (known.id, known.user_id);
    let mut change = Change::default();
    sync(tx, holder, &[], &mut change)
}

/// Checks that the caller may give every group and role that users of this provider can get: a
/// change of a provider changes what its users may do.
pub(super) fn check_may_give(
    tx: &mut Tx<'_>,
    caller: &Caller,
    provider: &ProviderRow,
) -> Result<()> {
    let actor = Actor::read(tx, caller)?;
    if provider.create_users {
        resolve_roles(tx, &actor, &[ROLE_USER.to_owned()])?;
    }
    for mapping in &provider.mappings {
        if let Some(role) = &mapping.role {
            resolve_roles(tx, &actor, std::slice::from_ref(role))?;
        }
        if let Some(group) = &mapping.group {
            for (id, name) in resolve_groups(tx, std::slice::from_ref(group))? {
                actor.check_group(tx, id, &name)?;
            }
        }
    }
    Ok(())
}

/// Checks that the caller may take away the groups and roles that this provider gives. Groups and
/// roles that do not exist any more are not checked.
pub(super) fn check_may_take(
    tx: &mut Tx<'_>,
    caller: &Caller,
    provider: &ProviderRow,
) -> Result<()> {
    let actor = Actor::read(tx, caller)?;
    for mapping in &provider.mappings {
        if let Some(name) = &mapping.role
            && let Some(role) = records::find_named::<Role>(tx, &(), name)?
        {
            actor.check_role(&role.name, role.permissions)?;
        }
        if let Some(name) = &mapping.group
            && let Some(group) = records::find_named::<Group>(tx, &(), name)?
        {
            actor.check_group(tx, group.id, &group.name)?;
        }
    }
    Ok(())
}
