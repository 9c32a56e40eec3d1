//! `POST /event`: forwards an event of a program of the space to the server.
//!
//! The agent stores no event. It acknowledges an event after the server has accepted it, or
//! returns an error.

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    extract::{State, rejection::BytesRejection},
    response::Response,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use svc_client::{Error, transport::Answer};
use svc_core::{
    event::{EmitError, PAYLOAD_BYTES_MAX, check_payload, custom_type},
    json_text::JsonTextError,
};
use svc_protocol::{api::Emit, document, jsonrpc::JSON_DEPTH_MAX};
use tokio::sync::watch;
use uuid::Uuid;

use super::problem::Failure;
use crate::{
    link_status::LinkStatus,
    servers::{Clients, Servers},
};

/// Maximum size of a request body: the payload, and 1 KiB for the event type and the JSON syntax.
pub const BODY_BYTES_MAX: usize = PAYLOAD_BYTES_MAX + 1024;
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const EMIT_PATH: &str = "/api/events/emit";

/// Forwards events to the servers, over connections that stay open.
pub struct Events {
    servers: Clients,
    link: watch::Receiver<LinkStatus>,
}

impl Events {
    pub fn new(
        servers: Arc<Servers>,
        agent_token: &str,
        policy: svc_client::Policy,
        link: watch::Receiver<LinkStatus>,
    ) -> Self {
        Self {
            servers: Clients::new(servers, agent_token, policy),
            link,
        }
    }

    /// Sends the event to the current server. If that server cannot be reached, sends the event to
    /// it once more, and then to each of the other servers. Every attempt has the same key, so that
    /// servers detect duplicates.
    async fn emit(&self, key: HeaderValue, body: Vec<u8>) -> Result<Answer, Failure> {
        let link = self.link.borrow().clone();
        // With several servers, try them even without a link: the agent may be about to link to
        // another server.
        if link.link.is_none() && self.servers.is_single() {
            let why = link.error.unwrap_or_else(|| "it is connecting".to_owned());
            return Err(unavailable(
                "not_linked",
                format!("the agent is not linked to the server: {why}; the event was not emitted"),
            ));
        }
        let current = self.servers.in_turn().take(1);
        let mut unreachable = None;
        for server in current.chain(self.servers.in_turn()) {
            let headers = HeaderMap::from_iter([(IDEMPOTENCY_KEY, key.clone())]);
            let body = Some(body.clone());
            let sending = server.send_raw(Method::POST, EMIT_PATH, headers, body, None);
            match sending.await {
                Ok(answer) => return Ok(answer),
                Err(error @ Error::Unreachable { .. }) => {
                    tracing::debug!(%error, "a server cannot be reached; the event is retried");
                    unreachable.get_or_insert(error);
                }
                Err(error) => return Err(send_failure(error)),
            }
        }
        Err(send_failure(
            unreachable.expect("there is at least one server"),
        ))
    }
}

fn send_failure(error: Error) -> Failure {
    match error {
        Error::Timeout { .. } => Failure::new(
            StatusCode::GATEWAY_TIMEOUT,
            "server_timeout",
            format!("{error}; to retry without a duplicate, send the same Idempotency-Key again"),
        ),
        error => unavailable("server_unreachable", error.to_string()),
    }
}

/// Handles `POST /event` on both listeners.
pub async fn emit(
    State(events): State<Arc<Events>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failure> {
    check_content_type(&headers)?;
    let body = body.map_err(|rejection| body_failure(&rejection))?;
    check(&body)?;
    let key = match headers.get(IDEMPOTENCY_KEY) {
        Some(key) => key.clone(),
        None => HeaderValue::from_str(&Uuid::now_v7().to_string())
            .expect("an id is made of letters, digits and dashes"),
    };
    // Forward the bytes unchanged, so that numbers keep their digits.
    let answer = events.emit(key, body.into()).await?;
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = answer.status;
    for name in [CONTENT_TYPE, RETRY_AFTER] {
        if let Some(value) = answer.headers.get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    Ok(response)
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Failure> {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|text| text.to_str().ok());
    if content_type.is_some_and(is_json) {
        return Ok(());
    }
    Err(Failure::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        format!(
            "content type `{}` is not `application/json`",
            content_type.unwrap_or_default()
        ),
    ))
}

pub(super) fn is_json(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    kind.trim().eq_ignore_ascii_case("application/json")
}

/// Rejects an event that the server would reject, even while the agent is not linked.
fn check(body: &[u8]) -> Result<(), Failure> {
    let emit: Emit = document::read_json(body).map_err(|error| {
        if error.is_too_deep {
            let detail = format!("the body nests more than {JSON_DEPTH_MAX} levels deep");
            return Failure::new(StatusCode::BAD_REQUEST, "too_deep", detail);
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
        EmitError::TooLarge(_) => too_large(error.to_string()),
        EmitError::Json(JsonTextError::TooDeep) => {
            Failure::new(StatusCode::BAD_REQUEST, "too_deep", error.to_string())
        }
        EmitError::Type(_) | EmitError::NotAnObject(_) | EmitError::Json(_) => {
            invalid(error.to_string())
        }
    }
}

fn body_failure(rejection: &BytesRejection) -> Failure {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return too_large(format!(
            "an event's payload may have at most {PAYLOAD_BYTES_MAX} bytes"
        ));
    }
    invalid("the body did not arrive completely; send the request again".to_owned())
}

fn too_large(detail: String) -> Failure {
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", detail)
}

fn invalid(detail: impl Into<String>) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "invalid_event", detail)
}

fn unavailable(code: &str, detail: String) -> Failure {
    Failure::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
}

#[cfg(test)]
mod tests;
