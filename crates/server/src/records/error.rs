//! [`RecordError`]: why a request about a record is refused, with a stable code for programs.
//!
//! All kinds of records return this error. Only the table in `http::failures` has the status of each
//! code. A kind adds no variants: it has functions that make an error, where several places need the
//! same one.

use std::time::Duration;

use svc_core::{
    name::NameError,
    pattern::PatternError,
    quota::QuotaExceeded,
    schedule::ScheduleError,
    source::{EventNameError, settings::SettingsError},
};
use svc_crypto::random::RandomError;
use svc_pool::PoolError;
use svc_protocol::api::MergeError;
use svc_store::StoreError;
use thiserror::Error;

use crate::limits::{LoginRefused, OverMinuteLimit};

/// The error code for a rejected credential.
pub const UNAUTHORIZED: &str = "unauthorized";

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RecordError {
    /// A refusal with a code of its own.
    #[error("{message}")]
    Refused { code: &'static str, message: String },
    /// Also for records that the caller may not see, so that their existence stays hidden.
    #[error("{0}")]
    NotFound(String),
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    #[error("too many attempts; try again in {}", in_words(*retry_after))]
    TooManyAttempts { retry_after: Duration },
    /// A limit for actions per second or per minute.
    #[error("{message}")]
    RateLimited {
        message: String,
        retry_after: Duration,
    },
    #[error(transparent)]
    Busy(#[from] PoolError),
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

impl From<LoginRefused> for RecordError {
    fn from(refused: LoginRefused) -> Self {
        match refused {
            LoginRefused::Wait(retry_after) => Self::TooManyAttempts { retry_after },
            LoginRefused::Store(error) => error.into(),
        }
    }
}

impl RecordError {
    /// A stable code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused { code, .. } => code,
            Self::Quota(_) => QuotaExceeded::CODE,
            Self::NotFound(_) => "not_found",
            Self::TooManyAttempts { .. } => "too_many_attempts",
            Self::RateLimited { .. } => "rate_limited",
            Self::Busy(_) => "busy",
            Self::Store(_) | Self::Internal(_) => "internal",
        }
    }

    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self::Refused {
            code,
            message: message.into(),
        }
    }

    pub fn name_taken(kind: &str, name: &str) -> Self {
        let message = format!("another {kind} named `{name}` exists already; choose another name");
        Self::new("name_taken", message)
    }

    /// The limit allows `over.per_minute` of `what`, such as "test requests".
    pub fn over_limit(what: &str, over: OverMinuteLimit) -> Self {
        let (per_minute, seconds) = (over.per_minute, over.retry_after.as_secs() + 1);
        Self::RateLimited {
            message: format!(
                "at most {per_minute} {what} a minute; try again in {seconds} seconds"
            ),
            retry_after: over.retry_after,
        }
    }

    pub fn not_found(kind: &'static str, id: impl ToString) -> Self {
        Self::NotFound(format!("{kind} `{}` does not exist", id.to_string()))
    }
}

impl From<StoreError> for RecordError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing { kind, id } => Self::not_found(kind, id),
            // Services check names before they insert a record. The database checks them again.
            StoreError::Unique(_) => {
                Self::new("name_taken", "another record with this name exists already")
            }
            zero @ StoreError::ZeroCharacter { .. } => Self::new("invalid", zero.to_string()),
            other => Self::Store(other),
        }
    }
}

impl From<RandomError> for RecordError {
    fn from(error: RandomError) -> Self {
        Self::Internal(format!("no random bytes: {error}"))
    }
}

/// Errors whose text is the message of a refusal with this code.
macro_rules! refusals {
    ($($error:ty: $code:literal),* $(,)?) => {
        $(impl From<$error> for RecordError {
            fn from(error: $error) -> Self {
                Self::new($code, error.to_string())
            }
        })*
    };
}
refusals! {
    NameError: "invalid_name",
    EventNameError: "invalid_name",
    MergeError: "invalid",
    PatternError: "invalid_pattern",
    SettingsError: "invalid_settings",
    ScheduleError: "invalid_schedule",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_in_whole_seconds_and_never_too_short() {
        for (millis, expected) in [(1, "1 second"), (1_000, "1 second"), (1_001, "2 seconds")] {
            let error = RecordError::TooManyAttempts {
                retry_after: Duration::from_millis(millis),
            };
            let said = error.to_string();
            assert!(said.ends_with(expected), "{said}");
        }
    }
}
