//! The data folder: created with access for its owner only, and locked by one server at a time.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use svc_private::{FolderError, FolderKind, OwnFolder, own_folder};

use super::{DATABASE_FILE, error::OpenError};

/// Locked while a server runs. The file itself is never removed.
const LOCK_FILE: &str = "svc.lock";
/// The files that SQLite opens by their names.
const DATABASE_FILES: [&str; 4] = [DATABASE_FILE, "svc.db-journal", "svc.db-wal", "svc.db-shm"];

/// Holds the lock of the data folder until dropped. The operating system releases the lock of a
/// process that was killed.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Fails at once if another process holds the folder, or if other users can change the folder or
    /// its database.
    pub fn acquire(folder: &Path) -> Result<Self, OpenError> {
        let lock_error = |source| OpenError::Lock {
            path: folder.to_owned(),
            source,
        };
        let own = open_folder(folder)?;
        let file = own.open_lock(LOCK_FILE).map_err(lock_error)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked {
                path: folder.to_owned(),
            }),
            Err(TryLockError::Error(source)) => Err(lock_error(source)),
        }
    }
}

/// Opens the data folder. Refuses it if other users can change the folder or its database: SQLite
/// follows links, creates files, and applies a journal and a log that it finds.
pub fn open_folder(folder: &Path) -> Result<OwnFolder, FolderError> {
    let own = OwnFolder::open(folder, FolderKind::Chosen)?;
    for name in DATABASE_FILES {
        own.check_file(name)?;
    }
    Ok(own)
}

/// Creates the data folder with mode 0700. An existing folder keeps its mode, and is refused if
/// other users can change it.
pub fn prepare_folder(folder: &Path) -> Result<(), OpenError> {
    match own_folder(folder, FolderKind::Chosen) {
        Ok(_) => Ok(()),
        Err(FolderError::Io { path, error }) => Err(OpenError::Create {
            path,
            source: error,
        }),
        Err(refusal) => Err(refusal.into()),
    }
}

/// Creates the file if it is missing, with access for its owner only. SQLite could create a file
/// that other users can read.
pub(super) fn prepare_file(path: &Path) -> io::Result<()> {
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map(drop)
}
