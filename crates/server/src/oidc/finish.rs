//! Handles the answer that a browser brings from a provider.

use std::net::IpAddr;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::StatusCode;
use serde::Deserialize;
use svc_core::oidc::{ClaimValues, Claims, ExpectedToken, check_id_token, find_values};
use svc_store::oidc::{self as rows, logins::LoginRow, providers::ProviderRow};

use super::{
    Oidc, OidcError,
    endpoints::{Metadata, unusable},
    start::BrowserKey,
    take,
};
use crate::identity::{Caller, ClientDetails, ExternalAccount, NewSession, hash_secret};

/// The parameters of the answer.
#[derive(Default)]
pub struct ProviderAnswer {
    pub state: Option<String>,
    pub code: Option<String>,
    /// The parameter `iss` (RFC 9207).
    pub issuer: Option<String>,
    pub error: Option<String>,
    pub error_description: Option<String>,
}

/// The result of a sign-in, and the address to which the browser goes.
pub struct SignedIn {
    /// `None` if an account was linked.
    pub session: Option<NewSession>,
    pub return_to: String,
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: Option<String>,
    access_token: Option<String>,
}

#[derive(Deserialize)]
struct TokenFailure {
    error: Option<String>,
    error_description: Option<String>,
}

impl Oidc {
    /// Completes a sign-in. If a user began it in order to link an account, links the account.
    pub async fn finish(
        &self,
        name: &str,
        answer: ProviderAnswer,
        browser: Option<BrowserKey>,
        caller: Option<&Caller>,
        client: ClientDetails,
    ) -> Result<SignedIn, OidcError> {
        let (provider, login) = self
            .take_login(name, &answer, browser, client.address)
            .await?;
        let account = self.exchange(&provider, &login, answer).await;
        let account = account.inspect_err(|error| {
            tracing::warn!(provider = %provider.name, "a sign-in with a provider failed: {error}");
        })?;
        let session = match (login.link_session_id, caller) {
            (Some(began), Some(caller)) => {
                self.identity.link_external(caller, began, account).await?;
                None
            }
            (Some(_), None) => {
                return Err(OidcError::refused(
                    "you were signed out meanwhile; sign in and link the account again",
                ));
            }
            (None, _) => Some(self.identity.log_in_external(account, client).await?),
        };
        Ok(SignedIn {
            session,
            return_to: login.return_to,
        })
    }

    /// Uses up the sign-in to which the answer belongs. The sign-in must have begun in this
    /// browser.
    async fn take_login(
        &self,
        name: &str,
        answer: &ProviderAnswer,
        browser: Option<BrowserKey>,
        address: IpAddr,
    ) -> Result<(ProviderRow, LoginRow), OidcError> {
        take(&self.answers, address)?;
        let unknown = || {
            OidcError::refused(
                "this sign-in did not begin in this browser, was completed already, or took longer than 10 minutes; sign in again",
            )
        };
        let provider = self.find_enabled(name).await?;
        let state = hash_secret(answer.state.as_deref().unwrap_or_default());
        let browser = hash_secret(browser.ok_or_else(unknown)?.as_str());
        let login = self
            .store
            .write(move |tx| rows::logins::take(tx, &state, &browser))
            .await?;
        let now = self.clock.now();
        let login =
            login.filter(|login| login.provider_id == provider.id && now < login.expires_at);
        Ok((provider, login.ok_or_else(unknown)?))
    }

    /// Exchanges the code of the answer for tokens, and checks the claims about the user.
    async fn exchange(
        &self,
        provider: &ProviderRow,
        login: &LoginRow,
        answer: ProviderAnswer,
    ) -> Result<ExternalAccount, OidcError> {
        let metadata = self.metadata(provider).await?;
        check_answer_issuer(provider, &metadata, answer.issuer.as_deref())?;
        if let Some(error) = answer.error {
            let description = answer.error_description.unwrap_or_default();
            let said: String = format!("{error} {description}").chars().take(300).collect();
            let said = said.trim_end();
            return Err(OidcError::refused(format!(
                "{} did not sign you in: {said}",
                provider.label
            )));
        }
        let code = answer
            .code
            .ok_or_else(|| unusable(provider, "its answer has no `code`"))?;
        let tokens = self
            .exchange_code(provider, &metadata, login, &code)
            .await?;
        let id_token = tokens
            .id_token
            .ok_or_else(|| unusable(provider, "it sent no id_token; is the scope `openid` set?"))?;
        let mut claims = self.verify(provider, &id_token).await?;
        let expected = ExpectedToken {
            issuer: &provider.issuer,
            client_id: &provider.client_id,
            now: self.clock.now(),
        };
        let subject = check_id_token(&claims, expected, &login.nonce)
            .map_err(|error| unusable(provider, error.to_string()))?;
        if needs_more(provider, &claims)
            && let (Some(address), Some(token)) = (&metadata.userinfo_endpoint, tokens.access_token)
        {
            let more = self.read_user(provider, address, &token, &subject.sub);
            for (name, value) in more.await? {
                // The claims of the signed token have priority.
                claims.entry(name).or_insert(value);
            }
        }
        Ok(ExternalAccount {
            provider: provider.clone(),
            sub: subject.sub,
            sid: subject.sid,
            claims,
        })
    }

