//! Stores the authorization request of an app, and the answer of the user.

use std::{net::IpAddr, time::Duration};

use serde_json::json;
use svc_core::{
    ConsentId, Permission, SessionId,
    credential::CredentialKind,
    network::row_network,
    oauth::{OAuthScope, OAuthScopes, RedirectUri, is_verifier},
};
use svc_crypto::random;
use svc_protocol::api;
use svc_store::{
    Tx, keyed,
    oauth::{self as rows, clients::ClientRow, codes::CodeRow, consents::ConsentRow},
    oidc::grants as oidc_grants,
    records,
};
use uuid::Uuid;

use super::{
    OAuth, clients::summary, error::OAuthError, known_apps::COMMAND_LINE, resource::Resource, take,
};
use crate::{
    identity::{Caller, Secret},
    records::{RecordError, Result},
};

/// The user must answer within this time.
const ANSWER_TIME: Duration = Duration::from_secs(10 * 60);
/// The app must exchange the code within this time.
const CODE_LIFETIME: Duration = Duration::from_secs(60);
/// The maximum number of authorization requests that wait for an answer. Beyond it, the network with
/// the most requests loses its oldest ones.
const QUESTIONS_MAX: u32 = 10_000;
/// The maximum number of codes of one user, including used codes. Beyond it, a new code replaces
/// the oldest one.
const CODES_PER_USER: u32 = 100;
/// The maximum bytes of `state`.
const STATE_MAX: usize = 4 * 1024;

/// An authorization request whose app and redirect address were checked.
pub struct Question {
    client: ClientRow,
    redirect_uri: String,
    issuer: String,
    state: Option<String>,
    /// The address of the client.
    address: IpAddr,
}

impl Question {
    /// The redirect address of the app, with the error as parameters.
    pub fn refusal(&self, error: &OAuthError) -> String {
        let (code, description) = match error {
            OAuthError::Refused { code, description } => (*code, description.as_str()),
            OAuthError::TooMany { .. } => ("temporarily_unavailable", "too many requests"),
            OAuthError::Identity(_) => ("server_error", "the server could not answer"),
        };
        let fields = [("error", code), ("error_description", description)];
        answer_address(
            &self.redirect_uri,
            &self.issuer,
            self.state.as_deref(),
            &fields,
        )
    }
}

/// The parameters of `/authorize` that a [`Question`] does not contain.
pub struct Asked<'a> {
    pub response_type: &'a str,
    pub challenge: &'a str,
    pub challenge_method: &'a str,
    pub scope: &'a str,
    pub resources: &'a [&'a str],
}

impl OAuth {
    /// Checks the app and its redirect address. An error is shown to the user, not sent to the app:
    /// the browser is never sent to an address that the app did not list.
    pub async fn begin_question(
        &self,
        issuer: &str,
        (client_id, redirect_uri): (&str, Option<&str>),
        state: Option<&str>,
        address: IpAddr,
    ) -> Result<Question, OAuthError> {
        take(&self.questions, address)?;
        let client = self.find_client(client_id, address).await?;
        let only = match client.redirect_uris.as_slice() {
            [only] => Some(only.as_str()),
            _ => None,
        };
        let redirect_uri = redirect_uri.or(only).ok_or_else(|| {
            OAuthError::refused("invalid_request", "the parameter `redirect_uri` is missing")
        })?;
        let invalid = |why: &str| {
            let text = format!("the address `{redirect_uri}` is refused: {why}");
            OAuthError::refused("invalid_request", text)
        };
        let presented =
            RedirectUri::parse(redirect_uri).map_err(|error| invalid(&error.to_string()))?;
        let is_listed = client.redirect_uris.iter().any(|listed| {
            RedirectUri::parse(listed).is_ok_and(|listed| listed.permits(&presented))
        });
        if !is_listed {
            return Err(invalid("the app did not list it"));
        }
        if state.is_some_and(|state| state.len() > STATE_MAX) {
            let text = format!("`state` has more than {STATE_MAX} bytes");
            return Err(OAuthError::refused("invalid_request", text));
        }
        Ok(Question {
            redirect_uri: redirect_uri.to_owned(),
            issuer: issuer.to_owned(),
            state: state.map(str::to_owned),
            client,
            address,
        })
    }

