//! The permissions of a user and the roles that grant them.

use std::sync::Arc;

use svc_core::{Permission, UserId};
use svc_protocol::api::{HeldPermission, Role};
use svc_store::records;

use super::{Identity, User};
use crate::records::{RecordError, Result};

impl Identity {
    /// Every existing permission, each with the roles that grant it to the user.
    pub async fn access(&self, id: UserId) -> Result<(Arc<User>, Vec<HeldPermission>)> {
        let user = self.directory.find_user(id);
        let user = user.ok_or_else(|| RecordError::not_found("user", id))?;
        let names = user.role_names.clone();
        let read = self.store.read(move |tx| {
            let found = names
                .iter()
                .map(|name| records::find_named::<Role>(tx, &(), name));
            found.collect::<Result<Vec<_>, _>>()
        });
        let roles: Vec<_> = read.await?.into_iter().flatten().collect();
        let held = Permission::ALL.iter().map(|&permission| HeldPermission {
            name: permission,
            roles: roles
                .iter()
                .filter(|role| role.permissions.contains(permission))
                .map(|role| role.name.clone())
                .collect(),
        });
        Ok((user, held.collect()))
    }
}
