//! What a provider publishes: its addresses and its keys, kept for a while.

use std::time::{Duration, Instant};

use serde::Deserialize;
use svc_core::oidc::Claims;
use svc_store::oidc::providers::ProviderRow;

use super::{
    Oidc, OidcError,
    jose::{JoseError, KeySet, Keys},
    requests::check_address,
};

/// The addresses and keys of a provider are read again after this time, so a withdrawn key is refused
/// after it.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// Keys are read again for an unknown key id at most once in this time: anybody can write a token with
/// an unknown key id.
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

/// What was read of a provider.
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

    /// Verifies the signature of a token with the keys of a provider, which are read again if the token
    /// names an unknown key.
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

    /// Whether the keys may be read again now. If so, records the time: of many requests at the same
    /// time, only one reads the keys.
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
            // The pause is for unknown key ids: keys that were just read may be reloaded once.
            keys_read_at: now.checked_sub(RELOAD_PAUSE).unwrap_or(now),
        };
        self.known.lock().insert(provider.id, known.clone());
        Ok(known)
    }

    /// Forgets what was read, after a provider was changed or deleted.
    pub(super) fn forget(&self, provider: svc_core::OidcProviderId) {
        self.known.lock().remove(&provider);
    }

    /// Reads the discovery document. Its issuer must be the configured one, to the byte.
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
                "`{address}` contains no key for RS256, PS256, ES256, ES384 or EdDSA"
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