    async fn exchange_code(
        &self,
        provider: &ProviderRow,
        metadata: &Metadata,
        login: &LoginRow,
        code: &str,
    ) -> Result<TokenAnswer, OidcError> {
        let fields = [
            ("code", code),
            ("redirect_uri", &login.redirect_uri),
            ("code_verifier", &login.verifier),
        ];
        let (status, body) = self.send_code(provider, metadata, &fields).await?;
        if status != StatusCode::OK {
            let failure = serde_json::from_slice(&body);
            let failure = failure.unwrap_or(TokenFailure {
                error: None,
                error_description: None,
            });
            let said = [failure.error, failure.error_description];
            let said: Vec<_> = said.into_iter().flatten().collect();
            let said: String = said.join(", ").chars().take(300).collect();
            let advice = match status.is_client_error() {
                true => "; compare the client id and the client secret",
                false => "; try again later",
            };
            let status = status.as_u16();
            let why = format!("it refused the code with status {status}: {said}{advice}");
            return Err(unusable(provider, why));
        }
        serde_json::from_slice(&body)
            .map_err(|error| unusable(provider, format!("its tokens cannot be read: {error}")))
    }

    /// Sends a code that cannot exist, to find out whether the provider knows the client. Returns
    /// the status and the error.
    pub(super) async fn try_code(
        &self,
        provider: &ProviderRow,
        metadata: &Metadata,
    ) -> Result<(StatusCode, Option<String>), OidcError> {
        let fields = [
            ("code", "svc-check"),
            ("redirect_uri", "https://svc.invalid/check"),
            (
                "code_verifier",
                "svc-check-svc-check-svc-check-svc-check-svc-check",
            ),
        ];
        let (status, body) = self.send_code(provider, metadata, &fields).await?;
        let failure: Option<TokenFailure> = serde_json::from_slice(&body).ok();
        let error = failure.and_then(|failure| failure.error);
        Ok((status, error.map(|error| error.chars().take(60).collect())))
    }

    /// Sends a request for tokens, with the credentials of the client.
    async fn send_code(
        &self,
        provider: &ProviderRow,
        metadata: &Metadata,
        fields: &[(&str, &str)],
    ) -> Result<(StatusCode, Vec<u8>), OidcError> {
        let secret = self.client_secret(provider)?;
        let id = ("client_id", provider.client_id.as_str());
        let mut fields = [&[("grant_type", "authorization_code")], fields].concat();
        let mut authorization = None;
        match &secret {
            Some(secret) if uses_basic(metadata) => {
                authorization = Some(basic(&provider.client_id, secret));
            }
            Some(secret) => fields.extend([id, ("client_secret", secret)]),
            None => fields.push(id),
        }
        let form = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let sent = self.send(&metadata.token_endpoint, authorization, Some(form));
        sent.await.map_err(|why| unusable(provider, why))
    }

    /// Reads further claims about the user, which are not in the token.
    async fn read_user(
        &self,
        provider: &ProviderRow,
        address: &str,
        access_token: &str,
        sub: &str,
    ) -> Result<Claims, OidcError> {
        let bearer = Some(format!("Bearer {access_token}"));
        let claims: Claims = self
            .read_json(address, bearer)
            .await
            .map_err(|why| unusable(provider, why))?;
        // OpenID Connect Core 5.3.2 requires this check: the provider could answer with the claims
        // of another user.
        match claims.get("sub").and_then(serde_json::Value::as_str) == Some(sub) {
            true => Ok(claims),
            false => Err(unusable(provider, "its user info is about another user")),
        }
    }
}

/// Whether the token lacks claims that this server uses.
fn needs_more(provider: &ProviderRow, claims: &Claims) -> bool {
    let groups = provider.groups_claim.iter();
    let used = groups.chain(provider.required_claims.keys());
    let lacks = |claim: &String| !matches!(find_values(claims, claim), ClaimValues::Known(_));
    !claims.contains_key("preferred_username") || used.into_iter().any(lacks)
}

/// Checks that the answer comes from this provider and not from another one (RFC 9207). An answer
/// without an issuer is accepted if the provider does not promise to name it.
fn check_answer_issuer(
    provider: &ProviderRow,
    metadata: &Metadata,
    issuer: Option<&str>,
) -> Result<(), OidcError> {
    match issuer {
        Some(issuer) if issuer == provider.issuer => Ok(()),
        None if !metadata.authorization_response_iss_parameter_supported => Ok(()),
        _ => Err(OidcError::refused(
            "the answer did not come from the provider that was asked; sign in again",
        )),
    }
}

/// `client_secret_basic` is the default of the standard for a provider that names no methods.
fn uses_basic(metadata: &Metadata) -> bool {
    let methods = metadata.token_endpoint_auth_methods_supported.as_ref();
    methods.is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"))
}

/// The header `Authorization`. The id and the secret are form-encoded first (RFC 6749, 2.3.1).
fn basic(client_id: &str, secret: &str) -> String {
    let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encode(client_id), encode(secret));
    format!("Basic {}", STANDARD.encode(pair))
}
