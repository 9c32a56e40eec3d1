//! `POST /event`: forwards an event of a program of the space to the server.
//!
//! The agent stores no event. It acknowledges an event after the server has accepted it, or
//! returns an error.

mod forward;

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::{State, rejection::BytesRejection},
    response::Response,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use svc_core::{
    event::{EmitError, PAYLOAD_BYTES_MAX, check_payload, custom_type},
    json_text::JsonTextError,
};
use svc_protocol::{api::Emit, document, jsonrpc::JSON_DEPTH_MAX};
use uuid::Uuid;

pub use self::forward::Events;
use super::problem::Failure;

/// Maximum size of a request body: the payload, and 1 KiB for the event type and the JSON syntax.
pub const BODY_BYTES_MAX: usize = PAYLOAD_BYTES_MAX + 1024;
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The headers of W3C Trace Context, which the agent forwards to the server.
const TRACE_HEADERS: [HeaderName; 2] = [
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
];
/// `Prefer: wait=<seconds>` (RFC 7240): the maximum time that the client wants to wait.
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// Handles `POST /event`, on the agent's TCP port and on its Unix socket.
pub async fn emit(
    State(events): State<Arc<Events>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failure> {
    check_content_type(&headers)?;
    let is_too_large = |error: BytesRejection| error.status() == StatusCode::PAYLOAD_TOO_LARGE;
    let body = body.map_err(|error| incomplete_body(is_too_large(error)))?;
    check(&body)?;
    let key = match headers.get(IDEMPOTENCY_KEY) {
        Some(key) => key.clone(),
        None => HeaderValue::from_str(&Uuid::now_v7().to_string())
            .expect("an id is made of letters, digits and dashes"),
    };
    let wait_max = preferred_wait(&headers);
    let mut forwarded = HeaderMap::from_iter([(IDEMPOTENCY_KEY, key)]);
    for name in TRACE_HEADERS {
        for value in headers.get_all(&name) {
            forwarded.append(name.clone(), value.clone());
        }
    }
    // Forward the bytes of the body unchanged, so that numbers keep their digits.
    let answer = events.emit(forwarded, body.into(), wait_max).await?;
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = answer.status;
    for name in [CONTENT_TYPE, RETRY_AFTER] {
        if let Some(value) = answer.headers.get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    Ok(response)
}

/// The first valid `wait=<seconds>` of the `Prefer` headers. Any other preference is ignored, as
/// RFC 7240 says.
fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    let texts = headers.get_all(PREFER).into_iter();
    let mut preferences = texts
        .filter_map(|text| text.to_str().ok())
        .flat_map(|text| text.split(','));
    preferences.find_map(|preference| {
        let seconds = preference.trim().strip_prefix("wait=")?;
        seconds.parse().ok().map(Duration::from_secs)
    })
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Failure> {
    let content_type = content_type(headers);
    if content_type.is_some_and(is_json) {
        return Ok(());
    }
    let found = content_type.unwrap_or_default();
    Err(Failure::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        format!("content type `{found}` is not `application/json`"),
    ))
}

pub(super) fn content_type(headers: &HeaderMap) -> Option<&str> {
    let content_type = headers.get(CONTENT_TYPE)?;
    content_type.to_str().ok()
}

pub(super) fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// Checks the type and the payload by the server's rules, so that an invalid event is rejected even
/// while the agent is not linked.
fn check(body: &[u8]) -> Result<(), Failure> {
    let emit: Emit = document::read_json(body).map_err(|error| {
        if error.is_too_deep {
            let detail = format!("the body nests more than {JSON_DEPTH_MAX} levels deep");
            return Failure::bad_request("too_deep", detail);
        }
        invalid(format!(
            "the body must be {{\"type\": string, \"payload\": object}}; {error}"
        ))
    })?;
    custom_type(&emit.r#type).map_err(check_failure)?;
    check_payload(&emit.payload).map_err(check_failure)?;
    Ok(())
}

fn check_failure(error: EmitError) -> Failure {
    match error {
        EmitError::TooLarge(_) => Failure::too_large(error.to_string()),
        EmitError::Json(JsonTextError::TooDeep) => {
            Failure::bad_request("too_deep", error.to_string())
        }
        EmitError::Type(_) | EmitError::NotAnObject(_) | EmitError::Json(_) => {
            invalid(error.to_string())
        }
    }
}

/// Why a body was not read to its end.
pub(super) fn incomplete_body(is_too_large: bool) -> Failure {
    match is_too_large {
        true => Failure::too_large(format!(
            "the body may have at most {BODY_BYTES_MAX} bytes, and an event's payload at most {PAYLOAD_BYTES_MAX}"
        )),
        false => invalid("the body did not arrive completely; send the request again"),
    }
}

fn invalid(detail: impl Into<String>) -> Failure {
    Failure::bad_request("invalid_event", detail)
}

#[cfg(test)]
mod tests;
