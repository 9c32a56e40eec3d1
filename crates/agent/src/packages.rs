//! The Python packages of a space: the `svc` library, the owner's libraries on the server, and the
//! global libraries (spec 4.2).
//!
//! The local API serves the packages as zip archives. For programs that the agent starts, the
//! packages are also files on `PYTHONPATH`, so that `import svc` works without an installation. The
//! agent starts a program even if a package is missing.

mod file;

pub use file::PythonPath;

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use parking_lot::Mutex;
use svc_core::zip;
use svc_script::package;
use thiserror::Error;
use tokio::{sync::watch, time::timeout};

use self::file::{Package, remove_stale};
use crate::{
    link_status::LinkStatus,
    server_api::{ServerApi, ServerApiError},
};

/// Archive of the `svc` library.
pub const SVC_LIBRARIES: &str = "svc-libraries.zip";
/// Archive of the owner's libraries and the global libraries.
pub const USER_LIBRARIES: &str = "user-libraries.zip";

/// Why the archive of libraries is unavailable.
#[derive(Debug, Error)]
pub enum PackagesError {
    #[error(
        "the agent is not linked to its server{}, and has not read the libraries yet",
        .0.as_ref().map_or_else(String::new, |why| format!(" ({why})"))
    )]
    NotLinked(Option<String>),
    #[error("the libraries could not be read from the server: {0}")]
    Server(#[from] ServerApiError),
    #[error("the server did not send the libraries in time")]
    TimedOut,
}

pub struct Packages {
    server: Arc<ServerApi>,
    link: watch::Receiver<LinkStatus>,
    folder: PathBuf,
    svc: Package,
    libraries: Mutex<Libraries>,
    /// When the last successful read began. Locked during a read.
    read: tokio::sync::Mutex<Option<Instant>>,
}

/// The libraries as last read.
#[derive(Default)]
struct Libraries {
    /// `None` until the libraries have been read.
    package: Option<Arc<Package>>,
    /// Counts the changes of the libraries.
    version: u64,
}

/// The bytes of an archive and its entity tag.
#[derive(Clone, Debug)]
pub struct Archive {
    pub bytes: Bytes,
    /// Quotes included.
    pub etag: String,
}

impl Packages {
    /// `folder` is created when the first file is written.
    pub fn new(folder: PathBuf, server: Arc<ServerApi>, link: watch::Receiver<LinkStatus>) -> Self {
        remove_stale(&folder);
        let svc = Package::new(package::svc_libraries(), folder.join(SVC_LIBRARIES));
        // Write the file now, for users who start Python by hand.
        svc.file();
        Self {
            server,
            link,
            svc,
            folder,
            libraries: Mutex::default(),
            read: tokio::sync::Mutex::default(),
        }
    }

    /// Reads the libraries at each new link. Returns when the agent stops reconnecting.
    pub async fn refresh_on_each_link(&self) {
        let mut link = self.link.clone();
        loop {
            if link.borrow_and_update().link.is_some()
                && let Err(error) = self.refresh().await
            {
                tracing::warn!(%error, "the libraries could not be read from the server");
            }
            if link.changed().await.is_err() {
                return;
            }
        }
    }

    /// Reads the libraries from the server, for at most `limit`. Failures are only logged.
    pub async fn refresh_within(&self, limit: Duration) {
        if self.link.borrow().link.is_none() {
            return;
        }
        match timeout(limit, self.refresh()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the libraries were not updated"),
            Err(_) => tracing::debug!("the libraries were not updated: the server is slow"),
        }
    }

    pub fn svc(&self) -> Archive {
        self.svc.archive.clone()
    }

    /// Reads the libraries from the server. If that fails, returns the libraries of the last
    /// successful read.
    pub async fn get_libraries(&self, limit: Duration) -> Result<Archive, PackagesError> {
        let status = self.link.borrow().clone();
        let refreshed = match status.link {
            None => Err(PackagesError::NotLinked(status.error)),
            Some(_) => match timeout(limit, self.refresh()).await {
                Ok(refreshed) => refreshed.map_err(PackagesError::from),
                Err(_) => Err(PackagesError::TimedOut),
            },
        };
        let known = self.libraries.lock().package.clone();
        match (known, refreshed) {
            (Some(known), _) => Ok(known.archive.clone()),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => unreachable!("a successful read stores the libraries"),
        }
    }

    /// The files of the packages, for a program that is about to start.
    pub fn python_path(&self) -> PythonPath {
        let libraries = self.libraries.lock().package.clone();
        let files = std::iter::once(self.svc.file())
            .chain(libraries.iter().map(|libraries| libraries.file()))
            .flatten();
        PythonPath(files.collect())
    }

    /// Reads the libraries from the server. Callers that arrive during a read share the next read.
    async fn refresh(&self) -> Result<(), ServerApiError> {
        let asked = Instant::now();
        let mut read = self.read.lock().await;
        if read.is_some_and(|begun| begun >= asked) {
            return Ok(());
        }
        let begun = Instant::now();
        let files: Vec<_> = self
            .server
            .libraries()
            .await?
            .into_iter()
            .map(|(name, source)| (format!("{name}.py"), source))
            .collect();
        self.store(&files);
        *read = Some(begun);
        Ok(())
    }

    fn store(&self, files: &[(String, String)]) {
        let bytes = zip::archive(files);
        let etag = package::etag(&bytes);
        let mut libraries = self.libraries.lock();
        let known = libraries.package.as_ref();
        if known.is_some_and(|known| known.archive.etag == etag) {
            return;
        }
        libraries.version += 1;
        // A new file name for each version: a running Python reads an archive piece by piece, so
        // the file must not change.
        let version = format!("-{}-{}.zip", std::process::id(), libraries.version);
        let path = self.folder.join(USER_LIBRARIES.replace(".zip", &version));
        libraries.package = Some(Arc::new(Package::new(bytes, path)));
        tracing::info!(
            libraries = files.len(),
            "the space's libraries have changed"
        );
    }
}

#[cfg(test)]
mod tests;
