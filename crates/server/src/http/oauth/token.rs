//! `/token`, `/register`, `/revoke` and `/device_authorization`, for apps.

use std::net::IpAddr;

use axum::{
    extract::{FromRequestParts, Request},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, StatusCode, header, request::Parts};
use svc_core::oauth::Params;
use svc_protocol::document;

use super::{
    error::{OAuthFailure, OAuthResult},
    for_any_site,
    issuer::issuer,
    params::{Form, small_body},
};
use crate::{
    app::App,
    http::{
        error::protect,
        listen::{Peer, client_address},
    },
    oauth::{CodeExchange, NewRegistration, OAuthError, Presented, Refresh},
};

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// The parts that every endpoint for apps needs: the issuer (the URL of this server) and the IP
/// address of the client.
pub struct AppRequest {
    issuer: String,
    address: IpAddr,
}

impl FromRequestParts<App> for AppRequest {
    type Rejection = OAuthFailure;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, OAuthFailure> {
        let peer = parts.extensions.get::<Peer>().copied();
        let issuer = issuer(app, peer, &parts.headers);
        let (Some(peer), Some(issuer)) = (peer, issuer) else {
            let text = "this server does not connect apps by OAuth; for this, an administrator sets `public_url` to an https address and allows OAuth";
            return Err(OAuthFailure::InvalidRequest {
                status: StatusCode::NOT_FOUND,
                description: text.to_owned(),
            });
        };
        let address = client_address(peer, &parts.headers, &app.trusted_proxies);
        Ok(Self { issuer, address })
    }
}

pub async fn token(
    app: App,
    AppRequest { issuer, address }: AppRequest,
    headers: HeaderMap,
    Form(mut params): Form,
) -> OAuthResult<Response> {
    app.oauth.count_token_request(address)?;
    let client = presented(&headers, &mut params)?;
    let issued = match params.require("grant_type")?.as_str() {
        "authorization_code" => {
            let request = CodeExchange {
                client,
                code: params.require("code")?,
                verifier: params.require("code_verifier")?,
                redirect_uri: params.take("redirect_uri"),
                machine: params.take("machine"),
                resources: params.resources,
                issuer,
            };
            app.oauth.exchange_code(request).await?
        }
        "refresh_token" => {
            let request = Refresh {
                client,
                token: params.require("refresh_token")?,
                scope: params.take("scope"),
                resources: params.resources,
                issuer,
            };
            app.oauth.refresh(request).await?
        }
        DEVICE_GRANT => {
            let code = params.require("device_code")?;
            app.oauth.poll_device(client, &code).await?
        }
        other => {
            let other: String = other.chars().take(60).collect();
            let text = format!("the grant type `{other}` is not supported");
            return Err(OAuthError::refused("unsupported_grant_type", text).into());
        }
    };
    Ok(json(StatusCode::OK, &issued))
}

pub async fn register(
    app: App,
    AppRequest { address, .. }: AppRequest,
    request: Request,
) -> OAuthResult<Response> {
    let body = small_body(&app, request).await?;
    let new: NewRegistration = document::read_json(&body).map_err(|error| {
        OAuthError::refused("invalid_client_metadata", format!("in the body: {error}"))
    })?;
    let registered = app.oauth.register(new, address).await;
    let registered = registered.map_err(|error| {
        let is_closed =
            matches!(&error, OAuthError::Refused { code, .. } if *code == "access_denied");
        match is_closed {
            true => OAuthFailure::Closed(error),
            false => OAuthFailure::Refused(error),
        }
    })?;
    Ok(json(StatusCode::CREATED, &registered))
}

/// Ends a token of the app that sends the request. An unknown token is answered with 200 too
/// (RFC 7009, 2.2).
pub async fn revoke(
    app: App,
    AppRequest { address, .. }: AppRequest,
    headers: HeaderMap,
    Form(mut params): Form,
) -> OAuthResult<Response> {
    app.oauth.count_token_request(address)?;
    let client = presented(&headers, &mut params)?;
    let token = params.require("token")?;
    app.oauth.revoke_token(client, &token).await?;
    Ok(for_any_site(StatusCode::OK.into_response()))
}

pub async fn device_authorization(
    app: App,
    AppRequest { issuer, address }: AppRequest,
    headers: HeaderMap,
    Form(mut params): Form,
) -> OAuthResult<Response> {
    let client = presented(&headers, &mut params)?;
    let machine = params.take("machine").unwrap_or_default();
    let started = app
        .oauth
        .start_device(&issuer, (&client.client_id, &machine), address)
        .await?;
    Ok(json(StatusCode::OK, &started))
}

/// The id and the secret of the app: from `Authorization: Basic …` if the header is present,
/// otherwise from the parameters. With the header, a parameter `client_id` must have the same id.
/// An app uses only one of the two ways (RFC 6749, 2.3).
fn presented(headers: &HeaderMap, params: &mut Params) -> Result<Presented, OAuthError> {
    let Some(basic) = headers.get(header::AUTHORIZATION) else {
        return Ok(Presented {
            client_id: params.require("client_id")?,
            secret: params.take("client_secret"),
        });
    };
    let invalid = || {
        let text =
            "the header `Authorization` must be `Basic` with the id and the secret of the app";
        OAuthError::refused("invalid_client", text)
    };
    if params.take("client_secret").is_some() {
        let text = "the secret of the app is in the header `Authorization` and in `client_secret`; send one of them";
        return Err(OAuthError::refused("invalid_request", text));
    }
    let text = basic.to_str().map_err(|_| invalid())?;
    let (scheme, encoded) = text.split_once(' ').ok_or_else(invalid)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(invalid());
    }
    let decoded = STANDARD.decode(encoded.trim()).map_err(|_| invalid())?;
    let decoded = String::from_utf8(decoded).map_err(|_| invalid())?;
    let (id, secret) = decoded.split_once(':').ok_or_else(invalid)?;
    // The app form-encodes the id and the secret before it joins them (RFC 6749, 2.3.1).
    let [client_id, secret] = [id, secret].map(|part| {
        let pair = format!("x={part}");
        let mut pairs = form_urlencoded::parse(pair.as_bytes());
        pairs
            .next()
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    });
    if params.take("client_id").is_some_and(|id| id != client_id) {
        return Err(invalid());
    }
    Ok(Presented {
        client_id,
        secret: (!secret.is_empty()).then_some(secret),
    })
}

/// An answer that may hold a secret: caches must not store it.
fn json(status: StatusCode, body: &impl serde::Serialize) -> Response {
    let mut response = for_any_site((status, axum::Json(body)).into_response());
    protect(response.headers_mut());
    response
}
