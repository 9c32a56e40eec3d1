//! OAuth over HTTP. Browsers open `/authorize`. Apps use `/token`, `/register`, `/revoke` and
//! `/device_authorization`, also apps that run in a browser. `manage` is the JSON API with which
//! users and administrators manage the connected apps. The endpoints for apps answer errors as the
//! standards of OAuth require, and not as `application/problem+json`.

mod authorize;
mod error;
mod issuer;
pub mod manage;
mod metadata;
mod params;
mod token;

pub use authorize::authorize;
pub use error::{OAuthFailure, OAuthResult};
pub use issuer::{challenge, own_origin};
pub use metadata::{authorization_server, protected_resource};
pub use params::Form;
pub use token::{device_authorization, register, revoke, token};

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

/// Headers that let pages of any site read an answer. This is safe, because the routes that send
/// these headers ignore cookies.
const ANY_SITE: [(HeaderName, &str); 4] = [
    (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS"),
    (
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        "authorization, content-type, mcp-protocol-version",
    ),
    (header::ACCESS_CONTROL_MAX_AGE, "600"),
];

/// The answer to a browser that asks whether a page of another site may send a request.
pub async fn preflight() -> Response {
    for_any_site(StatusCode::NO_CONTENT.into_response())
}

fn for_any_site(mut response: Response) -> Response {
    allow_any_site(response.headers_mut());
    response
}

fn allow_any_site(headers: &mut HeaderMap) {
    for (name, value) in ANY_SITE {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
