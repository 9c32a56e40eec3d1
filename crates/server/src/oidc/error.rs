//! Why a sign-in with a provider fails.

use std::time::Duration;

use svc_store::StoreError;
use thiserror::Error;

use crate::records::RecordError;

#[derive(Clone, Debug, Error)]
pub enum OidcError {
    /// The request is invalid, or came too late.
    #[error("{0}")]
    Refused(String),
    /// The provider cannot be used, or sent something that is not valid.
    #[error("the provider `{provider}` cannot be used: {why}")]
    Provider { provider: String, why: String },
    #[error("too many requests from this address; try again in {} s", retry_after.as_secs() + 1)]
    TooMany { retry_after: Duration },
    #[error(transparent)]
    Identity(#[from] RecordError),
}

impl OidcError {
    pub(super) fn refused(text: impl Into<String>) -> Self {
        Self::Refused(text.into())
    }
}

impl From<StoreError> for OidcError {
    fn from(error: StoreError) -> Self {
        Self::Identity(error.into())
    }
}
