//! Turns the errors of requests to sources into problems (RFC 9457).

use http::StatusCode;

use super::{super::failures::VERIFICATION_FAILED, ApiError};
use crate::sources::ReceiveError;

/// The sender of a request that is not verified does not get the reason: only the owner of the
/// source sees it.
impl From<ReceiveError> for ApiError {
    fn from(error: ReceiveError) -> Self {
        let detail = error.to_string();
        match error {
            ReceiveError::Inactive => Self::not_found("the path"),
            ReceiveError::AddressLimited { retry_after } | ReceiveError::Busy { retry_after } => {
                Self::rate_limited(detail, retry_after)
            }
            ReceiveError::Rejected(_) => Self::new(
                StatusCode::UNAUTHORIZED,
                // Used only here: the OpenAPI document does not contain the routes under `/in`.
                VERIFICATION_FAILED.1,
                "the request could not be verified; the owner of this URL sees the reason in the list of its requests",
            ),
            ReceiveError::Request(_) => match error.status() {
                413 => Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail),
                _ => Self::bad_request("invalid_body", detail),
            },
            ReceiveError::Secret(ref secret) => Self::internal(secret),
            ReceiveError::Owner(_) => Self::forbidden(
                "permission_denied",
                "the owner of this URL may not emit events at the moment",
            ),
            ReceiveError::Emit(error) => error.into(),
            ReceiveError::Compute(error) => error.into(),
            ReceiveError::Body { status, .. } => match status {
                413 => Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail),
                408 => Self::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", detail),
                503 => Self::unavailable("too_many_unfinished_bodies", detail),
                _ => Self::bad_request("invalid_body", detail),
            },
        }
    }
}
