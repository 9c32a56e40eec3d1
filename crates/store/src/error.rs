//! Errors of the store, without types of the engines.

use std::{io, path::PathBuf};

use svc_private::FolderError;
use thiserror::Error;

use super::{meta, postgres::AddressError};

/// Why a read or a write failed. A failed write is rolled back, with two exceptions. If a
/// connection to PostgreSQL was lost during the commit, the result of that commit is unknown. If
/// the disk failed while a commit of the embedded database was flushed, and the server or the
/// machine crashes right afterwards, the write may be in the database after the restart.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum StoreError {
    #[error("the store is closed")]
    Closed,
    #[error("a record with the same unique value already exists ({0})")]
    Unique(String),
    #[error("a reference to a record that does not exist, or a record that is still referenced")]
    ForeignKey,
    /// PostgreSQL cannot store this character in a text, and the embedded database follows the same
    /// rule. Texts inside of JSON columns are escaped.
    #[error("`{column}` has the character U+0000, which texts cannot hold; remove it")]
    ZeroCharacter { column: String },
    #[error("{kind} `{id}` does not exist")]
    Missing { kind: &'static str, id: String },
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// Only of the embedded database.
    #[error("the disk of the database is full: {0}")]
    DiskFull(String),
    /// The embedded database cannot be read or written: the disk fails or is read-only, or another
    /// process holds the file.
    #[error("the database cannot be used: {0}")]
    Disk(String),
    #[error("the transaction could not be committed: {0}")]
    Commit(String),
    #[error("the database failed: {0}")]
    Database(String),
    /// Only of the embedded database.
    #[error("a statement read more records than a small read may; the log of the server names it")]
    OverBudget,
    #[error("the database holds a value in `{column}` that cannot be read: {reason}")]
    Decode { column: String, reason: String },
    #[error("the result has no column `{0}`")]
    Column(String),
    #[error("the statement returned no row")]
    NoRow,
    #[error("a transaction panicked and was rolled back")]
    Panicked,
}

impl StoreError {
    /// Whether the database is unusable for all callers. The store logs an outage once, so callers
    /// that only retry need not log it.
    pub fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::Unavailable(_) | Self::DiskFull(_) | Self::Disk(_)
        )
    }

    /// Converts the error of a COMMIT statement.
    pub(super) fn of_commit(self) -> Self {
        match self {
            known @ Self::Commit(_) => known,
            outage if outage.is_outage() => outage,
            other => Self::Commit(other.to_string()),
        }
    }

    pub(super) fn missing(kind: &'static str, id: impl ToString) -> Self {
        Self::Missing {
            kind,
            id: id.to_string(),
        }
    }
}

/// Why a database could not be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("could not create `{}`", path.display())]
    Create {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(
        "the data folder `{}` is in use by another server; stop it, or choose another folder with --data-dir",
        path.display()
    )]
    Locked { path: PathBuf },
    #[error("could not lock the data folder `{}`", path.display())]
    Lock {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "the database has schema version {found}{}, but svc {} supports versions up to {known}; start a newer svc, or restore a backup that was made before the upgrade (docs/OPERATIONS.md#downgrade)",
        written_by.as_ref().map(|version| format!(", written by svc {version}")).unwrap_or_default(),
        meta::OWN_VERSION
    )]
    NewerSchema {
        found: i64,
        known: i64,
        /// The version of the svc that started last on the database.
        written_by: Option<String>,
    },
    #[error("could not migrate the database to schema version {version}: {reason}")]
    Migration { version: i64, reason: StoreError },
    // Transparent: a `StoreError` has a complete message and no source.
    #[error(transparent)]
    Database(#[from] StoreError),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(
        "the database is PostgreSQL with version number {found}; svc needs 13 or newer (130000)"
    )]
    PostgresTooOld { found: String },
    #[error("could not start a thread of the store")]
    Thread(#[source] io::Error),
}
