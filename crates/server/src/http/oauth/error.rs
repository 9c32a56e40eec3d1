//! Errors of the endpoints that apps use: `{"error", "error_description"}` (RFC 6749, 5.2).

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use svc_core::oauth::ParamError;

use super::for_any_site;
use crate::{
    http::error::{ApiError, protect},
    oauth::OAuthError,
    records::{RecordError, whole_seconds},
};

pub enum OAuthFailure {
    Refused(OAuthError),
    /// This server registers no apps. RFC 7591 defines no error for this.
    Closed(OAuthError),
    /// The request has an unreadable body, or this server does not offer OAuth.
    InvalidRequest {
        status: StatusCode,
        description: String,
    },
}

pub type OAuthResult<T> = Result<T, OAuthFailure>;

impl From<OAuthError> for OAuthFailure {
    fn from(error: OAuthError) -> Self {
        Self::Refused(error)
    }
}

impl From<ParamError> for OAuthFailure {
    fn from(error: ParamError) -> Self {
        OAuthError::from(error).into()
    }
}

impl IntoResponse for OAuthFailure {
    fn into_response(self) -> Response {
        let (status, code, description, wait) = match self {
            Self::InvalidRequest {
                status,
                description,
            } => (status, "invalid_request", description, None),
            Self::Closed(error) => (
                StatusCode::FORBIDDEN,
                "access_denied",
                error.to_string(),
                None,
            ),
            Self::Refused(error) => {
                let description = error.to_string();
                match error {
                    OAuthError::Refused { code, .. } => (status_of(code), code, description, None),
                    OAuthError::TooMany { retry_after } => (
                        StatusCode::TOO_MANY_REQUESTS,
                        "temporarily_unavailable",
                        description,
                        Some(whole_seconds(retry_after)),
                    ),
                    OAuthError::Identity(error) => return of_identity(error),
                }
            }
        };
        answer(status, code, &description, wait)
    }
}

/// Errors while a grant is read or changed: the database is unavailable, or a quota is used up.
fn of_identity(error: RecordError) -> Response {
    let (code, description) = match &error {
        RecordError::Store(_) | RecordError::Internal(_) => {
            ("server_error", "the server could not answer; try again")
        }
        _ => ("access_denied", ""),
    };
    let shown = match description {
        "" => error.to_string(),
        text => text.to_owned(),
    };
    let error = ApiError::from(error);
    let status = match code {
        "access_denied" => StatusCode::BAD_REQUEST,
        _ => StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
    };
    answer(status, code, &shown, error.wait())
}

fn answer(status: StatusCode, code: &str, description: &str, wait: Option<u64>) -> Response {
    // RFC 6749 permits only printable ASCII without double quotes and backslashes.
    let description: String = description
        .chars()
        .map(|character| match character {
            '"' | '\\' => '\'',
            ' '..='~' => character,
            _ => '?',
        })
        .collect();
    let body = json!({"error": code, "error_description": description});
    let mut response = for_any_site((status, axum::Json(body)).into_response());
    let headers = response.headers_mut();
    protect(headers);
    if let Some(seconds) = wait {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if status == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static(r#"Basic realm="svc""#);
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// The standards define 400 for every error, except for a failed authentication of the app
/// (RFC 6749, 5.2; RFC 7009, 2.2.1; RFC 7591, 3.2.2; RFC 8628, 3.5).
fn status_of(code: &str) -> StatusCode {
    match code {
        "invalid_client" => StatusCode::UNAUTHORIZED,
        _ => StatusCode::BAD_REQUEST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_the_status_of_its_standard() {
        let statuses = [
            // RFC 6749, 5.2, also for RFC 7009.
            ("invalid_request", 400),
            ("invalid_client", 401),
            ("invalid_grant", 400),
            ("unauthorized_client", 400),
            ("unsupported_grant_type", 400),
            ("invalid_scope", 400),
            // RFC 8628, 3.5.
            ("authorization_pending", 400),
            ("slow_down", 400),
            ("access_denied", 400),
            ("expired_token", 400),
            // RFC 7591, 3.2.2.
            ("invalid_redirect_uri", 400),
            ("invalid_client_metadata", 400),
            // RFC 8707, 2.
            ("invalid_target", 400),
        ];
        for (code, status) in statuses {
            let response = OAuthFailure::Refused(OAuthError::refused(code, "why")).into_response();
            assert_eq!(response.status(), status, "{code}");
            let challenge = response.headers().get(header::WWW_AUTHENTICATE);
            assert_eq!(challenge.is_some(), status == 401, "{code}");
        }
    }
}
