//! [`SourceError`]: why a request about a source is refused.

use svc_core::{
    quota::QuotaExceeded,
    source::{EventNameError, settings::SettingsError},
};
use svc_store::StoreError;
use thiserror::Error;

use crate::{
    events::{emit::EmitServiceError, secrets::SecretError},
    fair_pool::PoolError,
    identity::IdentityError,
};

#[derive(Debug, Error)]
pub enum SourceError {
    /// Also for sources of other users, so that their existence stays hidden.
    #[error("the source does not exist")]
    NotFound,
    #[error(transparent)]
    Name(#[from] EventNameError),
    #[error("a source named `{0}` exists already; choose another name")]
    NameTaken(String),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}; create a new secret: svc source rotate <source> --overlap-hours 0")]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    #[error(transparent)]
    Emit(#[from] EmitServiceError),
    #[error(transparent)]
    Busy(#[from] PoolError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for SourceError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing { .. } => Self::NotFound,
            other => Self::Store(other),
        }
    }
}
