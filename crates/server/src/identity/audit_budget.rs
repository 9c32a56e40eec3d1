//! The audit budget of a user: the bytes of audit entries about the user's own changes within a day
//! (quota `audit_bytes`). Every change of a caller is checked in its transaction, so no change is
//! made without its entry, and no user fills the disk with entries.

use svc_core::{Quota, Quotas, Timestamp};
use svc_store::{Tx, WrittenEntry, audit::usage};

use super::caller::{Caller, Credential};
use crate::records::Result;

/// Records that only administrators change. Their entries are not about the actor's own records.
const ADMINISTRATIVE: [&str; 6] = [
    "user",
    "group",
    "role",
    "template",
    "oidc_provider",
    "oauth_client",
];
/// Ends of the names of actions that remove or stop something. They are counted and never refused: a
/// leaked token must always be revocable, and a space whose code used up the budget must be
/// stoppable. Their number is limited by the number of records, because the opposite actions are
/// refused.
const REMOVALS: [&str; 6] = [
    "deleted", "removed", "revoked", "unlinked", "stopped", "disabled",
];
/// Ends of the names of actions that replace a credential. They may use the budget once more, except
/// by code: it could use up this part too, and its owner could no longer replace the credential of
/// the code.
const REPLACEMENTS: [&str; 4] = [
    "rotated",
    "password_changed",
    "renewed",
    "second_factor.added",
];

/// Counts the entries that the transaction wrote. Returns an error if the caller has no budget left.
pub(super) fn charge(
    tx: &mut Tx<'_>,
    caller: &Caller,
    defaults: &Quotas,
    now: Timestamp,
) -> Result<()> {
    let user = &caller.user;
    let mut written = tx.take_audited();
    written.retain(|entry| is_own(caller, entry));
    if written.is_empty() || caller.credential == Credential::Process {
        return Ok(());
    }
    let bytes = written.iter().map(|entry| entry.bytes).sum();
    let used = usage::add(tx, user.id, now, bytes)?;
    let all_are = |ends: &[&str]| {
        let mut entries = written.iter();
        entries.all(|entry| ends.iter().any(|end| entry.action.ends_with(end)))
    };
    if all_are(&REMOVALS) {
        return Ok(());
    }
    let limit = user.quotas(defaults).get(Quota::AuditBytes);
    let is_code = matches!(
        caller.credential,
        Credential::Agent { .. } | Credential::Script
    );
    if all_are(&REPLACEMENTS) && !is_code && used <= limit.saturating_mul(2) {
        return Ok(());
    }
    Ok(user.quotas(defaults).check(Quota::AuditBytes, used)?)
}

fn is_own(caller: &Caller, entry: &WrittenEntry) -> bool {
    !ADMINISTRATIVE.contains(&entry.target_type) || entry.target_id == caller.user.id.to_string()
}
