//! Errors of identity, each with a stable code for programs.

use std::time::Duration;

use svc_core::{name::NameError, quota::QuotaExceeded};
use svc_store::StoreError;
use thiserror::Error;

use super::directory::AccessDenied;
use crate::limits::LoginRefused;

/// The error code for a rejected credential.
pub const UNAUTHORIZED: &str = "unauthorized";

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum IdentityError {
    #[error("{message}")]
    Invalid { code: &'static str, message: String },
    #[error("{message}")]
    Unauthorized { code: &'static str, message: String },
    #[error("{message}")]
    Forbidden { code: &'static str, message: String },
    #[error("{kind} `{id}` does not exist")]
    NotFound { kind: &'static str, id: String },
    #[error("{message}")]
    Conflict { code: &'static str, message: String },
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    #[error("too many attempts; try again in {}", in_words(*retry_after))]
    TooManyAttempts { retry_after: Duration },
    #[error(transparent)]
    Store(StoreError),
    #[error("{0}")]
    Internal(String),
}

/// Whole seconds, rounded up and at least 1, so that a retry after this time is not too early.
pub fn whole_seconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1_000))
        .unwrap_or(u64::MAX)
        .max(1)
}

fn in_words(wait: Duration) -> String {
    match whole_seconds(wait) {
        1 => "1 second".to_owned(),
        seconds => format!("{seconds} seconds"),
    }
}

impl From<LoginRefused> for IdentityError {
    fn from(refused: LoginRefused) -> Self {
        match refused {
            LoginRefused::Wait(retry_after) => Self::TooManyAttempts { retry_after },
            LoginRefused::Store(error) => error.into(),
        }
    }
}

impl IdentityError {
    /// A stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { code, .. }
            | Self::Unauthorized { code, .. }
            | Self::Forbidden { code, .. }
            | Self::Conflict { code, .. } => code,
            Self::Quota(_) => QuotaExceeded::CODE,
            Self::NotFound { .. } => "not_found",
            Self::TooManyAttempts { .. } => "too_many_attempts",
            Self::Store(_) | Self::Internal(_) => "internal",
        }
    }

    pub fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid {
            code,
            message: message.into(),
        }
    }

    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::Conflict {
            code,
            message: message.into(),
        }
    }

    pub fn forbidden(code: &'static str, message: impl Into<String>) -> Self {
        Self::Forbidden {
            code,
            message: message.into(),
        }
    }

    pub(super) fn unauthorized(message: impl Into<String>) -> Self {
        Self::Unauthorized {
            code: UNAUTHORIZED,
            message: message.into(),
        }
    }

    pub fn not_found(kind: &'static str, id: impl ToString) -> Self {
        Self::NotFound {
            kind,
            id: id.to_string(),
        }
    }
}

impl From<StoreError> for IdentityError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing { kind, id } => Self::NotFound { kind, id },
            // Services check names before they insert a record. The database checks them again.
            StoreError::Unique(_) => {
                Self::conflict("already_exists", "a record of this name exists already")
            }
            zero @ StoreError::ZeroCharacter { .. } => Self::invalid("invalid", zero.to_string()),
            other => Self::Store(other),
        }
    }
}

impl From<AccessDenied> for IdentityError {
    fn from(denied: AccessDenied) -> Self {
        Self::unauthorized(denied.to_string())
    }
}

impl From<NameError> for IdentityError {
    fn from(error: NameError) -> Self {
        Self::invalid("invalid_name", error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_in_whole_seconds_and_never_too_short() {
        for (millis, expected) in [(1, "1 second"), (1_000, "1 second"), (1_001, "2 seconds")] {
            let error = IdentityError::TooManyAttempts {
                retry_after: Duration::from_millis(millis),
            };
            let said = error.to_string();
            assert!(said.ends_with(expected), "{said}");
        }
    }
}
