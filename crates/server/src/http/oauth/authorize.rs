//! `GET /authorize`: an app sends the browser here. The server redirects the browser to the page
//! where the user allows or denies the access of the app, or back to the app with an error.

use axum::{
    extract::{Extension, OriginalUri},
    response::Response,
};
use http::{HeaderMap, StatusCode};
use svc_core::oauth::Params;

use super::issuer::issuer;
use crate::{
    app::App,
    http::{
        error::ApiResult,
        listen::{Peer, client_address},
        operations::path_not_found,
        plain_page::{ErrorPage, UNAVAILABLE, redirect},
    },
    identity::Caller,
    oauth::{Asked, OAuthError},
};

pub async fn authorize(
    app: App,
    Extension(peer): Extension<Peer>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    caller: Option<Extension<Caller>>,
) -> ApiResult<Response> {
    let issuer = issuer(&app, Some(peer), &headers).ok_or_else(|| path_not_found(&uri))?;
    let address = client_address(peer, &headers, &app.trusted_proxies);
    let params = match Params::parse(uri.query().unwrap_or_default().as_bytes()) {
        Ok(params) => params,
        Err(error) => return Ok(error_page(&error.into())),
    };
    let Some(client_id) = params.get("client_id") else {
        let text = "the parameter `client_id` is missing";
        return Ok(error_page(&OAuthError::refused("invalid_request", text)));
    };
    let app_of_request = (client_id, params.get("redirect_uri"));
    let state = params.get("state");
    let begun = app
        .oauth
        .begin_question(&issuer, app_of_request, state, address);
    let question = match begun.await {
        Ok(question) => question,
        Err(error) => return Ok(error_page(&error)),
    };
    let resources: Vec<_> = params.resources.iter().map(String::as_str).collect();
    let get = |name| params.get(name).unwrap_or_default();
    let asked = Asked {
        response_type: get("response_type"),
        challenge: get("code_challenge"),
        challenge_method: get("code_challenge_method"),
        scope: get("scope"),
        resources: &resources,
    };
    let session = caller.and_then(|Extension(caller)| caller.session_id());
    let target = match app.oauth.ask(&question, asked, session).await {
        Ok(id) => format!("/connect?request={id}"),
        Err(error) => question.refusal(&error),
    };
    Ok(redirect(&target))
}

/// Shown instead of a redirect if the parameters, the app or its redirect address are not accepted,
/// or if the server cannot check them now.
fn error_page(error: &OAuthError) -> Response {
    let status = match error {
        OAuthError::Refused { .. } => StatusCode::BAD_REQUEST,
        OAuthError::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
        OAuthError::Identity(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let reason = match error {
        OAuthError::Identity(_) => UNAVAILABLE.to_owned(),
        other => other.to_string(),
    };
    let page = ErrorPage {
        title: "cannot connect",
        heading: "This app cannot be connected",
        reason: &reason,
        note: "Nothing was shared with the app. You can close this page, or",
        link: ("/", "open svc"),
    };
    page.answer(status)
}