    /// Stores an authorization request until the user answers.
    pub async fn ask(
        &self,
        question: &Question,
        asked: Asked<'_>,
        session: Option<SessionId>,
    ) -> Result<ConsentId, OAuthError> {
        let invalid = |text: &str| OAuthError::refused("invalid_request", text);
        if asked.response_type != "code" {
            return Err(OAuthError::refused(
                "unsupported_response_type",
                "`response_type` must be `code`",
            ));
        }
        if asked.challenge_method != "S256" || !is_verifier(asked.challenge) {
            return Err(invalid(
                "PKCE is required: send `code_challenge` with `code_challenge_method=S256`",
            ));
        }
        let resource = match asked.resources {
            [] => Resource::default_of(&question.issuer),
            [one] => Resource::parse(one, &question.issuer).ok_or_else(|| foreign_resource(one))?,
            _ => {
                let text = "only one `resource` is supported";
                return Err(OAuthError::refused("invalid_target", text));
            }
        };
        let scopes = match question.client.client_id == COMMAND_LINE {
            true => OAuthScopes::command_line(),
            false => OAuthScopes::choose(asked.scope),
        };
        let consent = ConsentRow {
            id: random_id()?,
            client_id: question.client.id,
            redirect_uri: question.redirect_uri.clone(),
            state: question.state.clone(),
            challenge: asked.challenge.to_owned(),
            scopes,
            resource: resource.as_str().to_owned(),
            issuer: question.issuer.clone(),
            session_id: session,
            expires_at: self.clock.now().plus(ANSWER_TIME),
            network: row_network(question.address),
        };
        let id = consent.id;
        self.store
            .write(move |tx| {
                records::insert(tx, &consent)?;
                keyed::delete_surplus::<ConsentRow>(tx, QUESTIONS_MAX)
            })
            .await?;
        Ok(id)
    }

    /// The authorization request for the consent page. Only one session may read and answer the
    /// request: the session in which the browser sent it. If the browser was not signed in then, or
    /// if that session has ended, the next session that reads the request takes its place.
    pub async fn find_consent(&self, caller: &Caller, id: ConsentId) -> Result<api::Consent> {
        let now = self.clock.now();
        self.identity
            .change(caller, move |tx, caller| {
                let session = session_of(caller)?;
                rows::consents::bind(tx, id, session)?;
                let (consent, client) = open_consent(tx, id, session, now)?;
                let shown = shown(&consent, &client, caller);
                Ok(shown)
            })
            .await
    }

    /// Records the answer of the user. Returns the address to which the browser goes.
    pub async fn decide(&self, caller: &Caller, id: ConsentId, approve: bool) -> Result<String> {
        let now = self.clock.now();
        let code = Secret::new(CredentialKind::AuthorizationCode)?;
        let (hash, text) = (code.hash, code.text);
        let action = match approve {
            true => "oauth.granted",
            false => "oauth.denied",
        };
        self.identity
            .change(caller, move |tx, caller| {
                let session = session_of(caller)?;
                let (consent, client) = open_consent(tx, id, session, now)?;
                keyed::delete::<ConsentRow>(tx, &id)?;
                let address = RedirectUri::parse(&consent.redirect_uri)
                    .map_err(|error| RecordError::Internal(error.to_string()))?;
                let detail = json!({
                    "name": client.name, "client_id": client.client_id, "scopes": consent.scopes,
                    "redirect_host": address.shown_host(),
                });
                let fields = if approve {
                    if let Some(missing) = missing_permission(&consent.scopes, caller) {
                        return Err(RecordError::new(
                            "permission_denied",
                            format!("your account lacks the permission `{missing}`"),
                        ));
                    }
                    records::insert(
                        tx,
                        &CodeRow {
                            hash,
                            user_id: caller.user.id,
                            client_id: client.id,
                            redirect_uri: consent.redirect_uri.clone(),
                            challenge: consent.challenge.clone(),
                            scopes: consent.scopes.clone(),
                            resource: consent.resource.clone(),
                            expires_at: now.plus(CODE_LIFETIME),
                            used_at: None,
                            grant_id: None,
                            token_id: None,
                        },
                    )?;
                    rows::codes::delete_oldest_of_user(tx, caller.user.id, CODES_PER_USER)?;
                    if let Some(login) = oidc_grants::find_login(tx, session)? {
                        let expires_at = now.plus(CODE_LIFETIME);
                        oidc_grants::insert_pending(tx, &hash, login, expires_at)?;
                    }
                    [("code", text.as_str())]
                } else {
                    [("error", "access_denied")]
                };
                tx.audit(caller, action, ("oauth_client", client.id), detail)?;
                let state = consent.state.as_deref();
                let target = answer_address(&consent.redirect_uri, &consent.issuer, state, &fields);
                Ok(target)
            })
            .await
    }
}

