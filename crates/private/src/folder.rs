//! Folders that svc creates and opens by their name.
//!
//! Another user may have created the folder first, or a link in its place. So [`own_folder`] opens
//! the folder, checks the opened folder, and works relative to its handle. No user can replace
//! the folder between the check and its use.

mod files;

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, Mode, OFlags, linkat, openat, renameat, unlinkat};
use thiserror::Error;

use crate::user::own_uid;

const PRIVATE_FILE: Mode = Mode::from_raw_mode(0o600);

/// How strictly an existing folder is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FolderKind {
    /// A folder that only svc creates and uses, such as `.svc`. It is not a link, belongs to this
    /// user, and gives other users no access.
    Internal,
    /// A folder that a user chooses and may have created, such as the data folder. It belongs to
    /// this user or to root, as does a link to it, and other users cannot write it. If it belongs
    /// to root, its group may write it: root chose that group for this process (`fsGroup` of
    /// Kubernetes).
    Chosen,
}

/// Why a folder is not used.
#[derive(Debug, Error)]
pub enum FolderError {
    #[error("cannot use the folder `{}`: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("`{}` is not a folder; remove it, or choose another folder", .0.display())]
    NotAFolder(PathBuf),
    #[error("`{}` is a symbolic link, and svc accepts only a folder there; remove the link", .0.display())]
    Link(PathBuf),
    #[error(
        "`{}` belongs to user id {owner}, who could replace the files in it, and you are {user}; remove it, choose a folder of your own, or run this command as its owner",
        path.display()
    )]
    ForeignOwner {
        path: PathBuf,
        owner: u32,
        user: u32,
    },
    #[error(
        "other users have access to the folder `{}` (mode {mode:04o}); check its contents, then run `chmod {change} {}`",
        path.display(),
        path.display()
    )]
    OthersHaveAccess {
        path: PathBuf,
        mode: u32,
        change: &'static str,
    },
    #[error(
        "the file `{}` belongs to user id {owner}, who could change it, and you are {user}; remove it, give it to user id {user} with `chown`, or run this command as its owner",
        path.display()
    )]
    ForeignFile {
        path: PathBuf,
        owner: u32,
        user: u32,
    },
    #[error(
        "other users can write the file `{}` (mode {mode:04o}); check its contents, then run `chmod go-w {}`",
        path.display(),
        path.display()
    )]
    FileOthersCanWrite { path: PathBuf, mode: u32 },
    /// Such as `/tmp`, or a volume in memory of a container.
    #[error(
        "other users can write the folder `{}` of root (mode {mode:04o}); choose a new folder inside it, which svc creates with access for you only",
        path.display()
    )]
    SharedByRoot { path: PathBuf, mode: u32 },
}

impl From<FolderError> for io::Error {
    fn from(refusal: FolderError) -> Self {
        let kind = match &refusal {
            FolderError::Io { error, .. } => error.kind(),
            FolderError::NotAFolder(_) => io::ErrorKind::NotADirectory,
            _ => io::ErrorKind::PermissionDenied,
        };
        Self::new(kind, refusal)
    }
}

/// An opened folder that other users cannot change.
#[derive(Debug)]
pub struct OwnFolder {
    path: PathBuf,
    handle: File,
}

/// Creates the folder with access for its owner only, unless it exists, and opens it. A folder that
/// does not meet the rules of its kind is refused. With [`FolderKind::Chosen`], missing parent
/// folders are created too.
pub fn own_folder(path: &Path, kind: FolderKind) -> Result<OwnFolder, FolderError> {
    let created = DirBuilder::new()
        .mode(0o700)
        .recursive(kind == FolderKind::Chosen)
        .create(path);
    match created {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(path)(error)),
        _ => OwnFolder::open(path, kind),
    }
}

impl OwnFolder {
    /// Opens an existing folder, and refuses a folder that does not meet the rules of its kind.
    pub fn open(path: &Path, kind: FolderKind) -> Result<Self, FolderError> {
        Self::open_as(path, kind, own_uid())
    }

