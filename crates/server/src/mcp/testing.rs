//! A caller for the tests of this folder.

use std::sync::Arc;

use svc_core::{Permissions, Timestamp, UserId, UserName};

use crate::identity::{Caller, User};

/// The server process, which is never revoked, as a user with this name.
pub fn caller(name: &str) -> Caller {
    Caller::process(Arc::new(User {
        id: UserId(uuid::Uuid::from_u128(name.len() as u128)),
        name: UserName::parse(name).expect("valid"),
        active: true,
        created_at: Timestamp(0),
        permissions: Permissions::default(),
        role_names: Vec::new(),
        groups: Vec::new(),
        group_names: Vec::new(),
        quota_overrides: Default::default(),
        has_second_factor: false,
    }))
}
