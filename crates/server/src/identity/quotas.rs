//! Quotas of users: where a request for more than allowed is refused, and who sets other values.

use std::collections::BTreeMap;

use svc_core::{
    Quota, QuotaExceeded, QuotaOverrides, Quotas, UserId, permission::ROLE_ADMIN, quota::QUOTA_MAX,
};
use svc_store::{
    StoreError, Tx,
    users::{self, Profile},
};

use super::{caller::Caller, error::IdentityError};

/// Refuses one more when the owner already `has` as many as allowed. To be called in the
/// transaction that adds it: writers take turns, so that two requests cannot both take the last
/// one.
pub fn check_one_more<E>(
    tx: &mut Tx<'_>,
    defaults: &Quotas,
    owner: UserId,
    quota: Quota,
    has: u64,
) -> Result<(), E>
where
    E: From<StoreError> + From<QuotaExceeded>,
{
    // Read from the store and not from the directory: another server of the zone may have changed
    // the value a moment ago.
    let quotas = defaults.with(&users::find_quotas(tx, owner)?);
    Ok(quotas.check(quota, has.saturating_add(1))?)
}

/// Values to set; `None` returns to the server's value.
pub type QuotaPatch = BTreeMap<Quota, Option<u64>>;

pub(super) fn patched(
    before: &QuotaOverrides,
    patch: QuotaPatch,
) -> Result<QuotaOverrides, IdentityError> {
    let mut after = before.clone();
    for (quota, value) in patch {
        match value {
            None => after.remove(&quota),
            Some(value) if value <= QUOTA_MAX => after.insert(quota, value),
            Some(value) => {
                let message =
                    format!("quota `{quota}` is {value}; it must be between 0 and {QUOTA_MAX}");
                return Err(IdentityError::invalid("invalid_quota", message));
            }
        };
    }
    Ok(after)
}

/// Only an administrator changes their own quotas: with `manage_users` alone, a user would be
/// limited by nothing.
pub(super) fn check_may_set(caller: &Caller, user: &Profile) -> Result<(), IdentityError> {
    let is_admin = user.roles.iter().any(|role| role == ROLE_ADMIN);
    if user.id != caller.user.id || is_admin {
        return Ok(());
    }
    Err(IdentityError::forbidden(
        "permission_denied",
        "only a user with the role `admin` may change their own quotas; ask an administrator",
    ))
}
