//! [`SinkError`]: why a request about a sink is refused, with a stable code for programs.

use svc_core::{event::EmitError, name::NameError, pattern::PatternError, quota::QuotaExceeded};
use svc_store::StoreError;
use thiserror::Error;

use crate::{
    events::deliver::RenderError, fair_pool::PoolError, identity::IdentityError,
    limits::OverMinuteLimit, scripts::SourceRejected,
};

#[derive(Debug, Error)]
pub enum SinkError {
    /// Also for sinks that the caller may not manage, so that their existence stays hidden.
    #[error("the event sink does not exist")]
    NotFound,
    #[error("delivery {0} of this sink does not exist, or is past its retention")]
    DeliveryNotFound(u64),
    #[error("event `{0}` does not exist, or is past its retention")]
    EventNotFound(String),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("{message}")]
    Invalid { code: &'static str, message: String },
    #[error(transparent)]
    Source(#[from] SourceRejected),
    #[error(
        "the script of this sink runs with the permissions of the user who created the sink, and only this user may change it; create your own sink instead"
    )]
    ScriptOfAnother,
    #[error("a script cannot start another script, resend deliveries or replay events")]
    Nested,
    #[error(
        "you need the permission `manage_global_event_sinks` for a global sink; leave `owner` out for a sink of your own"
    )]
    GlobalDenied,
    #[error("an event sink named `{0}` exists already")]
    NameTaken(String),
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    #[error("the sink's queue is full; try again after some deliveries have ended")]
    QueueFull,
    #[error("{0}")]
    Conflict(String),
    #[error(
        "at most {} test requests a minute; try again in {} seconds",
        .0.per_minute,
        .0.retry_after.as_secs() + 1
    )]
    TooManyTests(OverMinuteLimit),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Store(StoreError),
    #[error(transparent)]
    Busy(#[from] PoolError),
    #[error("{0}")]
    Internal(String),
}

impl SinkError {
    pub(super) fn invalid(code: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid {
            code,
            message: message.into(),
        }
    }
}

impl From<StoreError> for SinkError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing { .. } => Self::NotFound,
            other => Self::Store(other),
        }
    }
}

impl From<RenderError> for SinkError {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Template(message) | RenderError::Unreadable(message) => {
                Self::invalid("invalid_template", message)
            }
            RenderError::Store(error) => error.into(),
            RenderError::Busy(error) => error.into(),
        }
    }
}

impl From<EmitError> for SinkError {
    fn from(error: EmitError) -> Self {
        Self::invalid("invalid_event", error.to_string())
    }
}
