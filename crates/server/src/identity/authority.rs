//! Resolves a caller again, inside the transaction that makes their change.
//!
//! Time passes between the authentication of a caller and the commit of their change: the body
//! arrives, a password is hashed, a script is checked, other writes come first. Meanwhile an
//! administrator may have deactivated the user, revoked the credential or removed a role. So every
//! change that a caller requests through the API, except an emit, runs in [`Identity::change_as`]
//! or [`CallerWriter::write`], which read the caller from the database inside the transaction. The
//! closure must check the caller that it gets as an argument, never the caller of the request. Both
//! also charge the audit entries of the change to the caller ([`audit_budget`]).

use std::sync::Arc;

use svc_clock::Clock;
use svc_core::{Quotas, Timestamp};
use svc_store::{
    Store, Tx, agent_tokens, oauth, records, sessions::SessionRow, tokens::TokenRow, users,
};

use super::{
    Identity, audit_budget,
    caller::{Caller, Credential, User},
    change::AffectedRecords,
    directory::AccessDenied,
};
use crate::records::RecordError;

impl Identity {
    /// [`change`](Self::change) on behalf of a caller.
    pub async fn change_as<T: Send + 'static>(
        &self,
        caller: &Caller,
        work: impl FnOnce(&mut Tx<'_>, &Caller) -> Result<(T, AffectedRecords), RecordError>
        + Send
        + 'static,
    ) -> Result<T, RecordError> {
        let (caller, clock, quotas) = (caller.clone(), self.clock.clone(), self.quotas);
        self.change(move |tx| {
            let now = clock.now();
            let caller = resolve(tx, &caller, now)?;
            let done = work(tx, &caller)?;
            audit_budget::charge(tx, &caller, &quotas, now)?;
            Ok::<_, RecordError>(done)
        })
        .await
    }

    /// The writer for services whose records are not in the directory.
    pub fn writer(&self) -> CallerWriter {
        CallerWriter::new(self.store.clone(), self.clock.clone(), self.quotas)
    }
}

/// Makes changes on behalf of callers, to records that are not in the directory. Cheap to clone.
#[derive(Clone)]
pub struct CallerWriter {
    store: Store,
    clock: Clock,
    /// The quotas of users without overrides.
    quotas: Quotas,
}

impl CallerWriter {
    pub fn new(store: Store, clock: Clock, quotas: Quotas) -> Self {
        Self {
            store,
            clock,
            quotas,
        }
    }

    /// Runs a transaction on behalf of a caller.
    pub async fn write<T: Send + 'static>(
        &self,
        caller: &Caller,
        work: impl FnOnce(&mut Tx<'_>, &Caller) -> Result<T, RecordError> + Send + 'static,
    ) -> Result<T, RecordError> {
        let (caller, clock, quotas) = (caller.clone(), self.clock.clone(), self.quotas);
        let writing = move |tx: &mut Tx<'_>| {
            let now = clock.now();
            let caller = resolve(tx, &caller, now)?;
            let done = work(tx, &caller)?;
            audit_budget::charge(tx, &caller, &quotas, now)?;
            Ok::<_, RecordError>(done)
        };
        self.store.try_write(writing).await
    }
}

/// Resolves a caller again. The error is 401 if the user or the credential is no longer valid, and
/// 403 if the user lost the permission of the route.
pub fn resolve(tx: &mut Tx<'_>, caller: &Caller, now: Timestamp) -> Result<Caller, RecordError> {
    if caller.credential == Credential::Process {
        return Ok(caller.clone());
    }
    let profile = users::find_profile(tx, caller.user.id)?.ok_or(AccessDenied::Unknown)?;
    if !profile.active {
        return Err(AccessDenied::UserInactive.into());
    }
    let resolved = Caller {
        credential: resolve_credential(tx, caller, now)?,
        user: Arc::new(User::from(profile)),
        ..caller.clone()
    };
    resolved.check_admission()?;
    Ok(resolved)
}

fn resolve_credential(
    tx: &mut Tx<'_>,
    caller: &Caller,
    now: Timestamp,
) -> Result<Credential, RecordError> {
    let user = caller.user.id;
    let expires_at = match caller.credential {
        Credential::Token { id, .. } => {
            records::find::<TokenRow>(tx, id)?
                .filter(|token| token.user_id == user && token.hash == caller.key)
                .ok_or(AccessDenied::Unknown)?
                .expires_at
        }
        Credential::Session { id } | Credential::Enrolment { id } => {
            let session = records::find::<SessionRow>(tx, id)?
                .filter(|session| session.user_id == user && session.hash == caller.key)
                .ok_or(AccessDenied::Unknown)?;
            Some(session.expires_at)
        }
        Credential::App { grant_id, .. } => {
            let token = oauth::tokens::find(tx, &caller.key)?
                .filter(|token| token.user_id == user && token.grant_id == grant_id)
                .ok_or(AccessDenied::Unknown)?;
            Some(token.expires_at)
        }
        Credential::Agent { space_id, .. } => {
            let tokens = agent_tokens::list_of_space(tx, space_id)?;
            let token = tokens
                .iter()
                .find(|token| token.owner_id == user && token.hash == caller.key)
                .ok_or(AccessDenied::Unknown)?;
            return Ok(Credential::agent(token));
        }
        Credential::Script | Credential::Process => None,
    };
    if expires_at.is_some_and(|expires_at| expires_at <= now) {
        return Err(AccessDenied::Expired.into());
    }
    Ok(caller.credential.clone())
}
