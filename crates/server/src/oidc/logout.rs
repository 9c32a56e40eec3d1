//! Back-channel logout: a provider reports that a user signed out or that a session ended.

use std::net::IpAddr;

use svc_core::oidc::{ExpectedToken, LOGOUT_TOKEN_LIFETIME, check_logout_token};

use super::{Oidc, OidcError, endpoints::unusable, take};
use crate::identity::hash_secret;

impl Oidc {
    /// Ends the sessions that a logout token names. Returns their number.
    pub async fn log_out(
        &self,
        name: &str,
        token: &str,
        address: IpAddr,
    ) -> Result<usize, OidcError> {
        take(&self.logouts, address)?;
        let provider = self.find_enabled(name).await?;
        let claims = self.verify(&provider, token).await?;
        let now = self.clock.now();
        let expected = ExpectedToken {
            issuer: &provider.issuer,
            client_id: &provider.client_id,
            now,
        };
        let subject = check_logout_token(&claims, expected)
            .map_err(|error| unusable(&provider, error.to_string()))?;
        let hash = hash_secret(&format!("{} {}", provider.issuer, subject.jti));
        // The hash is stored, so that the token is accepted only once. It is kept for twice the
        // lifetime of a token, because the clock of the provider may be ahead.
        let used = (hash, now.plus(LOGOUT_TOKEN_LIFETIME * 2));
        let ended = self.identity.log_out_external(provider.id, subject, used);
        Ok(ended.await?)
    }
}
