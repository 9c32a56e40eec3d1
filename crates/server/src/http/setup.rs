//! The first administrator: the page behind the one-time setup link, and what it sends.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use http::header;
use svc_protocol::api::{Setup, User};

use super::{
    error::ApiResult,
    extract::{Created, Json},
};
use crate::app::App;

const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

pub async fn page() -> Response {
    asset("text/html; charset=utf-8", include_str!("pages/setup.html"))
}

pub async fn script() -> Response {
    asset(
        "text/javascript; charset=utf-8",
        include_str!("pages/setup.js"),
    )
}

pub async fn complete(
    State(app): State<App>,
    Json(setup): Json<Setup>,
) -> ApiResult<Created<User>> {
    Ok(Created(app.identity.set_up(setup).await?))
}

fn asset(content_type: &'static str, body: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        // The link's token is in the address: it must not travel on.
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, body).into_response()
}
