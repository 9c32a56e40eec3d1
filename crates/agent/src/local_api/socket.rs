//! The file of the Unix socket: private to the agent's user, and removed when the agent stops. The
//! next agent removes the file that a killed agent left behind.

use std::{
    env, fs, io,
    os::unix::{
        ffi::OsStrExt,
        fs::{FileTypeExt, MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use svc_protocol::agent_api::FOLDER;
use thiserror::Error;
use tokio::net::{UnixListener, UnixStream};

use crate::private;

/// A socket's path must fit into 108 bytes on Linux and into 104 bytes on macOS.
const PATH_BYTES_MAX: usize = 100;

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
    #[error("folder `{0}` is not private to you; set SVC_AGENT_SOCKET to a path of your own")]
    ForeignFolder(String),
    #[error("cannot create the socket `{path}`: {source}")]
    Io { path: String, source: io::Error },
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> SocketError {
    let path = path.display().to_string();
    move |source| SocketError::Io { path, source }
}

/// `.svc/agent.sock`, or a shorter path elsewhere if that path is too long for a socket.
pub fn default_socket_path(working_folder: &Path) -> Result<PathBuf, SocketError> {
    let folder = working_folder.join(FOLDER);
    let path = folder.join("agent.sock");
    if path.as_os_str().len() <= PATH_BYTES_MAX {
        private::create_folder(&folder).map_err(failed(&path))?;
        return Ok(path);
    }
    let own = rustix::process::geteuid().as_raw();
    let runtime = env::var_os("XDG_RUNTIME_DIR").map_or_else(env::temp_dir, PathBuf::from);
    let folder = runtime.join(format!("svc-{own}"));
    private::create_folder(&folder).map_err(failed(&folder))?;
    let found = fs::symlink_metadata(&folder).map_err(failed(&folder))?;
    if !found.is_dir() || found.uid() != own || found.mode() & 0o077 != 0 {
        return Err(SocketError::ForeignFolder(folder.display().to_string()));
    }
    Ok(folder.join(socket_name(working_folder)))
}

/// A short name for the socket of a folder. It must be the same in every version of svc, so that an
/// agent of another version in the same folder is detected.
pub fn socket_name(working_folder: &Path) -> String {
    let digest = Sha256::digest(working_folder.as_os_str().as_bytes());
    let start = digest.first_chunk().expect("a digest has 32 bytes");
    format!("{:016x}.sock", u64::from_be_bytes(*start))
}

/// The path of the bound socket. Dropping this value removes the file.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl SocketFile {
    pub async fn bind(path: &Path) -> Result<(UnixListener, Self), SocketError> {
        if path.as_os_str().len() > PATH_BYTES_MAX {
            return Err(SocketError::TooLong(path.display().to_string()));
        }
        remove_stale(path).await?;
        let listener = UnixListener::bind(path).map_err(failed(path))?;
        let file = Self(path.to_owned());
        // Until the mode is set, the check of each peer's user protects the socket. At the default
        // path, the private folder protects it too.
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed(path))?;
        Ok((listener, file))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, socket = %self.0.display(), "cannot remove the socket");
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

/// Only the agent's user and root may connect.
pub fn may_connect(peer_uid: u32) -> bool {
    peer_uid == 0 || peer_uid == rustix::process::geteuid().as_raw()
}
