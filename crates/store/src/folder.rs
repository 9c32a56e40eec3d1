//! The data folder: created with access for its owner only, and locked by one server at a time.

use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

use super::error::OpenError;

/// Locked while a server runs. The file itself is never removed.
const LOCK_FILE: &str = "svc.lock";

/// Holds the lock of the data folder until dropped. The operating system releases the lock of a
/// process that was killed.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Fails at once if another process holds the folder.
    pub fn acquire(folder: &Path) -> Result<Self, OpenError> {
        let lock_error = |source| OpenError::Lock {
            path: folder.to_owned(),
            source,
        };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(folder.join(LOCK_FILE))
            .map_err(lock_error)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked {
                path: folder.to_owned(),
            }),
            Err(TryLockError::Error(source)) => Err(lock_error(source)),
        }
    }
}

/// Creates the data folder with mode 0700. An existing folder keeps its mode.
pub fn prepare_folder(folder: &Path) -> Result<(), OpenError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| OpenError::Create {
            path: folder.to_owned(),
            source,
        })
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
