//! Exchanges a code for the first tokens of a grant, or for the API token of `svc login`.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;
use svc_core::{
    GrantId, OidcIdentityId, Timestamp,
    credential::CredentialKind,
    oauth::{OAuthScope, RedirectUri, is_verifier},
};
use svc_crypto::{is_equal, sha256};
use svc_store::{
    Hash, Tx,
    audit::SYSTEM,
    keyed,
    oauth::{self as rows, clients::ClientRow, codes::CodeRow, grants::GrantRow},
    oidc::grants as oidc_grants,
    records, tokens,
    users::UserRow,
    zone_changes::ZoneChange,
};
use uuid::Uuid;

use super::{
    OAuth,
    clients::Presented,
    consents::foreign_resource,
    error::OAuthError,
    resource::Resource,
    tokens::{IssuedToken, NewPair, grant_expiry},
};
use crate::identity::{Change, Secret, hash_secret};

/// Codes are kept this long after their expiry, so that a second use is detected.
pub const USED_CODE_KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// The maximum number of grants of one user. A further grant replaces the grant that was not used
/// for the longest time.
const GRANTS_PER_USER: u32 = 100;

/// The parameters of the request.
#[derive(Clone)]
pub struct CodeExchange {
    pub client: Presented,
    pub code: String,
    pub verifier: String,
    pub redirect_uri: Option<String>,
    pub resources: Vec<String>,
    pub issuer: String,
    /// The name of the machine on which `svc login` runs. The token gets the name `cli@<machine>`.
    pub machine: Option<String>,
}

impl OAuth {
    pub async fn exchange_code(
        self: &std::sync::Arc<Self>,
        request: CodeExchange,
    ) -> Result<IssuedToken, OAuthError> {
        if CredentialKind::recognise(&request.code) != Some(CredentialKind::AuthorizationCode) {
            return Err(unknown_code());
        }
        let pair = NewPair::new()?;
        let login_token = Secret::new(CredentialKind::ApiToken)?;
        let (oauth, now) = (self.clone(), self.clock.now());
        // A second use of a code is rejected, but the end of its grant must be committed.
        let outcome = self.identity.change_as_server(move |tx| {
            let code = match oauth.check_code(tx, &request, now)? {
                Checked::Usable(code) => code,
                Checked::Reused(code) => {
                    oauth.end_reused(tx, &code)?;
                    return Ok::<_, OAuthError>(Err(unknown_code()));
                }
            };
            let user = code.user_id;
            let issued = if code.scopes.contains(OAuthScope::Cli) {
                let name = request.machine.as_deref().unwrap_or_default();
                let issued = oauth.issue_login_token(tx, user, (name, &code.hash), login_token)?;
                rows::codes::redeem(tx, &code.hash, now, None, issued.token_id)?;
                issued
            } else {
                let grant = oauth.insert_grant(tx, &code, now)?;
                rows::codes::redeem(tx, &code.hash, now, Some(grant.id), None)?;
                oauth.insert_pair(tx, &grant, &code.scopes, pair, now)?
            };
            records::set_last_used::<ClientRow>(tx, code.client_id, now)?;
            tx.affects(ZoneChange::User(user));
            Ok(Ok(issued))
        });
        outcome.await?
    }

    /// Makes all checks, before the code is used up.
    fn check_code(
        &self,
        tx: &mut Tx<'_>,
        request: &CodeExchange,
        now: Timestamp,
    ) -> Result<Checked, OAuthError> {
        let client = self.authenticate_client(tx, &request.client)?;
        let code = keyed::find::<CodeRow>(tx, &hash_secret(&request.code))?
            .filter(|code| code.client_id == client.id)
            .ok_or_else(unknown_code)?;
        if code.used_at.is_some() {
            return Ok(Checked::Reused(code));
        }
        if code.expires_at <= now {
            return Err(OAuthError::invalid_grant(
                "the code has expired; connect again",
            ));
        }
        let redirect_uri = request.redirect_uri.as_deref();
        if redirect_uri.is_some_and(|uri| uri != code.redirect_uri) {
            return Err(OAuthError::invalid_grant(
                "`redirect_uri` is not the address to which the code was sent",
            ));
        }
        if !is_answer(&request.verifier, &code.challenge) {
            return Err(OAuthError::invalid_grant(
                "`code_verifier` does not match the challenge",
            ));
        }
        check_resources(&request.resources, &request.issuer, &code.resource)?;
        let user = records::find::<UserRow>(tx, code.user_id)?;
        if !user.is_some_and(|user| user.active) {
            return Err(OAuthError::invalid_grant("the user is not active"));
        }
        Ok(Checked::Usable(code))
    }

