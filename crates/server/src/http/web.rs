//! The web interface: its files under `/web`, and its one page for every address a browser opens.

use axum::{
    body::Body,
    extract::{OriginalUri, Path, State, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};

use super::{
    error::{ApiError, ApiResult},
    operations::unknown_path,
};
use crate::{app::App, web::Found};

/// The route of whatever has none of its own.
pub const ANY_PATH: &str = "/{*path}";
/// The single page.
const PAGE: &str = "index.html";
/// First parts of paths that are never a page.
const RESERVED: [&str; 7] = ["api", "web", "mcp", "agent", "metrics", "healthz", "readyz"];

/// Nothing from elsewhere, nothing inline, nobody around us.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
const HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // A setup link has its token in the address: it must not travel on.
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    // Asked for each time, and answered with 304: a new server is seen at once.
    (header::CACHE_CONTROL, "no-cache"),
    (header::VARY, "accept-encoding"),
];

pub async fn index(
    State(app): State<App>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
) -> ApiResult<Response> {
    send(&app, PAGE, &uri, &headers).await
}

pub async fn file(
    State(app): State<App>,
    OriginalUri(uri): OriginalUri,
    path: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    // What is no text is no file either.
    let Path(path) = path.map_err(|_| not_found(&uri))?;
    send(&app, &path, &uri, &headers).await
}

/// A browser gets the page, which knows its own addresses; a program gets a problem.
pub async fn any_path(
    State(app): State<App>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
) -> ApiResult<Response> {
    if is_reserved(uri.path()) || !lists(&headers, header::ACCEPT, "text/html") {
        return Err(unknown_path(OriginalUri(uri)).await);
    }
    send(&app, PAGE, &uri, &headers).await
}

/// Whether a path belongs to programs.
pub fn is_reserved(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    first.is_some_and(|first| RESERVED.contains(&first))
}

async fn send(app: &App, path: &str, uri: &Uri, headers: &HeaderMap) -> ApiResult<Response> {
    let Some(found) = app.web.find(path).await else {
        return Err(not_found(uri));
    };
    // Weak: the compressed form is the same file.
    let tag = format!("W/\"{}\"", found.hash);
    let mut response = if lists(headers, header::IF_NONE_MATCH, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        content(found, headers)
    };
    let sent = response.headers_mut();
    sent.insert(
        header::ETAG,
        HeaderValue::try_from(tag).expect("a hash is text of a header"),
    );
    for (name, value) in HEADERS {
        sent.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

fn not_found(uri: &Uri) -> ApiError {
    ApiError::not_found(&format!("`{}`", uri.path()))
}

fn content(found: Found, headers: &HeaderMap) -> Response {
    let content_type = [(header::CONTENT_TYPE, found.media_type)];
    match found.gzip {
        Some(gzip) if lists(headers, header::ACCEPT_ENCODING, "gzip") => (
            content_type,
            [(header::CONTENT_ENCODING, "gzip")],
            Body::from(gzip),
        )
            .into_response(),
        _ => (content_type, Body::from(found.bytes)).into_response(),
    }
}

/// Whether a header's list has an item, and does not give it the weight nought.
fn lists(headers: &HeaderMap, name: HeaderName, wanted: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|item| {
            let mut parts = item.split(';').map(str::trim);
            let is_wanted = parts
                .next()
                .is_some_and(|item| item.eq_ignore_ascii_case(wanted));
            let weight = parts.find_map(|part| part.strip_prefix("q="));
            is_wanted && weight.and_then(|weight| weight.parse().ok()) != Some(0.0)
        })
}
