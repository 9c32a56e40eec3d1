//! [`ScheduleServiceError`]: why a request about a schedule is refused.

use svc_core::{
    event::EmitError, quota::QuotaExceeded, schedule::ScheduleError, source::EventNameError,
};
use svc_store::StoreError;
use thiserror::Error;

use crate::{events::emit::EmitServiceError, fair_pool::PoolError, identity::IdentityError};

#[derive(Debug, Error)]
pub enum ScheduleServiceError {
    /// Also for schedules of other users, so that their existence stays hidden.
    #[error("the schedule does not exist")]
    NotFound,
    #[error(transparent)]
    Name(#[from] EventNameError),
    #[error("a schedule named `{0}` exists already; choose another name")]
    NameTaken(String),
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    #[error(transparent)]
    Payload(#[from] EmitError),
    #[error("{0}")]
    Invalid(String),
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

impl From<StoreError> for ScheduleServiceError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing { .. } => Self::NotFound,
            other => Self::Store(other),
        }
    }
}
