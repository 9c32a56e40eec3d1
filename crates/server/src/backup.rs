//! Creates, verifies and restores backups of the embedded database. A server may run while a backup
//! is created.
//!
//! A backup is one file that only its owner may read. It contains the database and the other files
//! of the data folder that the database needs. Files get their final name only when they are
//! complete and on disk.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use svc_core::Timestamp;
use svc_store::{
    DATABASE_FILE, FolderLock, OpenError,
    archive::{self, IncludedFile, Manifest},
    open_folder, prepare_folder,
};
use thiserror::Error;
use uuid::Uuid;

pub use svc_store::ArchiveError;

/// Files of the data folder that a backup includes if they exist.
const CARRIED_FILES: &[&str] = &["secret.key"];

#[derive(Debug, Error)]
pub enum BackupError {
    #[error("`{}` holds no database; give the data folder with --data-dir", .0.display())]
    NoDatabase(PathBuf),
    #[error("`{}` exists already; choose another name", .0.display())]
    OutExists(PathBuf),
    #[error(
        "`{}` has a database already; with --force it is renamed and replaced by the backup",
        .0.display()
    )]
    DatabaseExists(PathBuf),
    #[error("cannot {doing} `{}`", path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Folder(#[from] OpenError),
}

/// The contents of a backup.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Report {
    pub svc_version: String,
    pub schema_version: i64,
    pub created_at: Timestamp,
    pub bytes: u64,
    /// The number of rows of each table.
    pub tables: BTreeMap<String, u64>,
    /// Files other than the database.
    pub files: Vec<String>,
}

/// Backs up a data folder into a new file. A server may use the folder meanwhile. Refuses a folder
/// or files that other users can change, because links in it could lead to any file.
pub fn create(data_dir: &Path, out: &Path) -> Result<Report, BackupError> {
    let database = data_dir.join(DATABASE_FILE);
    if !database.is_file() {
        return Err(BackupError::NoDatabase(data_dir.to_owned()));
    }
    if out.exists() {
        return Err(BackupError::OutExists(out.to_owned()));
    }
    let folder = open_folder(data_dir).map_err(OpenError::from)?;
    let mut files = Vec::new();
    for name in CARRIED_FILES {
        folder.check_file(name).map_err(OpenError::from)?;
        let path = data_dir.join(name);
        match fs::read(&path) {
            Ok(content) => files.push(IncludedFile {
                name: (*name).to_owned(),
                content,
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("read", &path)(error)),
        }
    }
    let partial = PartialFile::create(out)?;
    archive::write(&database, &partial.path, &files, svc_clock::now())?;
    let report = report(&partial.path, archive::read(&partial.path)?)?;
    partial.finish(out)?;
    Ok(report)
}

/// Checks a whole backup.
pub fn verify(file: &Path) -> Result<Report, BackupError> {
    // Open the file first: the system's error is more specific than the error of SQLite.
    File::open(file).map_err(failed("open", file))?;
    report(file, archive::read(file)?)
}

/// Restores a backup into a data folder that no server uses. An existing database is replaced only
/// with `force`, and kept under another name.
pub fn restore(file: &Path, data_dir: &Path, force: bool) -> Result<Report, BackupError> {
    File::open(file).map_err(failed("open", file))?;
    let manifest = archive::read(file)?;
    prepare_folder(data_dir)?;
    let _lock = FolderLock::acquire(data_dir)?;
    let database = data_dir.join(DATABASE_FILE);
    if database.exists() && !force {
        return Err(BackupError::DatabaseExists(data_dir.to_owned()));
    }
    let partial = PartialFile::create(&database)?;
    let mut source = File::open(file).map_err(failed("open", file))?;
    io::copy(&mut source, &mut partial.open()?).map_err(failed("write", &partial.path))?;
    archive::strip_manifest(&partial.path)?;

    let old_suffix = svc_clock::now().to_string().replace(':', "-");
    keep_old(&database, &old_suffix)?;
    for carried in &manifest.files {
        // The name comes from the backup file: only names that `create` writes are accepted.
        if CARRIED_FILES.contains(&carried.name.as_str()) {
            put_file(&data_dir.join(&carried.name), &carried.content, &old_suffix)?;
        }
    }
    partial.finish(&database)?;
    report(file, manifest)
}

/// Gives an old database a second name, under which it is kept. The original name stays in use
/// until the new database replaces the old one in one step.
fn keep_old(database: &Path, old_suffix: &str) -> Result<(), BackupError> {
    let kept = with_suffix(database, &format!(".{old_suffix}"));
    if database.exists() {
        if let Err(error) = archive::checkpoint_log(database) {
            tracing::warn!(%error, "cannot read the old database; it is kept together with its log");
        }
        fs::hard_link(database, &kept).map_err(failed("keep", database))?;
    }
    // SQLite would apply a remaining log to the new database, even if there is no old database.
    for suffix in ["-wal", "-shm"] {
        let log = with_suffix(database, suffix);
        if log.exists() {
            fs::rename(&log, with_suffix(&kept, suffix)).map_err(failed("keep", &log))?;
        }
    }
    Ok(())
}

fn put_file(path: &Path, content: &[u8], old_suffix: &str) -> Result<(), BackupError> {
    if path.exists() {
        let kept = with_suffix(path, &format!(".{old_suffix}"));
        fs::hard_link(path, &kept).map_err(failed("keep", path))?;
    }
    let partial = PartialFile::create(path)?;
    partial
        .open()?
        .write_all(content)
        .map_err(failed("write", &partial.path))?;
    partial.finish(path)
}

/// An unfinished file: it has a temporary name, in the folder where it will get its final name.
/// Dropping this value removes the file, unless [`finish`](Self::finish) was called.
struct PartialFile {
    path: PathBuf,
}

impl PartialFile {
    fn create(target: &Path) -> Result<Self, BackupError> {
        let path = with_suffix(target, &format!(".{}.partial", Uuid::now_v7().simple()));
        OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed("create", &path))?;
        Ok(Self { path })
    }

    fn open(&self) -> Result<File, BackupError> {
        OpenOptions::new()
            .write(true)
            .open(&self.path)
            .map_err(failed("open", &self.path))
    }

    /// Makes the file durable and renames it to its final name.
    fn finish(self, target: &Path) -> Result<(), BackupError> {
        self.open()?
            .sync_all()
            .map_err(failed("write", &self.path))?;
        fs::rename(&self.path, target).map_err(failed("write", target))?;
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed("write", target))
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // Fails if the file was finished: then it has its final name.
        let _ = fs::remove_file(&self.path);
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::Io {
        doing,
        path,
        source,
    }
}

fn report(file: &Path, manifest: Manifest) -> Result<Report, BackupError> {
    let bytes = fs::metadata(file).map_err(failed("read", file))?.len();
    Ok(Report {
        svc_version: manifest.svc_version,
        schema_version: manifest.schema_version,
        created_at: manifest.created_at,
        bytes,
        tables: manifest.tables,
        files: manifest.files.into_iter().map(|file| file.name).collect(),
    })
}

#[cfg(test)]
mod tests;
