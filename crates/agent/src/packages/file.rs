//! Archives of Python packages, written to files. A file is kept as long as a program may read it.

use std::{
    env,
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_private::{FolderKind, OwnFolder, own_folder};
use svc_script::package;
use tokio::process::Command;

use super::Archive;

const PYTHONPATH: &str = "PYTHONPATH";

/// One archive. Its file is written at the first call of [`Self::file`], and removed when the
/// archive and all holders of the file are dropped.
pub struct Package {
    pub archive: Archive,
    path: PathBuf,
    file: Mutex<Option<Arc<PackageFile>>>,
}

impl Package {
    pub fn new(bytes: Vec<u8>, path: PathBuf) -> Self {
        Self {
            archive: Archive {
                etag: package::etag(&bytes),
                bytes: Bytes::from(bytes),
            },
            path,
            file: Mutex::default(),
        }
    }

    /// The file of the archive. Logs a warning and returns `None` if the file cannot be written.
    pub fn file(&self) -> Option<Arc<PackageFile>> {
        let mut known = self.file.lock();
        if known.is_some() && self.path.is_file() {
            return known.clone();
        }
        if let Err(error) = write(&self.path, &self.archive.bytes) {
            tracing::warn!(%error, file = %self.path.display(), "cannot write a Python package");
            return None;
        }
        let file = known.get_or_insert_with(|| Arc::new(PackageFile(self.path.clone())));
        Some(Arc::clone(file))
    }
}

/// The file of an archive. Dropping this value removes the file, and the folder if it is empty.
pub struct PackageFile(PathBuf);

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.as_os_str().as_encoded_bytes().contains(&b':') {
        let why = "its path contains `:`, which separates entries of PYTHONPATH";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let folder = path.parent().expect("a package is in a folder");
    let name = path.file_name().and_then(OsStr::to_str);
    let name = name.expect("the agent chose the name");
    own_folder(folder, FolderKind::Internal)?.write(name, bytes)
}

impl Drop for PackageFile {
    fn drop(&mut self) {
        // Ignore errors: the file may already be removed, and the folder may contain other files.
        let _ = fs::remove_file(&self.0);
        let _ = self.0.parent().map(fs::remove_dir);
    }
}

/// The files of a program's packages. They exist at least as long as this value.
pub struct PythonPath(pub Vec<Arc<PackageFile>>);

impl PythonPath {
    /// Sets the command's `PYTHONPATH`: the value that the command already has, or else the agent's
    /// own value, followed by the packages.
    pub fn put(&self, command: &mut Command) {
        let given = command
            .as_std()
            .get_envs()
            .find(|(name, _)| *name == OsStr::new(PYTHONPATH))
            .map(|(_, value)| value.map(OsStr::to_owned));
        let mut path = given
            .unwrap_or_else(|| env::var_os(PYTHONPATH))
            .unwrap_or_default();
        for file in &self.0 {
            if !path.is_empty() {
                path.push(":");
            }
            path.push(&file.0);
        }
        if !path.is_empty() {
            command.env(PYTHONPATH, path);
        }
    }
}

/// Removes files that a killed agent left behind. A folder that other users can change is left
/// alone.
pub fn remove_stale(folder: &Path) {
    let Ok(own) = OwnFolder::open(folder, FolderKind::Internal) else {
        return;
    };
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let stale = name
            .to_str()
            .filter(|name| name.ends_with(".zip") || name.ends_with(".tmp"));
        if let Some(name) = stale {
            let _ = own.remove(name);
        }
    }
}