    fn open_as(path: &Path, kind: FolderKind, user: u32) -> Result<Self, FolderError> {
        let mut flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if kind == FolderKind::Internal {
            flags |= OFlags::NOFOLLOW;
        }
        let itself = fs::symlink_metadata(path).map_err(failed(path))?;
        if itself.is_symlink() {
            if kind == FolderKind::Internal {
                return Err(FolderError::Link(path.to_owned()));
            }
            // The owner of a link chooses its target.
            check_owner(path, kind, itself.uid(), user)?;
        } else if !itself.is_dir() {
            return Err(FolderError::NotAFolder(path.to_owned()));
        }
        let opened = rustix::fs::open(path, flags, Mode::empty());
        let handle = File::from(opened.map_err(|error| failed(path)(error.into()))?);
        // The metadata of the opened folder: the path may lead to another folder by now.
        let found = handle.metadata().map_err(failed(path))?;
        check_owner(path, kind, found.uid(), user)?;
        check_mode(path, kind, found.mode() & 0o7777, found.uid() == user)?;
        Ok(Self {
            path: path.to_owned(),
            handle,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes or replaces a file atomically: a reader never sees a part of it. Only this user can
    /// read the file.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.put(name, bytes, |partial, _| self.rename(partial, name))
    }

    /// Like [`write`](Self::write). The file survives a crash of the machine right afterwards.
    pub fn write_durably(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.put(name, bytes, |partial, file| {
            file.sync_all()?;
            self.rename(partial, name)?;
            self.handle.sync_all()
        })
    }

    /// Like [`write_durably`](Self::write_durably), but fails with `AlreadyExists` if the file
    /// exists.
    pub fn write_new(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.put(name, bytes, |partial, file| {
            file.sync_all()?;
            linkat(&self.handle, partial, &self.handle, name, AtFlags::empty())?;
            self.remove(partial)?;
            self.handle.sync_all()
        })
    }

    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open_file(name, OFlags::RDONLY)?
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Opens a file for a lock. Creates the file if it is missing.
    pub fn open_lock(&self, name: &str) -> io::Result<File> {
        self.open_file(name, OFlags::WRONLY | OFlags::CREATE)
    }

    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    fn open_file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.handle, name, flags, PRIVATE_FILE)?.into())
    }

    /// Writes the bytes to a new file with a random name, which other users cannot guess, and gives
    /// the file its name with `finish`.
    fn put(
        &self,
        name: &str,
        bytes: &[u8],
        finish: impl FnOnce(&str, &File) -> io::Result<()>,
    ) -> io::Result<()> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let partial = format!("{name}.{random:016x}.tmp");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mut file = self.open_file(&partial, flags)?;
        let written = file.write_all(bytes);
        let put = written.and_then(|()| finish(&partial, &file));
        put.inspect_err(|_| {
            let _ = self.remove(&partial);
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.handle, from, &self.handle, to)?)
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |error| FolderError::Io { path, error }
}

fn check_owner(path: &Path, kind: FolderKind, owner: u32, user: u32) -> Result<(), FolderError> {
    if owner == user || (kind == FolderKind::Chosen && owner == 0) {
        return Ok(());
    }
    Err(FolderError::ForeignOwner {
        path: path.to_owned(),
        owner,
        user,
    })
}

fn check_mode(path: &Path, kind: FolderKind, mode: u32, is_own: bool) -> Result<(), FolderError> {
    let path = path.to_owned();
    let (refused, change) = match kind {
        FolderKind::Internal => (0o077, "700"),
        FolderKind::Chosen if is_own => (0o022, "go-w"),
        FolderKind::Chosen if mode & 0o002 != 0 => {
            return Err(FolderError::SharedByRoot { path, mode });
        }
        FolderKind::Chosen => return Ok(()),
    };
    if mode & refused == 0 {
        return Ok(());
    }
    Err(FolderError::OthersHaveAccess { path, mode, change })
}

#[cfg(test)]
mod tests;
