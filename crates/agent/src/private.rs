//! Files and folders that only the agent's user can read. Files are replaced atomically.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

/// Creates a folder that only its owner can enter, unless it exists.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        other => other,
    }
}

/// Writes or replaces a file atomically: a reader never sees a part of it.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".{}.tmp", std::process::id()));
    let written = || {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)?;
        file.write_all(bytes)?;
        drop(file);
        fs::rename(&new, path)
    };
    written().inspect_err(|_| {
        let _ = fs::remove_file(&new);
    })
}
