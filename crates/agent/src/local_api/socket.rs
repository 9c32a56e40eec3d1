//! The file of the Unix socket: private to the agent's user, and removed when the agent stops. The
//! next agent removes the file that a killed agent left behind.

use std::{
    env,
    fs::{self, File},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileTypeExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, Mode, fchmod, unlinkat};
use svc_crypto::sha256;
use svc_private::{FolderError, FolderKind, own_folder, own_uid};
use svc_protocol::agent_api::FOLDER;
use thiserror::Error;
use tokio::net::{UnixListener, UnixSocket, UnixStream};

use crate::discovery::agent_folder;

/// A socket's path must fit into 108 bytes on Linux and into 104 bytes on macOS.
const PATH_BYTES_MAX: usize = 100;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1_024;

#[derive(Debug, Error)]
pub enum SocketError {
    #[error(
        "another agent listens on `{0}`; stop it with `svc agent stop`, or set SVC_AGENT_SOCKET to another path"
    )]
    InUse(String),
    #[error("`{0}` exists and is not a socket; remove it, or set SVC_AGENT_SOCKET to another path")]
    NotASocket(String),
    #[error(
        "socket path `{0}` has more than {PATH_BYTES_MAX} bytes; set SVC_AGENT_SOCKET to a shorter one"
    )]
    TooLong(String),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("cannot create the socket `{path}`: {source}")]
    Io { path: String, source: io::Error },
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> SocketError {
    let path = path.display().to_string();
    move |source| SocketError::Io { path, source }
}

/// `.svc/agent.sock`, or a shorter path elsewhere if that path is too long for a socket.
pub fn default_socket_path(working_folder: &Path) -> Result<PathBuf, SocketError> {
    let path = working_folder.join(FOLDER).join("agent.sock");
    if path.as_os_str().len() <= PATH_BYTES_MAX {
        agent_folder(working_folder)?;
        return Ok(path);
    }
    let runtime = env::var_os("XDG_RUNTIME_DIR").map_or_else(env::temp_dir, PathBuf::from);
    let folder = runtime.join(format!("svc-{}", own_uid()));
    own_folder(&folder, FolderKind::Internal)?;
    Ok(folder.join(socket_name(working_folder)))
}

/// A short name for the socket of a folder. It must be the same in every version of svc, so that an
/// agent of another version in the same folder is detected.
pub fn socket_name(working_folder: &Path) -> String {
    let hash = sha256(working_folder.as_os_str().as_bytes());
    let start = hash.first_chunk().expect("a hash has 32 bytes");
    format!("{:016x}.sock", u64::from_be_bytes(*start))
}

/// The file of the bound socket. Dropping this value removes the file.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Another folder may be at the path when the agent stops.
    folder: File,
}

impl SocketFile {
    pub async fn bind(path: &Path) -> Result<(UnixListener, Self), SocketError> {
        if path.as_os_str().len() > PATH_BYTES_MAX {
            return Err(SocketError::TooLong(path.display().to_string()));
        }
        remove_stale(path).await?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let folder = File::open(folder).map_err(failed(path))?;
        let listener = listen(path).map_err(failed(path))?;
        let path = path.to_owned();
        Ok((listener, Self { path, folder }))
    }
}

/// Linux gives the new file the mode of the socket, so the file is never accessible for others. On
/// other systems the check of each peer's user protects the socket until its mode is set.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let socket = UnixSocket::new_stream()?;
    if cfg!(target_os = "linux") {
        fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    }
    socket.bind(path)?;
    if !cfg!(target_os = "linux") {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    socket.listen(BACKLOG)
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let name = self.path.file_name().expect("a bound path has a name");
        let removed = unlinkat(&self.folder, name, AtFlags::empty()).map_err(io::Error::from);
        if let Err(error) = removed
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, socket = %self.path.display(), "cannot remove the socket");
        }
    }
}

/// Removes the socket of an agent that was killed. Fails if an agent answers on the socket.
async fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let shown = || path.display().to_string();
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(path)(error)),
    };
    if !found.file_type().is_socket() {
        return Err(SocketError::NotASocket(shown()));
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed(path))
        }
        Err(error) => Err(failed(path)(error)),
        Ok(_) => Err(SocketError::InUse(shown())),
    }
}
