//! Sign-in with OpenID Connect providers over HTTP. Browsers open `start` and `callback`; providers
//! call `backchannel_logout`; the other handlers belong to the JSON API.

use axum::{
    extract::{Extension, OriginalUri, Path},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use svc_core::{OidcIdentityId, OidcProviderId, oauth::Params};
use svc_protocol::api::{
    CredentialQuery, IdentityProof, LinkStarted, LinkedIdentities, NewOidcProvider, OidcCheck,
    OidcProvider, OidcProviderPatch, OidcProviders, SignInOptions,
};

use super::{
    client::Client,
    cookies::{find_browser_key, set_browser_key},
    extract::{Json, WithCookies},
    handlers::handlers,
    oauth::{Form, OAuthFailure, OAuthResult},
    plain_page::{ErrorPage, UNAVAILABLE, redirect},
};
use crate::{
    app::App,
    identity::Caller,
    oauth::OAuthError,
    oidc::{BrowserKey, LOGIN_LIFETIME, OidcError, ProviderAnswer, StartedLogin},
    records::RecordError,
};

handlers! {
    options(app) -> Json<SignInOptions> = app.oidc.sign_in_options().await?;
    link(app, client, caller, segment, body: IdentityProof) -> WithCookies<Json<LinkStarted>> = {
        let (origin, browser) = (origin(&client)?, browser_or_new(&client)?);
        let to = (segment.as_str(), origin);
        let started = app.oidc.start_linking(&caller, to, body, browser, client.address).await?;
        WithCookies {
            cookies: vec![browser_cookie(&client, &started)],
            answer: Json(LinkStarted { redirect_to: started.redirect_to }),
        }
    };
    list_identities(app, caller, query: CredentialQuery) -> Json<LinkedIdentities> =
        app.identity.list_identities(&caller, query.user).await?;
    remove_identity(app, client, caller, id: OidcIdentityId, body: IdentityProof) -> NoContent =
        app.identity.unlink_own_identity(&caller, id, body, client.address).await?;
    delete_identity(app, caller, id: OidcIdentityId) -> NoContent =
        app.identity.unlink_identity(&caller, id).await?;
    list(app, caller, page) -> Json<OidcProviders> = app.oidc.list_providers(caller.user.id, page).await?;
    get(app, caller, id: OidcProviderId) -> Json<OidcProvider> =
        app.oidc.get_provider(caller.user.id, id).await?;
    create(app, caller, body: NewOidcProvider) -> Created<OidcProvider> =
        app.oidc.create_provider(&caller, body).await?;
    patch(app, caller, id: OidcProviderId, body: OidcProviderPatch) -> Json<OidcProvider> =
        app.oidc.patch_provider(&caller, id, body).await?;
    delete(app, caller, id: OidcProviderId) -> NoContent = app.oidc.delete_provider(&caller, id).await?;
    check(app, client, id: OidcProviderId) -> Json<OidcCheck> =
        app.oidc.check(id, client.origin.as_deref(), client.address).await?;
}

/// `GET /api/auth/oidc/{name}/start`: a link of the sign-in page.
pub async fn start(
    app: App,
    client: Client,
    OriginalUri(uri): OriginalUri,
    Path(name): Path<String>,
) -> Response {
    let started = async {
        let params = Params::parse(uri.query().unwrap_or_default().as_bytes())
            .map_err(|error| OidcError::Refused(error.to_string()))?;
        let (origin, browser) = (origin(&client)?, browser_or_new(&client)?);
        let to = (name.as_str(), origin);
        app.oidc
            .start(to, params.get("return_to"), browser, client.address)
            .await
    };
    match started.await {
        Ok(started) => {
            let mut response = redirect(&started.redirect_to);
            let cookie = browser_cookie(&client, &started);
            response.headers_mut().append(header::SET_COOKIE, cookie);
            response
        }
        Err(error) => error_page(&error),
    }
}

/// `GET /api/auth/oidc/{name}/callback`: the provider sends the browser here.
pub async fn callback(
    app: App,
    client: Client,
    OriginalUri(uri): OriginalUri,
    caller: Option<Extension<Caller>>,
    Path(name): Path<String>,
) -> Response {
    let mut params = match Params::parse(uri.query().unwrap_or_default().as_bytes()) {
        Ok(params) => params,
        Err(error) => return error_page(&OidcError::Refused(error.to_string())),
    };
    let answer = ProviderAnswer {
        state: params.take("state"),
        code: params.take("code"),
        issuer: params.take("iss"),
        error: params.take("error"),
        error_description: params.take("error_description"),
    };
    let caller = caller.map(|Extension(caller)| caller);
    let browser = presented_key(&client).and_then(BrowserKey::presented);
    let finishing = app
        .oidc
        .finish(&name, answer, browser, caller.as_ref(), client.details());
    let done = match finishing.await {
        Ok(done) => done,
        Err(error) => return error_page(&error),
    };
    let mut response = redirect(&done.return_to);
    if let Some(session) = done.session {
        for cookie in client.logged_in(&app, &session).cookies {
            response.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
    response
}

/// `POST /api/auth/oidc/{name}/backchannel-logout`: the provider reports that a user signed out
/// there.
pub async fn backchannel_logout(
    app: App,
    client: Client,
    Path(name): Path<String>,
    Form(mut params): Form,
) -> OAuthResult<Response> {
    let token = params.require("logout_token")?;
    let ended = app.oidc.log_out(&name, &token, client.address).await;
    ended.map_err(|error| {
        // Beyond the limit of the network, any client decides how many lines there would be.
        if !matches!(error, OidcError::TooMany { .. }) {
            tracing::warn!(provider = %name, "a logout by the provider was refused: {error}");
        }
        OAuthFailure::from(match error {
            OidcError::TooMany { retry_after } => OAuthError::TooMany { retry_after },
            OidcError::Identity(error @ RecordError::Store(_)) => OAuthError::Identity(error),
            error => OAuthError::refused("invalid_request", error.to_string()),
        })
    })?;
    let no_store = [(header::CACHE_CONTROL, "no-store")];
    Ok((StatusCode::OK, no_store).into_response())
}

fn origin(client: &Client) -> Result<&str, OidcError> {
    client.origin.as_deref().ok_or_else(|| {
        let text = "this server does not know its own https address; an administrator sets it with `public_url` (SVC_PUBLIC_URL)";
        OidcError::Refused(text.to_owned())
    })
}

/// The cookie that ties sign-ins to the browser.
fn presented_key(client: &Client) -> Option<&str> {
    find_browser_key(&client.headers, client.is_secure)
}

fn browser_or_new(client: &Client) -> Result<BrowserKey, RecordError> {
    BrowserKey::presented_or_new(presented_key(client))
}

fn browser_cookie(client: &Client, started: &StartedLogin) -> HeaderValue {
    let age = LOGIN_LIFETIME.as_secs();
    set_browser_key(started.browser.as_str(), age, client.is_secure)
}

/// Codes of refusals because of the state of a record.
const CONFLICTS: [&str; 4] = [
    "identity_linked",
    "name_taken",
    "provider_changed",
    "too_many_identities",
];

fn error_page(error: &OidcError) -> Response {
    let (status, reason) = match error {
        OidcError::Refused(why) => (StatusCode::BAD_REQUEST, why.clone()),
        OidcError::Provider { .. } => (StatusCode::BAD_GATEWAY, error.to_string()),
        OidcError::TooMany { .. } => (StatusCode::TOO_MANY_REQUESTS, error.to_string()),
        OidcError::Identity(RecordError::Store(_) | RecordError::Internal(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE.to_owned())
        }
        OidcError::Identity(error) if CONFLICTS.contains(&error.code()) => {
            (StatusCode::CONFLICT, error.to_string())
        }
        OidcError::Identity(error) => (StatusCode::FORBIDDEN, error.to_string()),
    };
    let page = ErrorPage {
        title: "cannot sign in",
        heading: "You are not signed in",
        reason: &reason,
        note: "To try again, or to use a password,",
        link: ("/login", "open the sign-in page"),
    };
    page.answer(status)
}
