//! Resolves a caller again, inside the transaction that makes their change ([`Writer::change`]).
//!
//! [`Writer::change`]: super::Writer::change

use std::sync::Arc;

use svc_core::Timestamp;
use svc_store::{
    Tx, agent_tokens, keyed, oauth::tokens::AppTokenRow, records, sessions::SessionRow,
    tokens::TokenRow, users,
};

use super::{
    caller::{Caller, Credential, User},
    directory::AccessDenied,
};
use crate::records::Result;

/// Resolves a caller again. The error is 401 if the user or the credential is no longer valid, and
/// 403 if the user lost the permission of the route.
pub fn resolve(tx: &mut Tx<'_>, caller: &Caller, now: Timestamp) -> Result<Caller> {
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

fn resolve_credential(tx: &mut Tx<'_>, caller: &Caller, now: Timestamp) -> Result<Credential> {
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
            let token = keyed::find::<AppTokenRow>(tx, &caller.key)?
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
