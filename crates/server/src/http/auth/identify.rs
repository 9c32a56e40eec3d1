//! Finds the caller of a request: by its credential or, if a script made it, by the script's user.

use std::time::Instant;

use http::header;
use svc_core::credential::CredentialKind;
use svc_store::StoreError;

use super::{Gate, Head};
use crate::{
    http::{cookies::find_session, listen},
    identity::{AccessDenied, Caller, hash_secret, presented_key},
    scripts::ActingUser,
};

/// Finds the caller. A bearer token takes precedence over a cookie. A script has no credential: its
/// user comes from a request extension, which no request from outside can have.
pub(super) fn identify(gate: &Gate, head: Head<'_>) -> Result<Option<Caller>, AccessDenied> {
    if let Some(acts_for) = head.extensions.get::<ActingUser>() {
        let caller = gate.app.directory.script_caller(acts_for.user());
        return caller.map(Some);
    }
    let find = || find_credential(gate, head)?.map(presented_key).transpose();
    let key = match (head.last_token, head.headers.get(header::AUTHORIZATION)) {
        (Some(last), Some(header)) => last.key(header.as_bytes(), find)?,
        _ => find()?,
    };
    let Some(key) = key else {
        return Ok(None);
    };
    let caller = gate.app.directory.find_caller(key, gate.app.clock.now());
    caller.map(Some)
}

/// If this server does not know the presented credential, waits until it has applied the changes of
/// other servers: one of them may just have created the credential. Many programs take a 401 as
/// final, so only a server that is up to date may send one.
pub(super) async fn catch_up(gate: &Gate, head: Head<'_>) -> Result<(), StoreError> {
    if !is_unknown(gate, head) {
        return Ok(());
    }
    let presented = find_credential(gate, head).ok().flatten();
    let key = presented.map(hash_secret).unwrap_or_default();
    if gate.unknown.contains(&key, Instant::now()) {
        return Ok(());
    }
    let has_caught_up = gate.app.catch_up.now().await;
    if !is_unknown(gate, head) {
        return Ok(());
    }
    if !has_caught_up {
        let reason = "cannot read the changes of other servers".to_owned();
        return Err(StoreError::Unavailable(reason));
    }
    gate.unknown.insert(key, Instant::now());
    Ok(())
}

/// Whether the request presents a well-formed credential that this server does not know.
fn is_unknown(gate: &Gate, head: Head<'_>) -> bool {
    let presented = find_credential(gate, head).ok().flatten();
    presented.is_some_and(|text| CredentialKind::recognise(text).is_some())
        && matches!(identify(gate, head), Err(AccessDenied::Unknown))
}

pub(super) fn presents_agent_token(gate: &Gate, head: Head<'_>) -> bool {
    let presented = find_credential(gate, head).ok().flatten();
    presented.and_then(CredentialKind::recognise) == Some(CredentialKind::AgentToken)
}

fn find_credential<'a>(gate: &Gate, head: Head<'a>) -> Result<Option<&'a str>, AccessDenied> {
    let headers = head.headers;
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, token) = value
            .as_bytes()
            .split_at_checked("bearer ".len())
            .ok_or(AccessDenied::Unknown)?;
        // Tokens are ASCII, so bytes that are not UTF-8 are never a valid token.
        let token = str::from_utf8(token.trim_ascii()).map_err(|_| AccessDenied::Unknown)?;
        if !scheme.eq_ignore_ascii_case(b"bearer ") || token.starts_with("svc_ses_") {
            return Err(AccessDenied::Unknown);
        }
        return Ok(Some(token));
    }
    find_session(headers, is_secure(gate, head))
}

/// Whether the browser uses TLS; false for requests without a connection.
fn is_secure(gate: &Gate, head: Head<'_>) -> bool {
    head.peer
        .is_some_and(|peer| listen::is_secure(peer, head.headers, &gate.app.trusted_proxies))
}
