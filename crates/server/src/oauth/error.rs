//! Errors of OAuth, with the codes of the OAuth standards.

use std::time::Duration;

use svc_core::oauth::ParamError;
use svc_store::StoreError;
use thiserror::Error;

use crate::records::RecordError;

#[derive(Clone, Debug, Error)]
pub enum OAuthError {
    /// An error for the app. `code` is a code of RFC 6749, 7591, 8628 or 8707.
    #[error("{description}")]
    Refused {
        code: &'static str,
        description: String,
    },
    #[error("too many requests from this address; try again in {} s", retry_after.as_secs() + 1)]
    TooMany { retry_after: Duration },
    #[error(transparent)]
    Identity(#[from] RecordError),
}

impl OAuthError {
    pub fn refused(code: &'static str, description: impl Into<String>) -> Self {
        Self::Refused {
            code,
            description: description.into(),
        }
    }

    pub(super) fn invalid_grant(description: impl Into<String>) -> Self {
        Self::refused("invalid_grant", description)
    }

    pub(super) fn invalid_client(description: impl Into<String>) -> Self {
        Self::refused("invalid_client", description)
    }
}

impl From<StoreError> for OAuthError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::ZeroCharacter { .. } => Self::refused("invalid_request", error.to_string()),
            error => Self::Identity(error.into()),
        }
    }
}

impl From<ParamError> for OAuthError {
    fn from(error: ParamError) -> Self {
        Self::refused("invalid_request", error.to_string())
    }
}
