//! Errors of requests about spaces and templates.

use svc_core::{ServerId, Timestamp, name::NameError, quota::QuotaExceeded};
use svc_store::StoreError;
use thiserror::Error;

use crate::identity::IdentityError;

#[derive(Debug, Error)]
pub enum SpaceError {
    #[error("the space does not exist")]
    NotFound,
    #[error(
        "the agent of this space is linked to another server of the zone ({node}), which does not answer; try again, or send the request to that server: `svc server list` shows its address"
    )]
    Elsewhere { node: ServerId },
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("you have a space named `{name}` already")]
    NameTaken { name: String },
    #[error("{0}")]
    Conflict(String),
    #[error("template `{name}` is used by {by}; delete these spaces first")]
    TemplateInUse { name: String, by: String },
    #[error("{0}")]
    Invalid(String),
    #[error(
        "only a user with the permission `manage_spaces` may own a space that runs on the server"
    )]
    LocalDenied,
    #[error(
        "this server runs no spaces itself; set `spaces.allow_local = true` in its configuration, or use runtime `external`"
    )]
    LocalDisabled,
    #[error(
        "the token you use expires at {0}, and an agent token never does; use a session or a token without an expiry"
    )]
    ExpiringCredential(Timestamp),
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for SpaceError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing { .. } => Self::NotFound,
            other => Self::Store(other),
        }
    }
}
