//! Turns the errors of the call journal into problems (RFC 9457).

use http::StatusCode;

use super::ApiError;
use crate::call_history::CallHistoryError;

impl From<CallHistoryError> for ApiError {
    fn from(error: CallHistoryError) -> Self {
        match error {
            CallHistoryError::NotFound(_) => {
                Self::new(StatusCode::NOT_FOUND, "not_found", error.to_string())
            }
            CallHistoryError::TooManyStreams(exceeded) => Self::from(exceeded).retry_after(1),
            CallHistoryError::Store(error) => error.into(),
        }
    }
}
