//! The published addresses and keys of a provider, in a cache.

use std::time::{Duration, Instant};

use serde::Deserialize;
use svc_core::oidc::{
    Claims,
    jose::{ALGORITHMS, JoseError, KeySet, Keys},
};
use svc_store::oidc::providers::ProviderRow;

use super::{Oidc, OidcError, requests::check_address};

/// The addresses and keys of a provider are read again after this time. So a key that the provider
/// withdrew is rejected after this time at the latest.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// For an unknown key id, the keys are read again at most once within this time: any client can
/// send a token with an unknown key id.
const RELOAD_PAUSE: Duration = Duration::from_secs(60);

/// The discovery document (OpenID Connect Discovery 1.0), as far as this server uses it.
#[derive(Clone, Debug, Deserialize)]
pub struct Metadata {
    pub issuer: String,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub jwks_uri: String,
    pub userinfo_endpoint: Option<String>,
    #[serde(default)]
    pub id_token_signing_alg_values_supported: Vec<String>,
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub code_challenge_methods_supported: Option<Vec<String>>,
    pub scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    pub authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    pub backchannel_logout_supported: bool,
}

/// The addresses and keys of a provider.
#[derive(Clone)]
pub(super) struct Known {
    metadata: Metadata,
    keys: Keys,
    read_at: Instant,
    keys_read_at: Instant,
}

impl Known {
    pub(super) fn is_fresh(&self) -> bool {
        self.read_at.elapsed() < FRESH
    }
}

impl Oidc {
    pub(super) async fn metadata(&self, provider: &ProviderRow) -> Result<Metadata, OidcError> {
        Ok(self.known(provider).await?.metadata)
    }

    /// Verifies the signature of a token with the keys of a provider. Reads the keys again if the
    /// token names an unknown key.
    pub(super) async fn verify(
        &self,
        provider: &ProviderRow,
        token: &str,
    ) -> Result<Claims, OidcError> {
        let known = self.known(provider).await?;
        let mut verified = known.keys.verify(token);
        if matches!(verified, Err(JoseError::UnknownKey { .. })) && self.may_reload(provider) {
            let keys = self.read_keys(&known.metadata.jwks_uri).await;
            let keys = keys.map_err(|why| unusable(provider, why))?;
            verified = keys.verify(token);
            if let Some(known) = self.known.lock().get_mut(&provider.id) {
                known.keys = keys;
            }
        }
        verified.map_err(|error| unusable(provider, error.to_string()))
    }

    /// Whether the keys may be read again now. If so, records the time, so that only one of several
    /// concurrent requests reads the keys.
    fn may_reload(&self, provider: &ProviderRow) -> bool {
        match self.known.lock().get_mut(&provider.id) {
            Some(known) if known.keys_read_at.elapsed() >= RELOAD_PAUSE => {
                known.keys_read_at = Instant::now();
                true
            }
            _ => false,
        }
    }

    async fn known(&self, provider: &ProviderRow) -> Result<Known, OidcError> {
        let known = self.known.lock().get(&provider.id).cloned();
        if let Some(known) = known.filter(Known::is_fresh) {
            return Ok(known);
        }
        let read = async {
            let metadata = self.read_metadata(&provider.issuer).await?;
            let keys = self.read_keys(&metadata.jwks_uri).await?;
            Ok((metadata, keys))
        };
        let (metadata, keys) = read.await.map_err(|why: String| unusable(provider, why))?;
        let now = Instant::now();
        let known = Known {
            metadata,
            keys,
            read_at: now,
            // The pause limits reloads for unknown key ids. The first reload needs no pause.
            keys_read_at: now.checked_sub(RELOAD_PAUSE).unwrap_or(now),
        };
        self.known.lock().insert(provider.id, known.clone());
        Ok(known)
    }

    /// Removes a provider from the cache, after it was changed or deleted.
    pub(super) fn forget(&self, provider: svc_core::OidcProviderId) {
        self.known.lock().remove(&provider);
    }

    /// Reads the discovery document. Its issuer must equal the configured issuer byte for byte.
    pub(super) async fn read_metadata(&self, issuer: &str) -> Result<Metadata, String> {
        let address = format!(
            "{}/.well-known/openid-configuration",
            issuer.trim_end_matches('/')
        );
        let metadata: Metadata = self.read_json(&address, None).await?;
        if metadata.issuer != issuer {
            let found: String = metadata.issuer.chars().take(200).collect();
            return Err(format!(
                "its issuer is `{found}`, but `{issuer}` is configured; they must be equal; a slash at the end counts"
            ));
        }
        for address in [
            &metadata.authorization_endpoint,
            &metadata.token_endpoint,
            &metadata.jwks_uri,
        ] {
            check_address(address)?;
        }
        Ok(metadata)
    }

    pub(super) async fn read_keys(&self, address: &str) -> Result<Keys, String> {
        let keys = Keys::from(self.read_json::<KeySet>(address, None).await?);
        match keys.is_empty() {
            true => Err(format!(
                "`{address}` contains no key for one of: {}",
                ALGORITHMS.join(", ")
            )),
            false => Ok(keys),
        }
    }
}

pub(super) fn unusable(provider: &ProviderRow, why: impl Into<String>) -> OidcError {
    OidcError::Provider {
        provider: provider.name.clone(),
        why: why.into(),
    }
}
