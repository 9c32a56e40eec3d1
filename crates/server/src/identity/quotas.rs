//! Quotas of users: enforces them, and checks who may change them.

use std::collections::BTreeMap;

use svc_core::{Quota, QuotaOverrides, Quotas, UserId, permission::ROLE_ADMIN, quota::QUOTA_MAX};
use svc_protocol::api::merge;
use svc_store::{
    Tx,
    users::{self, Profile},
};

use super::caller::Caller;
use crate::records::{RecordError, Result};

/// Returns an error if the owner already `has` as many records as allowed. Call in the transaction
/// that adds the record: transactions are serialised, so two requests cannot both add the last one.
pub fn check_one_more(
    tx: &mut Tx<'_>,
    defaults: &Quotas,
    owner: UserId,
    quota: Quota,
    has: u64,
) -> Result<()> {
    // Read from the store, not from the directory: another server of the zone may just have changed
    // the value.
    let quotas = defaults.with(&users::find_quotas(tx, owner)?);
    Ok(quotas.check(quota, has.saturating_add(1))?)
}

/// The overrides after a patch; `None` restores the server's value.
pub(super) fn patched(
    before: &QuotaOverrides,
    patch: &BTreeMap<Quota, Option<u64>>,
) -> Result<QuotaOverrides> {
    let after: QuotaOverrides = merge("quotas", before, patch)?;
    match after.iter().find(|(_, value)| **value > QUOTA_MAX) {
        None => Ok(after),
        Some((quota, value)) => Err(RecordError::new(
            "invalid_quota",
            format!("quota `{quota}` is {value}; it must be between 0 and {QUOTA_MAX}"),
        )),
    }
}

/// Only administrators may change their own quotas: otherwise quotas would not limit users with
/// `manage_users`.
pub(super) fn check_may_set(caller: &Caller, user: &Profile) -> Result<()> {
    let is_admin = user.roles.iter().any(|role| role == ROLE_ADMIN);
    if user.id != caller.user.id || is_admin {
        return Ok(());
    }
    Err(RecordError::new(
        "permission_denied",
        "only a user with the role `admin` may change their own quotas; ask an administrator",
    ))
}
