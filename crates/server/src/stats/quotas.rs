//! The quotas of a user and their use (`GET /api/stats/quotas`).

use svc_core::{Quota, UserId};
use svc_protocol::api::{QuotaUse, QuotaUses, Schedule, Script};
use svc_store::{
    StoreError, Tx, audit,
    events::usage,
    records,
    sinks::{self, SinkRow},
    sources::SourceRow,
    tokens::TokenRow,
    users,
};

use super::Overview;
use crate::{
    identity::Caller,
    records::{RecordError, Result},
};

impl Overview {
    /// The use of the quotas of a user; `None` is the caller. Only callers with `manage_users` see
    /// the use of another user's quotas.
    pub async fn quotas(&self, caller: &Caller, user: Option<UserId>) -> Result<QuotaUses> {
        let user = user.unwrap_or(caller.user.id);
        caller.check_credentials_of(user)?;
        let read = move |tx: &mut Tx<'_>| {
            let mut stored = Vec::new();
            for &quota in Quota::ALL {
                stored.push((quota, count_stored(tx, user, quota)?));
            }
            Ok((users::find_quotas(tx, user)?, stored))
        };
        if self.directory.find_user(user).is_none() {
            return Err(RecordError::not_found("user", user));
        }
        let (overrides, stored) = self.store.read_list(caller.user.id, read).await?;
        let limits = self.quotas.with(&overrides);
        let show = |(quota, count): (Quota, Option<u64>)| QuotaUse {
            quota,
            used: count.unwrap_or_else(|| self.count_in_memory(user, quota)),
            limit: limits.get(quota),
            is_own_value: overrides.contains_key(&quota),
        };
        Ok(QuotaUses {
            user_id: user,
            quotas: stored.into_iter().map(show).collect(),
        })
    }

    /// The use of a quota that is counted in the memory of this server, not in the database.
    fn count_in_memory(&self, user: UserId, quota: Quota) -> u64 {
        match quota {
            Quota::Methods => self.registry.count_of_owner(user) as u64,
            _ => self.streams.count_of(user),
        }
    }
}

/// `None` for a quota whose use is not in the database.
fn count_stored(tx: &mut Tx<'_>, user: UserId, quota: Quota) -> Result<Option<u64>, StoreError> {
    let key = sinks::owner_key(user);
    Ok(Some(match quota {
        Quota::Spaces => users::count_spaces(tx, user)?,
        Quota::Tokens => records::count::<TokenRow>(tx, &user)?,
        Quota::Scripts => records::count::<Script>(tx, &key)?,
        Quota::Sinks => records::count::<SinkRow>(tx, &key)?,
        Quota::Sources => records::count::<SourceRow>(tx, &user)?,
        Quota::Schedules => records::count::<Schedule>(tx, &user)?,
        Quota::EventBytes => usage::bytes_of(tx, Some(user))?,
        Quota::AuditBytes => audit::usage::bytes_on_day(tx, user, svc_clock::now())?,
        Quota::Methods | Quota::Streams => return Ok(None),
    }))
}
