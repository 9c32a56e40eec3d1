//! What programs of the space reach over loopback TCP, without a credential.
//!
//! Any page in a browser on this machine can send requests here. So the `Host` must be a
//! loopback one (against DNS rebinding), nothing with an `Origin` is served, and a body must be
//! declared as JSON, which a form cannot.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Request, rejection::BytesRejection},
    middleware::{self, Next},
    response::Response,
    routing::{get, post},
};
use http::{
    HeaderMap, StatusCode, Uri,
    header::{CONTENT_TYPE, HOST, ORIGIN},
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::problem::Failure;

/// Bytes of an event's payload (DECISIONS 7).
const PAYLOAD_BYTES_MAX: usize = 256 * 1024;
/// The payload, its type, and the JSON around them.
const BODY_BYTES_MAX: usize = PAYLOAD_BYTES_MAX + 1024;
const EVENT_TYPE_MAX: usize = 128;

pub fn router() -> Router {
    Router::new()
        .route("/event", post(emit))
        .route("/packages/{*name}", get(package))
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(guard))
}

/// Stands before every route, known or not.
async fn guard(request: Request<Body>, next: Next) -> Result<Response, Failure> {
    check_source(request.uri(), request.headers())?;
    Ok(next.run(request).await)
}

fn check_source(uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().unwrap_or_default(),
        _ => "",
    };
    let target = uri.authority().map_or(host, |authority| authority.as_str());
    if !is_loopback(host) || !is_loopback(target) {
        return Err(Failure::new(
            StatusCode::FORBIDDEN,
            "foreign_host",
            "the agent answers to loopback names only: use `127.0.0.1`, `localhost` or `[::1]`",
        ));
    }
    if headers.contains_key(ORIGIN) {
        return Err(Failure::new(
            StatusCode::FORBIDDEN,
            "foreign_origin",
            "the agent does not serve web pages: send no `Origin` header",
        ));
    }
    Ok(())
}

/// Whether a `Host` is this machine, whatever its port.
fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let Some((address, after)) = rest.split_once(']') else {
                return false;
            };
            let is_local = address.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback());
            return is_local && (after.is_empty() || is_port(after.strip_prefix(':')));
        }
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    let is_local = name.eq_ignore_ascii_case("localhost")
        || name.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback());
    is_local && (port.is_none() || is_port(port))
}

fn is_port(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.parse::<u16>().is_ok())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    r#type: String,
    #[serde(default)]
    payload: Map<String, Value>,
}

async fn emit(headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<(), Failure> {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|text| text.to_str().ok());
    if !content_type.is_some_and(is_json) {
        return Err(Failure::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            format!(
                "content type `{}` is not `application/json`",
                content_type.unwrap_or_default()
            ),
        ));
    }
    let body = body.map_err(|rejection| unread(&rejection))?;
    let event: Event = serde_json::from_slice(&body).map_err(|error| {
        invalid(format!(
            "the body must be {{\"type\": string, \"payload\": object}}: {error}"
        ))
    })?;
    check_event(&event)?;
    Err(Failure::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "events_unavailable",
        "this version of the server does not take events yet",
    ))
}

fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

fn unread(rejection: &BytesRejection) -> Failure {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return too_large();
    }
    invalid(rejection.body_text())
}

fn too_large() -> Failure {
    Failure::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "payload_too_large",
        format!("an event's payload may have at most {PAYLOAD_BYTES_MAX} bytes"),
    )
}

fn invalid(detail: impl Into<String>) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "invalid_event", detail)
}

fn check_event(event: &Event) -> Result<(), Failure> {
    let kind = &event.r#type;
    let is_segment = |segment: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        !segment.is_empty() && segment.bytes().all(allowed)
    };
    if kind.len() > EVENT_TYPE_MAX || !kind.split('.').all(is_segment) {
        let shown: String = kind.chars().take(EVENT_TYPE_MAX).collect();
        return Err(invalid(format!(
            "event type `{shown}` must be 1 to {EVENT_TYPE_MAX} characters: segments of letters, digits, `_` or `-` joined by single dots"
        )));
    }
    let payload = serde_json::to_vec(&event.payload).unwrap_or_default();
    if payload.len() > PAYLOAD_BYTES_MAX {
        return Err(too_large());
    }
    Ok(())
}

async fn package() -> Failure {
    Failure::new(
        StatusCode::NOT_FOUND,
        "package_not_found",
        "this version of the agent serves no packages",
    )
}

async fn not_found(uri: Uri) -> Failure {
    Failure::new(
        StatusCode::NOT_FOUND,
        "not_found",
        format!("the agent serves nothing at `{}`", uri.path()),
    )
}

async fn wrong_method() -> Failure {
    Failure::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this path does not take this HTTP method",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_pass() {
        for local in [
            "127.0.0.1",
            "127.0.0.1:12201",
            "127.1.2.3:80",
            "localhost",
            "LocalHost:1",
            "[::1]",
            "[::1]:12201",
        ] {
            assert!(is_loopback(local), "{local}");
        }
        for foreign in [
            "",
            "example.org",
            "example.org:12201",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "128.0.0.1",
            "0.0.0.0",
            "localhost:",
            "localhost:x",
            "localhost@evil:80",
            "[::1",
            "[::1]x",
            "[::2]:1",
            "::1",
            "127.1",
        ] {
            assert!(!is_loopback(foreign), "{foreign}");
        }
    }
}
