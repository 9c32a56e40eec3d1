//! Checks the files of a folder that svc opens by their names.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{FolderError, OwnFolder, failed};
use crate::user::own_uid;

const GROUP_MAY_WRITE: u32 = 0o020;
const OTHERS_MAY_WRITE: u32 = 0o002;
/// Every access of users other than the owner.
const OTHERS_HAVE_ACCESS: u32 = 0o077;

impl OwnFolder {
    /// Refuses a file that another user owns or can write. Accepts a missing file, and a link of this
    /// user or of root to a file that meets the rule.
    ///
    /// In a folder that only its owner can enter, the mode of a file gives other users nothing. In a
    /// folder of root, the group may write files: root chose that group for this process, and
    /// Kubernetes makes the files of a volume with `fsGroup` writable for it.
    pub fn check_file(&self, name: &str) -> Result<(), FolderError> {
        self.check_file_as(name, own_uid())
    }

    pub(super) fn check_file_as(&self, name: &str, user: u32) -> Result<(), FolderError> {
        let path = self.path.join(name);
        let folder = self.handle.metadata().map_err(failed(&self.path))?;
        let mut is_reachable = folder.mode() & OTHERS_HAVE_ACCESS != 0;
        let mut found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found.map_err(failed(&path))?,
        };
        check_owner(&path, found.uid(), user)?;
        if found.is_symlink() {
            found = match fs::metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                found => found.map_err(failed(&path))?,
            };
            check_owner(&path, found.uid(), user)?;
            is_reachable = true;
        }
        let refused = match folder.uid() == 0 && user != 0 {
            true => OTHERS_MAY_WRITE,
            false => OTHERS_MAY_WRITE | GROUP_MAY_WRITE,
        };
        let mode = found.mode() & 0o7777;
        match is_reachable && mode & refused != 0 {
            true => Err(FolderError::FileOthersCanWrite { path, mode }),
            false => Ok(()),
        }
    }
}

fn check_owner(path: &Path, owner: u32, user: u32) -> Result<(), FolderError> {
    if owner == user || owner == 0 {
        return Ok(());
    }
    let path = PathBuf::from(path);
    Err(FolderError::ForeignFile { path, owner, user })
}