/// Returns the session of the caller. Only a user in a browser may answer: a token could belong to
/// the app itself.
pub fn session_of(caller: &Caller) -> Result<SessionId> {
    caller.session_id().ok_or_else(|| {
        RecordError::new(
            "session_required",
            "only a signed-in browser may answer this; open the page in a browser",
        )
    })
}

/// The authorization request and its app, if the request is open and belongs to this session.
fn open_consent(
    tx: &mut Tx<'_>,
    id: ConsentId,
    session: SessionId,
    now: svc_core::Timestamp,
) -> Result<(ConsentRow, ClientRow)> {
    let not_found = || RecordError::not_found("request", id);
    let consent = keyed::find::<ConsentRow>(tx, &id)?
        .filter(|consent| consent.session_id == Some(session) && consent.expires_at > now)
        .ok_or_else(not_found)?;
    let client = records::find::<ClientRow>(tx, consent.client_id)?
        .filter(|client| !client.blocked)
        .ok_or_else(not_found)?;
    Ok((consent, client))
}

/// The permission that the user needs for these scopes and does not have.
fn missing_permission(scopes: &OAuthScopes, caller: &Caller) -> Option<Permission> {
    (scopes.contains(OAuthScope::Mcp) && !caller.may(Permission::UseMcp))
        .then_some(Permission::UseMcp)
}

fn shown(consent: &ConsentRow, client: &ClientRow, caller: &Caller) -> api::Consent {
    let redirect = RedirectUri::parse(&consent.redirect_uri).ok();
    api::Consent {
        id: consent.id,
        app: summary(client),
        scopes: consent.scopes.clone(),
        redirect_host: redirect
            .as_ref()
            .map(|uri| uri.shown_host().to_owned())
            .unwrap_or_default(),
        redirect_is_local: redirect.is_some_and(|uri| uri.is_loopback()),
        missing_permission: missing_permission(&consent.scopes, caller)
            .map(|permission| permission.to_string()),
        expires_at: consent.expires_at,
    }
}

/// A fully random id, so that the address of the page cannot be guessed.
fn random_id() -> Result<ConsentId> {
    Ok(ConsentId(Uuid::from_bytes(random::bytes()?)))
}

pub fn foreign_resource(resource: &str) -> OAuthError {
    let resource: String = resource.chars().take(200).collect();
    OAuthError::refused(
        "invalid_target",
        format!("the resource `{resource}` does not belong to this server"),
    )
}

/// The redirect address of an app, with the answer as parameters. `iss` is in every answer (RFC
/// 9207).
fn answer_address(
    redirect_uri: &str,
    issuer: &str,
    state: Option<&str>,
    fields: &[(&str, &str)],
) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(fields);
    if let Some(state) = state {
        query.append_pair("state", state);
    }
    query.append_pair("iss", issuer);
    let query = query.finish();
    match RedirectUri::parse(redirect_uri) {
        Ok(uri) => uri.with_query(&query),
        Err(_) => redirect_uri.to_owned(),
    }
}
