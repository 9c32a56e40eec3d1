//! Moves the data of a single server to a PostgreSQL database, for a zone.
//!
//! The source is a data folder that no server uses. Its data stays as it is; only an old schema is
//! migrated and the server's id is stored. The target is an empty database. The copy is one
//! transaction. It leaves out records of running servers and of unfinished logins.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use svc_core::ServerId;
use svc_store::{
    DATABASE_FILE, DatabaseUrl, OpenError, SCHEMA_VERSION,
    transfer::{self, Source, Target},
};
use thiserror::Error;

use crate::{
    secrets::KEY_FILE,
    zone::{self, ServerIdError},
};

pub use svc_store::transfer::{Progress, Step, TransferError};

#[derive(Debug, Error)]
pub enum MigrateError {
    #[error("`{}` holds no database; give the data folder of a server with --from", .0.display())]
    NoDatabase(PathBuf),
    #[error(
        "`{}` is not the `{DATABASE_FILE}` of a data folder; restore a backup first with `svc backup restore`",
        .0.display()
    )]
    OtherFile(PathBuf),
    #[error("a server runs on `{}`; stop it first: changes made during the copy would be lost", .0.display())]
    Running(PathBuf),
    #[error(transparent)]
    Transfer(#[from] TransferError),
    #[error(transparent)]
    ServerId(#[from] ServerIdError),
}

/// What was moved.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Report {
    pub from: PathBuf,
    /// The URL of the target without its password.
    pub to: String,
    pub schema_version: i64,
    /// The id of the server of the data folder. The server keeps this id in the zone, so its spaces
    /// stay with it.
    pub server_id: Option<ServerId>,
    /// The file with the key of stored secrets, if the file is in the data folder.
    pub secret_key_file: Option<PathBuf>,
    pub tables: Vec<MovedTable>,
}

#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct MovedTable {
    pub name: &'static str,
    pub rows: u64,
    /// The hash of the rows in hex; equal in the source and the target.
    pub sha256: String,
}

/// Moves all data. `from` is a data folder, or the database file in it.
pub fn run(
    from: &Path,
    to: DatabaseUrl,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<Report, MigrateError> {
    let data_dir = data_dir(from)?;
    let source = Source::open(&data_dir).map_err(|error| match error {
        TransferError::Source(OpenError::Locked { path }) => MigrateError::Running(path),
        other => other.into(),
    })?;
    let known = zone::find_id(&data_dir)?;
    let server_id = match known {
        Some(id) => Some(id),
        None => source.server_id()?,
    };
    let target = Target::begin(to)?;
    let copies = transfer::copy(&source, &target, server_id, on_progress)?;
    let to = target.url().to_owned();
    // Before the commit: a server that starts after the commit must find this id and not create a
    // new one.
    if let (None, Some(id)) = (known, server_id) {
        zone::set_id(&data_dir, id)?;
    }
    target.commit()?;
    Ok(Report {
        from: data_dir.join(DATABASE_FILE),
        to,
        schema_version: SCHEMA_VERSION,
        server_id,
        secret_key_file: Some(data_dir.join(KEY_FILE)).filter(|file| file.is_file()),
        tables: copies
            .into_iter()
            .map(|copy| MovedTable {
                name: copy.name,
                rows: copy.rows,
                sha256: HEXLOWER.encode(&copy.sha256),
            })
            .collect(),
    })
}

/// The data folder of an existing database.
fn data_dir(from: &Path) -> Result<PathBuf, MigrateError> {
    let is_database = from.file_name().is_some_and(|name| name == DATABASE_FILE);
    let folder = match from.parent() {
        _ if from.is_dir() => from,
        Some(parent) if is_database => parent,
        _ if from.is_file() => return Err(MigrateError::OtherFile(from.to_owned())),
        _ => return Err(MigrateError::NoDatabase(from.to_owned())),
    };
    match folder.join(DATABASE_FILE).is_file() {
        true => Ok(folder.to_owned()),
        false => Err(MigrateError::NoDatabase(from.to_owned())),
    }
}
