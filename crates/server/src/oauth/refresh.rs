//! Renews the tokens of a grant. Each refresh token is meant for one use. If a refresh token is
//! used again later than [`GRACE`] after its first use, the grant ends, because the token may have
//! been copied.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use svc_core::{Timestamp, credential::CredentialKind};
use svc_store::{
    Tx,
    audit::SYSTEM,
    keyed,
    oauth::{
        self as rows,
        clients::ClientRow,
        grants::GrantRow,
        tokens::{AppTokenKind, AppTokenRow},
    },
    oidc::grants as oidc_grants,
    records,
    users::UserRow,
    zone_changes::ZoneChange,
};

use super::{
    OAuth,
    clients::Presented,
    error::OAuthError,
    exchange::check_resources,
    tokens::{IssuedToken, NewPair},
};
use crate::identity::{Change, hash_secret};

/// An app that did not receive the answer may use the same refresh token again within this time.
const GRACE: Duration = Duration::from_secs(60);

/// The parameters of the request.
#[derive(Clone)]
pub struct Refresh {
    pub client: Presented,
    pub token: String,
    pub scope: Option<String>,
    pub resources: Vec<String>,
    pub issuer: String,
}

impl OAuth {
    pub async fn refresh(self: &Arc<Self>, request: Refresh) -> Result<IssuedToken, OAuthError> {
        if CredentialKind::recognise(&request.token) != Some(CredentialKind::RefreshToken) {
            return Err(unknown_token());
        }
        let pair = NewPair::new()?;
        let (oauth, now) = (self.clone(), self.clock.now());
        // The closure returns a reused token as an inner error, so that the transaction commits the
        // end of the grant.
        let outcome = self.identity.change_as_server(move |tx| {
            let (token, grant) = oauth.check_refresh(tx, &request, now)?;
            tx.affects(ZoneChange::User(grant.user_id));
            let is_reuse = |at: Timestamp| now.since(at) > GRACE;
            if token.replaced_at.is_some_and(is_reuse) {
                end_copied(tx, &grant)?;
                return Ok(Err(unknown_token()));
            }
            let scopes = match request.scope.as_deref() {
                Some(asked) => grant.scopes.narrow(asked).ok_or_else(|| {
                    let text = format!("the user granted `{}` only", grant.scopes);
                    OAuthError::refused("invalid_scope", text)
                })?,
                None => grant.scopes.clone(),
            };
            rows::tokens::replace(tx, &token.hash, now)?;
            let issued = oauth.insert_pair(tx, &grant, &scopes, pair, now)?;
            records::set_last_used::<ClientRow>(tx, grant.client_id, now)?;
            Ok::<_, OAuthError>(Ok(issued))
        });
        outcome.await?
    }

    fn check_refresh(
        &self,
        tx: &mut Tx<'_>,
        request: &Refresh,
        now: Timestamp,
    ) -> Result<(AppTokenRow, GrantRow), OAuthError> {
        let client = self.authenticate_client(tx, &request.client)?;
        let token = keyed::find::<AppTokenRow>(tx, &hash_secret(&request.token))?
            .filter(|token| token.kind == AppTokenKind::Refresh && token.expires_at > now)
            .ok_or_else(unknown_token)?;
        let grant = records::find::<GrantRow>(tx, token.grant_id)?
            .filter(|grant| grant.client_id == client.id)
            .ok_or_else(unknown_token)?;
        let user = records::find::<UserRow>(tx, grant.user_id)?;
        if !user.is_some_and(|user| user.active) {
            return Err(OAuthError::invalid_grant("the user is not active"));
        }
        check_resources(&request.resources, &request.issuer, &grant.resource)?;
        if let Some(identity) = oidc_grants::find_identity(tx, &grant.id.to_string())? {
            self.check_fresh(tx, identity)?;
        }
        Ok((token, grant))
    }
}

fn end_copied(tx: &mut Change<'_, '_>, grant: &GrantRow) -> Result<(), OAuthError> {
    records::delete::<GrantRow>(tx, grant.id)?;
    let detail = json!({"user_id": grant.user_id, "client_id": grant.client_id});
    let target = ("oauth_grant", grant.id);
    Ok(tx.audit_by(SYSTEM, "oauth.refresh_reused", target, detail)?)
}

fn unknown_token() -> OAuthError {
    OAuthError::invalid_grant("the refresh token is not valid; connect again")
}
