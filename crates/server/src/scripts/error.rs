//! Errors of requests about scripts.

use svc_core::{event::EmitError, name::NameError, quota::QuotaExceeded};
use svc_store::StoreError;
use thiserror::Error;

use super::{SourceRejected, runner::Unavailable};
use crate::{fair_pool::PoolError, identity::IdentityError, limits::OverMinuteLimit};

#[derive(Debug, Error)]
pub enum ScriptsError {
    /// Also the error for scripts of other users, so that their existence is not revealed.
    #[error("the script does not exist")]
    NotFound,
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("{message}")]
    Invalid { code: &'static str, message: String },
    #[error(transparent)]
    Source(#[from] SourceRejected),
    #[error(
        "this needs the permission `manage_scripts`; ask an administrator for a role with it, or leave `owner` out for a script of your own"
    )]
    GlobalDenied,
    #[error("a {kind} script named `{name}` exists already")]
    NameTaken { kind: &'static str, name: String },
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    #[error("script `{name}` is used by {by}; change those first")]
    InUse { name: String, by: String },
    #[error("a {0} script does not run on the server; only sink and tool scripts do")]
    NotRunnable(&'static str),
    #[error("a script cannot start another one; import shared code from a library")]
    Nested,
    #[error(
        "at most {} runs a minute; try again in {} seconds",
        .0.per_minute,
        .0.retry_after.as_secs() + 1
    )]
    TooManyRuns(OverMinuteLimit),
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Busy(#[from] PoolError),
    #[error(transparent)]
    Store(StoreError),
}

impl ScriptsError {
    pub(super) fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid {
            code,
            message: message.into(),
        }
    }
}

impl From<StoreError> for ScriptsError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing { .. } => Self::NotFound,
            other => Self::Store(other),
        }
    }
}

impl From<EmitError> for ScriptsError {
    fn from(error: EmitError) -> Self {
        Self::invalid("invalid_event", error.to_string())
    }
}