    fn insert_grant(
        &self,
        tx: &mut Tx<'_>,
        code: &CodeRow,
        now: Timestamp,
    ) -> Result<GrantRow, OAuthError> {
        let host = RedirectUri::parse(&code.redirect_uri)
            .map(|uri| uri.shown_host().to_owned())
            .unwrap_or_default();
        let grant = GrantRow {
            id: GrantId(Uuid::now_v7()),
            user_id: code.user_id,
            client_id: code.client_id,
            scopes: code.scopes.clone(),
            resource: code.resource.clone(),
            redirect_host: host,
            created_at: now,
            last_used_at: Some(now),
            expires_at: grant_expiry(now, now),
        };
        records::insert(tx, &grant)?;
        if let Some(login) = oidc_grants::take_pending(tx, &code.hash)? {
            oidc_grants::insert(tx, grant.id.to_string(), login)?;
        }
        rows::grants::delete_oldest_of_user(tx, code.user_id, GRANTS_PER_USER)?;
        Ok(grant)
    }

    /// Ends the grant or the token that was issued for a code that was used twice: the code may
    /// have been copied.
    fn end_reused(&self, tx: &mut Change<'_, '_>, code: &CodeRow) -> Result<(), OAuthError> {
        let ended_grant = match code.grant_id {
            Some(grant) if records::delete::<GrantRow>(tx, grant)? => {
                Some(("oauth_grant", grant.0))
            }
            _ => None,
        };
        let ended_token = match code.token_id {
            Some(token) if !tokens::delete(tx, token)?.is_empty() => Some(("token", token.0)),
            _ => None,
        };
        if let Some(target) = ended_grant.or(ended_token) {
            let detail = json!({"user_id": code.user_id});
            tx.audit_by(SYSTEM, "oauth.code_reused", target, detail)?;
        }
        tx.affects(ZoneChange::User(code.user_id));
        Ok(())
    }

    /// Issues an API token for `svc login` on a machine, for the code or the device with this hash.
    /// If the user signed in with a provider, the token expires at the latest `fresh_login` after
    /// the user's last sign-in with that provider.
    pub(super) fn issue_login_token(
        &self,
        tx: &mut Change<'_, '_>,
        user: svc_core::UserId,
        (machine, hash): (&str, &Hash),
        secret: Secret,
    ) -> Result<IssuedToken, OAuthError> {
        let login = oidc_grants::take_pending(tx, hash)?;
        let mut lifetime = self.policy.login_token_lifetime;
        if let Some(login) = &login {
            lifetime = lifetime.min(self.check_fresh(tx, login.identity_id)?);
        }
        let token_id =
            self.identity
                .insert_login_token(tx, user, machine, secret.hash, lifetime)?;
        if let Some(login) = login {
            oidc_grants::insert(tx, token_id.to_string(), login)?;
        }
        Ok(IssuedToken {
            access_token: secret.text,
            token_type: "Bearer",
            expires_in: lifetime.as_secs(),
            refresh_token: None,
            scope: OAuthScope::Cli.to_string(),
            token_id: Some(token_id),
        })
    }
}

impl OAuth {
    /// How long the last sign-in of an account with its provider is still valid.
    pub(super) fn check_fresh(
        &self,
        tx: &mut Tx<'_>,
        identity: OidcIdentityId,
    ) -> Result<Duration, OAuthError> {
        let fresh_until = oidc_grants::find_last_login(tx, identity)?
            .map(|at| at.plus(self.policy.fresh_login))
            .filter(|until| *until > self.clock.now());
        let fresh_until = fresh_until.ok_or_else(|| {
            OAuthError::invalid_grant(
                "the last sign-in with the provider is too long ago; sign in to this server with the provider, and connect again",
            )
        })?;
        Ok(fresh_until.since(self.clock.now()))
    }
}

enum Checked {
    Usable(CodeRow),
    Reused(CodeRow),
}

/// Whether a PKCE verifier matches a challenge of the method `S256`.
fn is_answer(verifier: &str, challenge: &str) -> bool {
    let hash = URL_SAFE_NO_PAD.encode(sha256(verifier));
    is_verifier(verifier) && is_equal(hash, challenge)
}

/// Checks that a request for tokens names no resource, or the resource of its grant.
pub fn check_resources(
    resources: &[String],
    issuer: &str,
    granted: &str,
) -> Result<(), OAuthError> {
    for resource in resources {
        let found = Resource::parse(resource, issuer);
        if found.is_none_or(|found| found.as_str() != granted) {
            return Err(foreign_resource(resource));
        }
    }
    Ok(())
}

/// A code that never existed and a used code get the same error.
fn unknown_code() -> OAuthError {
    OAuthError::invalid_grant("the code is not valid; connect again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_verifier_of_the_challenge_is_accepted() {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        assert!(is_answer(verifier, challenge));
        for bad in ["", "short", &verifier[1..], challenge, &"a".repeat(129)] {
            assert!(!is_answer(bad, challenge), "{bad}");
        }
        assert!(!is_answer(verifier, ""));
    }
}
