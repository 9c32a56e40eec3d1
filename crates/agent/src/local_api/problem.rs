//! Turns problems into HTTP responses.

use axum::response::{IntoResponse, Response};
use http::{
    HeaderValue, StatusCode, Uri,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use svc_protocol::problem::{self, Problem};

use crate::registration::RegistrationError;

/// A problem as the response of a handler.
#[derive(Debug)]
pub struct Failure(pub Problem);

impl Failure {
    pub fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Error");
        Self(Problem::new(status.as_u16(), code, title, detail))
    }

    pub fn bad_request(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    pub fn forbidden(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, detail)
    }

    pub fn too_large(detail: String) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", detail)
    }

    pub fn unavailable(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
    }
}

/// The answer to a path without a route, on the Unix socket and on the loopback port.
pub async fn not_found(uri: Uri) -> Failure {
    let detail = format!("the agent serves nothing at `{}`", uri.path());
    Failure::new(StatusCode::NOT_FOUND, "not_found", detail)
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let json = serde_json::to_vec(&self.0).expect("a problem is always JSON");
        let mut response = (status, json).into_response();
        let headers = response.headers_mut();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_static(problem::CONTENT_TYPE),
        );
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<RegistrationError> for Failure {
    fn from(error: RegistrationError) -> Self {
        let (status, code) = match &error {
            RegistrationError::NotLinked(_) => (StatusCode::SERVICE_UNAVAILABLE, "not_linked"),
            RegistrationError::LinkLost | RegistrationError::TimedOut => {
                (StatusCode::SERVICE_UNAVAILABLE, "link_lost")
            }
            RegistrationError::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "agent_stopping"),
            RegistrationError::RelativePath(_) => (StatusCode::BAD_REQUEST, "relative_path"),
            RegistrationError::Contents => (StatusCode::BAD_REQUEST, "invalid_request"),
            RegistrationError::UnknownLocalName(_) => (StatusCode::NOT_FOUND, "method_not_found"),
            RegistrationError::Refused(problem) if problem.status == 409 => {
                (StatusCode::CONFLICT, "registration_conflict")
            }
            RegistrationError::Refused(_)
            | RegistrationError::File(_)
            | RegistrationError::ScriptText(_)
            | RegistrationError::Command(_)
            | RegistrationError::Start(_) => {
                (StatusCode::UNPROCESSABLE_ENTITY, "registration_refused")
            }
        };
        Self::new(status, code, error.to_string())
    }
}
