//! Sends a browser to a provider, to sign in or to link an account.

use std::{net::IpAddr, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use data_encoding::HEXLOWER;
use svc_core::{SessionId, network::row_network, oidc::is_local_path};
use svc_crypto::{random, sha256};
use svc_protocol::api;
use svc_store::{
    keyed,
    oidc::{self as rows, logins::LoginRow, providers::ProviderRow},
    records,
};

use super::{Oidc, OidcError, take};
use crate::{
    identity::{Caller, hash_secret},
    records::{RecordError, Result},
};

/// How long a user may take to sign in at the provider.
pub const LOGIN_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// The maximum number of sign-ins in progress. Above it, the network with the most sign-ins loses its
/// oldest ones.
const LOGINS_MAX: u32 = 10_000;
const RANDOM_BYTES: usize = 32;

/// The value of the cookie that ties sign-ins to a browser. Without `Debug`: it is a secret.
pub struct BrowserKey(String);

impl BrowserKey {
    /// The key in the cookie of the request, or a new one. Several sign-ins of a browser share one
    /// key, so that two tabs do not disturb each other.
    pub fn presented_or_new(presented: Option<&str>) -> Result<Self> {
        match presented.and_then(Self::presented) {
            Some(key) => Ok(key),
            None => Ok(Self(random_text()?)),
        }
    }

    /// The key in the cookie of the request, if its form is valid.
    pub fn presented(text: &str) -> Option<Self> {
        let is_key = text.len() == 2 * RANDOM_BYTES
            && text
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_key.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A new sign-in: the address to which the browser goes, and the browser's cookie.
pub struct StartedLogin {
    pub redirect_to: String,
    pub browser: BrowserKey,
}

impl Oidc {
    /// Begins a sign-in. `origin` is the address of this server.
    pub async fn start(
        &self,
        (name, origin): (&str, &str),
        return_to: Option<&str>,
        browser: BrowserKey,
        address: IpAddr,
    ) -> Result<StartedLogin, OidcError> {
        take(&self.starts, address)?;
        let return_to = return_to.unwrap_or("/");
        if !is_local_path(return_to) {
            return Err(OidcError::refused(
                "the address to return to must be a path of this server, such as `/account`",
            ));
        }
        self.begin((name, origin), return_to, browser, (address, None))
            .await
    }

    /// Begins to link an account to the user of a session. The user must give the password again. A
    /// user without a password must have signed in recently instead.
    pub async fn start_linking(
        &self,
        caller: &Caller,
        (name, origin): (&str, &str),
        proof: api::IdentityProof,
        browser: BrowserKey,
        address: IpAddr,
    ) -> Result<StartedLogin, OidcError> {
        take(&self.starts, address)?;
        let session = caller.session_id().ok_or_else(|| {
            RecordError::new(
                "session_required",
                "only a signed-in browser can link an account; open the page “Account”",
            )
        })?;
        self.identity.prove(caller, proof.password, address).await?;
        self.begin(
            (name, origin),
            "/account#identities",
            browser,
            (address, Some(session)),
        )
        .await
    }

    async fn begin(
        &self,
        (name, origin): (&str, &str),
        return_to: &str,
        browser: BrowserKey,
        (address, link_session_id): (IpAddr, Option<SessionId>),
    ) -> Result<StartedLogin, OidcError> {
        let provider = self.find_enabled(name).await?;
        let metadata = self.metadata(&provider).await?;
        let (state, nonce, verifier) = (random_text()?, random_text()?, random_text()?);
        let login = LoginRow {
            state_hash: hash_secret(&state),
            browser_hash: hash_secret(browser.as_str()),
            provider_id: provider.id,
            nonce,
            verifier,
            redirect_uri: format!("{origin}/api/auth/oidc/{}/callback", provider.name),
            return_to: return_to.to_owned(),
            link_session_id,
            expires_at: self.clock.now().plus(LOGIN_LIFETIME),
            network: row_network(address),
        };
        let endpoint = &metadata.authorization_endpoint;
        let redirect_to = address_at_provider(endpoint, &provider, &login, &state);
        self.store
            .write(move |tx| {
                records::insert(tx, &login)?;
                keyed::delete_surplus::<LoginRow>(tx, LOGINS_MAX)
            })
            .await?;
        Ok(StartedLogin {
            redirect_to,
            browser,
        })
    }

    pub(super) async fn find_enabled(&self, name: &str) -> Result<ProviderRow, OidcError> {
        let wanted = name.to_owned();
        let found = self
            .store
            .read(move |tx| records::find_named::<ProviderRow>(tx, &(), &wanted))
            .await?;
        found.filter(|provider| provider.enabled).ok_or_else(|| {
            let name: String = name.chars().take(60).collect();
            OidcError::refused(format!(
                "the provider `{name}` does not exist or is switched off"
            ))
        })
    }

    /// The buttons of the sign-in page.
    pub async fn sign_in_options(&self) -> Result<api::SignInOptions> {
        let enabled = self.store.read(rows::providers::list_enabled).await?;
        let option = |provider: ProviderRow| api::SignInOption {
            name: provider.name,
            label: provider.label,
        };
        Ok(api::SignInOptions {
            providers: enabled.into_iter().map(option).collect(),
        })
    }
}

/// The address to which the browser goes: the endpoint of the provider, with the parameters.
fn address_at_provider(
    endpoint: &str,
    provider: &ProviderRow,
    login: &LoginRow,
    state: &str,
) -> String {
    let challenge = URL_SAFE_NO_PAD.encode(sha256(&login.verifier));
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs([
        ("response_type", "code"),
        ("client_id", provider.client_id.as_str()),
        ("redirect_uri", login.redirect_uri.as_str()),
        ("scope", provider.scopes.join(" ").as_str()),
        ("state", state),
        ("nonce", login.nonce.as_str()),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
    ]);
    if login.link_session_id.is_some() {
        // Makes the user sign in at the provider again. Otherwise the account that happens to be
        // signed in there would be linked.
        query.append_pair("prompt", "login");
    }
    let separator = match endpoint.contains('?') {
        true => '&',
        false => '?',
    };
    format!("{endpoint}{separator}{}", query.finish())
}

/// 256 random bits. In hex, they are also a valid PKCE verifier.
fn random_text() -> Result<String> {
    Ok(HEXLOWER.encode(&random::bytes::<RANDOM_BYTES>()?))
}
