//! The web interface: its files under `/web`, and its single page for other paths that a browser
//! opens.

use axum::{
    body::Body,
    extract::{OriginalUri, Path, rejection::PathRejection},
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};

use super::{error::ApiResult, operations::path_not_found};
use crate::{app::App, web::WebAsset};

/// The catch-all route.
pub const ANY_PATH: &str = "/{*path}";
/// The file of the single page.
const PAGE: &str = "index.html";
/// First segments of paths for which the catch-all route never sends the page.
const RESERVED: [&str; 14] = [
    "api",
    "web",
    "in",
    "mcp",
    "agent",
    "metrics",
    "healthz",
    "readyz",
    ".well-known",
    "authorize",
    "token",
    "register",
    "revoke",
    "device_authorization",
];

/// The page loads nothing from other hosts and runs nothing inline, and no other page may embed it.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
const HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // The address of a setup link contains its token, which must not leak to other sites.
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
    // Browsers ask each time whether a file has changed, so they use a new version at once. Mostly
    // the answer is 304. `send` replaces this value for files with their version in the address.
    (header::CACHE_CONTROL, "no-cache"),
    (header::VARY, "accept-encoding"),
];

pub async fn index(
    app: App,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
) -> ApiResult<Response> {
    send(&app, PAGE, &uri, &headers).await
}

pub async fn file(
    app: App,
    OriginalUri(uri): OriginalUri,
    path: Result<Path<String>, PathRejection>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    // A path that is not UTF-8 names no file.
    let Path(path) = path.map_err(|_| path_not_found(&uri))?;
    send(&app, &path, &uri, &headers).await
}

/// A browser gets the page, whose scripts choose what to show for the path. Other programs get a
/// 404 in JSON.
pub async fn any_path(
    app: App,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
) -> ApiResult<Response> {
    if is_reserved(uri.path()) || !list_contains(&headers, header::ACCEPT, "text/html") {
        return Err(path_not_found(&uri));
    }
    send(&app, PAGE, &uri, &headers).await
}

/// Whether the catch-all route never sends the page for this path.
pub fn is_reserved(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    first.is_some_and(|first| RESERVED.contains(&first))
}

async fn send(app: &App, path: &str, uri: &Uri, headers: &HeaderMap) -> ApiResult<Response> {
    let Some(found) = app.web.find(path).await else {
        return Err(path_not_found(uri));
    };
    // A weak ETag, because the compressed and the plain form share the tag.
    let tag = format!("W/\"{}\"", found.hash);
    let is_immutable = found.is_immutable;
    let mut response = if list_contains(headers, header::IF_NONE_MATCH, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        content(found, headers)
    };
    let sent = response.headers_mut();
    sent.insert(
        header::ETAG,
        HeaderValue::try_from(tag).expect("a hash is text of a header"),
    );
    protect_page(sent);
    if is_immutable {
        sent.insert(header::CACHE_CONTROL, HeaderValue::from_static(IMMUTABLE));
    }
    Ok(response)
}

/// Sets the headers of every page.
pub fn protect_page(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

fn content(found: WebAsset, headers: &HeaderMap) -> Response {
    let content_type = [(header::CONTENT_TYPE, found.media_type)];
    match found.gzip {
        Some(gzip) if list_contains(headers, header::ACCEPT_ENCODING, "gzip") => (
            content_type,
            [(header::CONTENT_ENCODING, "gzip")],
            Body::from(gzip),
        )
            .into_response(),
        _ => (content_type, Body::from(found.bytes)).into_response(),
    }
}

/// Whether a header, which is a list separated by commas, contains `wanted` with a weight other
/// than 0.
fn list_contains(headers: &HeaderMap, name: HeaderName, wanted: &str) -> bool {
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
