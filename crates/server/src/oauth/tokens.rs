//! The tokens of a grant. A grant is the access of one app to the account of one user.

use std::time::Duration;

use serde::Serialize;
use svc_core::{Id, Timestamp, TokenId, credential::CredentialKind, oauth::OAuthScopes};
use svc_store::{
    StoreError, Tx,
    oauth::{
        self as rows,
        grants::GrantRow,
        tokens::{AppTokenKind, AppTokenRow},
    },
    records,
};
use uuid::Uuid;

use super::{DAY, OAuth};
use crate::{identity::Secret, records::Result};

/// A grant whose tokens are not renewed ends after this time.
const IDLE_LIFETIME: Duration = DAY.saturating_mul(30);
/// Every grant ends after this time.
const GRANT_LIFETIME: Duration = DAY.saturating_mul(180);
/// Maximum number of tokens of one grant, including used refresh tokens. Above it, the oldest are
/// deleted.
const TOKENS_PER_GRANT: u32 = 32;

/// The answer to a request for tokens.
#[derive(Serialize)]
pub struct IssuedToken {
    pub(super) access_token: String,
    pub(super) token_type: &'static str,
    pub(super) expires_in: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    pub(super) scope: String,
    /// If the access token is an API token, its id. `svc logout` needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token_id: Option<TokenId>,
}

/// An access token and a refresh token. Without `Debug`: it holds secrets.
pub(super) struct NewPair {
    access: Secret,
    refresh: Secret,
}

impl NewPair {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            access: Secret::new(CredentialKind::AccessToken)?,
            refresh: Secret::new(CredentialKind::RefreshToken)?,
        })
    }
}

/// When a grant ends if its tokens are not renewed again.
pub(super) fn grant_expiry(created_at: Timestamp, now: Timestamp) -> Timestamp {
    now.plus(IDLE_LIFETIME).min(created_at.plus(GRANT_LIFETIME))
}

impl OAuth {
    /// Inserts new tokens of a grant. The access token gets `scopes`, which may be fewer than those
    /// of the grant.
    pub(super) fn insert_pair(
        &self,
        tx: &mut Tx<'_>,
        grant: &GrantRow,
        scopes: &OAuthScopes,
        pair: NewPair,
        now: Timestamp,
    ) -> Result<IssuedToken, StoreError> {
        let lifetime = self.policy.access_lifetime;
        let expires_at = grant_expiry(grant.created_at, now);
        let access_until = now.plus(lifetime).min(expires_at);
        let row = |kind, secret: &Secret, scopes: &OAuthScopes, expires_at| AppTokenRow {
            id: Id(Uuid::now_v7()),
            grant_id: grant.id,
            user_id: grant.user_id,
            kind,
            hash: secret.hash,
            scopes: scopes.clone(),
            created_at: now,
            expires_at,
            replaced_at: None,
        };
        let access = row(AppTokenKind::Access, &pair.access, scopes, access_until);
        // The refresh token keeps all scopes of the grant.
        let refresh = row(
            AppTokenKind::Refresh,
            &pair.refresh,
            &grant.scopes,
            expires_at,
        );
        records::insert(tx, &access)?;
        records::insert(tx, &refresh)?;
        rows::tokens::delete_oldest_of_grant(tx, grant.id, TOKENS_PER_GRANT)?;
        rows::grants::set_expiry(tx, grant.id, (now, expires_at))?;
        Ok(IssuedToken {
            access_token: pair.access.text,
            token_type: "Bearer",
            expires_in: access_until.since(now).as_secs(),
            refresh_token: Some(pair.refresh.text),
            scope: scopes.to_string(),
            token_id: None,
        })
    }
}
