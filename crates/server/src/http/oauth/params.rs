//! Forms with the parameters of OAuth.

use axum::extract::{FromRequest, Request};
use http::{StatusCode, header};
use svc_core::oauth::Params;

use super::error::OAuthFailure;
use crate::{
    app::App,
    http::{connections::Slot, error::ApiError, extract::read_body},
    limits::Account,
    oauth::OAuthError,
};

const FORM_BYTES_MAX: usize = 16 * 1024;
const FORM_TIME_MAX: std::time::Duration = std::time::Duration::from_secs(10);

/// The parameters of a request, read from a form body.
pub struct Form(pub Params);

impl FromRequest<App> for Form {
    type Rejection = OAuthFailure;

    async fn from_request(request: Request, app: &App) -> Result<Self, OAuthFailure> {
        let content_type = request.headers().get(header::CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let essence = content_type.and_then(|value| value.split(';').next());
        if !essence.is_some_and(|it| it.trim().eq_ignore_ascii_case(FORM)) {
            let text = format!("send the parameters as `Content-Type: {FORM}`");
            return Err(OAuthError::refused("invalid_request", text).into());
        }
        let body = small_body(app, request).await?;
        Ok(Self(Params::parse(&body)?))
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

/// Reads the body of a request that needs no credential.
pub async fn small_body(app: &App, request: Request) -> Result<bytes::Bytes, OAuthFailure> {
    let slot = request.extensions().get::<std::sync::Arc<Slot>>();
    let account = Account::Connection(slot.map_or(0, |slot| slot.id()));
    let (parts, body) = request.into_parts();
    let read = read_body(body, FORM_BYTES_MAX, FORM_TIME_MAX, (&app.bodies, account)).await;
    let read = read.map(|read| read.into_bytes_of(&parts.extensions));
    read.map_err(|error: ApiError| {
        let status = error.status();
        OAuthFailure::InvalidRequest {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST),
            description: error.detail().to_owned(),
        }
    })
}
