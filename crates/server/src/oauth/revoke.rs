//! Ends tokens at the request of their app (RFC 7009).

use std::sync::Arc;

use serde_json::json;
use svc_core::credential::CredentialKind;
use svc_store::{
    audit::SYSTEM,
    keyed,
    oauth::{
        grants::GrantRow,
        tokens::{AppTokenKind, AppTokenRow},
    },
    records,
    zone_changes::ZoneChange,
};

use super::{OAuth, clients::Presented, error::OAuthError};
use crate::identity::hash_secret;

impl OAuth {
    /// Revokes a token of the app. Revoking a refresh token ends its grant. Unknown tokens are
    /// ignored; a token of another app is rejected and stays valid.
    pub async fn revoke_token(
        self: &Arc<Self>,
        client: Presented,
        token: &str,
    ) -> Result<(), OAuthError> {
        let is_of_apps = matches!(
            CredentialKind::recognise(token),
            Some(CredentialKind::AccessToken | CredentialKind::RefreshToken)
        );
        let hash = hash_secret(token);
        let change = self.identity.change_as_server(move |tx| {
            let client = Self::identify_client(tx, &client)?;
            let found = match is_of_apps {
                true => keyed::find::<AppTokenRow>(tx, &hash)?,
                false => None,
            };
            let Some(token) = found else {
                return Ok(());
            };
            let grant = records::find::<GrantRow>(tx, token.grant_id)?;
            if grant.is_none_or(|grant| grant.client_id != client.id) {
                return Err(OAuthError::invalid_grant(
                    "the token belongs to another app, and stays valid",
                ));
            }
            match token.kind {
                AppTokenKind::Access => {
                    keyed::delete::<AppTokenRow>(tx, &hash)?;
                }
                AppTokenKind::Refresh => {
                    records::delete::<GrantRow>(tx, token.grant_id)?;
                    let target = ("oauth_grant", token.grant_id);
                    let detail = json!({"user_id": token.user_id, "by": "app"});
                    tx.audit_by(SYSTEM, "oauth.revoked", target, detail)?;
                }
            }
            tx.affects(ZoneChange::User(token.user_id));
            Ok(())
        });
        change.await
    }
}
