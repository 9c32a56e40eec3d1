//! Reads the files of the certificate again when they change. If the new files cannot be used, the
//! former certificate stays in use. Existing connections keep their certificate.

use std::{error::Error, fs, os::unix::fs::MetadataExt, path::Path, sync::Arc, time::Duration};

use parking_lot::RwLock;
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::{ServedCertificate, TlsError, read};
use crate::{metrics::Metrics, options::TlsFiles};

/// Interval of checks for changed files. Notifications by the system do not work on every file
/// system, and miss a symbolic link whose target changes.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Replaces the served certificate when its files change.
pub struct Reloader {
    files: TlsFiles,
    served: Arc<ServedCertificate>,
    /// The state of the files that were last read, whether or not they could be used.
    read: FileStates,
}

impl Reloader {
    /// Reads the files for the first time.
    pub(super) fn new(files: &TlsFiles) -> Result<Self, TlsError> {
        // The states are read before the files, so that a later change of a file is noticed.
        let states = FileStates::of(files);
        Ok(Self {
            served: Arc::new(ServedCertificate(RwLock::new(read(files)?))),
            read: states,
            files: files.clone(),
        })
    }

    pub(super) fn served(&self) -> Arc<ServedCertificate> {
        Arc::clone(&self.served)
    }

    pub async fn run(mut self, metrics: Arc<Metrics>, shutdown: CancellationToken) {
        // The certificate and its key are replaced one after the other. So changed files are read
        // only when two successive checks find them in the same state.
        let mut changed = None;
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = shutdown.cancelled() => return,
            }
            let files = self.files.clone();
            let found = in_background(move || FileStates::of(&files)).await;
            if found == self.read {
                changed = None;
            } else if changed != Some(found) {
                changed = Some(found);
            } else {
                self.read = found;
                self.reload(&metrics).await;
            }
        }
    }

    async fn reload(&self, metrics: &Metrics) {
        let files = self.files.clone();
        let reloaded: Result<Arc<CertifiedKey>, TlsError> =
            in_background(move || read(&files)).await;
        let cert = self.files.cert.display();
        match reloaded {
            Ok(certificate) => {
                metrics.count_tls_reload(true);
                *self.served.0.write() = certificate;
                info!("new connections get the changed certificate of `{cert}`");
            }
            Err(error) => {
                metrics.count_tls_reload(false);
                let reason = error.source().map(|why| format!(": {why}"));
                let reason = reason.unwrap_or_default();
                error!("the former certificate of `{cert}` stays in use: {error}{reason}");
            }
        }
    }
}

/// Runs `work` on a thread for blocking work, because the files may be on a slow file system.
async fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work)
        .await
        .expect("reading files does not panic")
}

/// The states of the certificate and its key; `None` for a file that is missing or not accessible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FileStates {
    cert: Option<FileState>,
    key: Option<FileState>,
}

/// The state of a file. It differs after every change of the file, or of a link to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FileState {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    /// Also changes with the permissions, which can make a file unreadable.
    changed: (i64, i64),
}

impl FileStates {
    fn of(files: &TlsFiles) -> Self {
        Self {
            cert: FileState::of(&files.cert),
            key: FileState::of(&files.key),
        }
    }
}

impl FileState {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}
