//! Turns the errors of requests to sources into problems (RFC 9457).

use super::{super::failures, ApiError};
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
                failures::VERIFICATION_FAILED,
                "the request could not be verified; the owner of this URL sees the reason in the list of its requests",
            ),
            ReceiveError::Secret(ref secret) => Self::internal(secret),
            ReceiveError::Owner(_) => Self::new(
                failures::PERMISSION_DENIED,
                "the owner of this URL may not emit events at the moment",
            ),
            ReceiveError::Emit(error) => error.into(),
            ReceiveError::Compute(error) => error.into(),
            ReceiveError::Request(_) | ReceiveError::Body { .. } => {
                let failure = match error.status() {
                    413 => failures::BODY_TOO_LARGE,
                    408 => failures::BODY_TOO_SLOW,
                    503 => failures::TOO_MANY_UNFINISHED_BODIES,
                    _ => failures::INVALID_BODY,
                };
                Self::new(failure, detail)
            }
        }
    }
}
