//! Resolves the roles and groups named in a request, and checks that the actor may grant and remove
//! them.

use svc_core::{GroupId, RoleId};
use svc_protocol::api::{Group, Role};
use svc_store::{Tx, records};

use super::power::Actor;
use crate::records::{RecordError, Result};

pub(super) fn find_roles(tx: &mut Tx<'_>, names: &[String]) -> Result<Vec<Role>> {
    names
        .iter()
        .map(|name| {
            records::find_named::<Role>(tx, &(), name)?.ok_or_else(|| {
                RecordError::new("unknown_role", format!("role `{name}` does not exist"))
            })
        })
        .collect()
}

/// Resolves roles to be granted. The actor must hold all their permissions.
pub(super) fn resolve_roles(
    tx: &mut Tx<'_>,
    actor: &Actor,
    names: &[String],
) -> Result<Vec<RoleId>> {
    let roles = find_roles(tx, names)?.into_iter().map(|role| {
        actor.check_role(&role.name, role.permissions)?;
        Ok(role.id)
    });
    roles.collect()
}

pub(super) type GroupRef = (GroupId, String);

pub(super) fn ids_of(groups: &[GroupRef]) -> Vec<GroupId> {
    groups.iter().map(|(id, _)| *id).collect()
}

pub(super) fn names_of(groups: &[GroupRef]) -> Vec<&str> {
    groups.iter().map(|(_, name)| name.as_str()).collect()
}

/// Returns the names of the groups that a user joins and leaves. The actor must be allowed to
/// change each of them; groups that stay are not checked.
pub(super) fn check_group_changes(
    tx: &mut Tx<'_>,
    actor: &Actor,
    before: &[GroupRef],
    after: &[GroupRef],
) -> Result<(Vec<String>, Vec<String>)> {
    let only_in = |these: &[GroupRef], those: &[GroupRef]| -> Vec<GroupRef> {
        let missing = |group: &&GroupRef| those.iter().all(|(id, _)| *id != group.0);
        these.iter().filter(missing).cloned().collect()
    };
    let (added, removed) = (only_in(after, before), only_in(before, after));
    for (id, name) in added.iter().chain(&removed) {
        actor.check_group(tx, *id, name)?;
    }
    let names = |groups: Vec<GroupRef>| groups.into_iter().map(|(_, name)| name).collect();
    Ok((names(added), names(removed)))
}

/// Groups by name, or else by id.
pub(super) fn resolve_groups(tx: &mut Tx<'_>, names: &[String]) -> Result<Vec<GroupRef>> {
    let mut resolved = Vec::with_capacity(names.len());
    for name in names {
        let mut found = records::find_named::<Group>(tx, &(), name)?;
        if let (None, Ok(id)) = (&found, name.parse()) {
            found = records::find::<Group>(tx, id)?;
        }
        let group = found.ok_or_else(|| {
            RecordError::new("unknown_group", format!("group `{name}` does not exist"))
        })?;
        resolved.push((group.id, group.name));
    }
    Ok(resolved)
}
