//! `.svc/agent.json`: tells the CLI how to reach the agent of a folder.

use std::{io, path::Path, sync::Arc};

use svc_private::{FolderError, FolderKind, OwnFolder, own_folder};
use svc_protocol::agent_api::{DISCOVERY_FILE, Discovery, FOLDER};
use tokio::sync::watch;

use crate::{link_status::LinkStatus, servers::Servers};

/// The discovery file. Dropping this value removes the file.
pub struct DiscoveryFile {
    folder: OwnFolder,
    discovery: Discovery,
}

/// Opens the folder of the agent's own files in its working folder. Creates the folder if it is
/// missing.
pub fn agent_folder(working_folder: &Path) -> Result<OwnFolder, FolderError> {
    own_folder(&working_folder.join(FOLDER), FolderKind::Internal)
}

impl DiscoveryFile {
    pub fn create(working_folder: &Path, discovery: Discovery) -> io::Result<Self> {
        let file = Self {
            folder: agent_folder(working_folder)?,
            discovery,
        };
        file.write()?;
        Ok(file)
    }

    /// Updates the space and the server in the file when the link changes. Never returns; dropping
    /// the future removes the file.
    pub async fn follow_link(
        mut self,
        mut link: watch::Receiver<LinkStatus>,
        servers: Arc<Servers>,
    ) {
        loop {
            let status = link.borrow_and_update().clone();
            if let Err(error) = self.update(status, &servers) {
                tracing::warn!(%error, "cannot write the agent's discovery file");
            }
            if link.changed().await.is_err() {
                // There will be no other link. The file stays until this future is dropped.
                std::future::pending::<()>().await;
            }
        }
    }

    fn update(&mut self, status: LinkStatus, servers: &Servers) -> io::Result<()> {
        let mut discovery = self.discovery.clone();
        discovery.space_id = status.space.as_ref().map(|space| space.id);
        discovery.space = status.space.map(|space| space.name.to_string());
        // While there is no link, the file keeps the server that it has.
        if status.link.is_some() {
            discovery.server_url = servers.current().to_string();
        }
        if discovery == self.discovery {
            return Ok(());
        }
        self.discovery = discovery;
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        let mut json = serde_json::to_vec_pretty(&self.discovery).map_err(io::Error::other)?;
        json.push(b'\n');
        self.folder.write(DISCOVERY_FILE, &json)
    }

    fn is_ours(&self) -> bool {
        let text = self.folder.read(DISCOVERY_FILE).unwrap_or_default();
        serde_json::from_slice::<Discovery>(&text)
            .is_ok_and(|found| found.pid == self.discovery.pid)
    }
}

impl Drop for DiscoveryFile {
    fn drop(&mut self) {
        // Another agent of this folder may have replaced the file.
        if self.is_ours()
            && let Err(error) = self.folder.remove(DISCOVERY_FILE)
        {
            let folder = self.folder.path().display();
            tracing::warn!(%error, %folder, "cannot remove the discovery file");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn the_file_is_private_complete_and_removed_on_drop() {
        let folder = tempfile::tempdir().expect("a folder");
        let discovery = Discovery {
            pid: 7,
            agent_url: Some("http://127.0.0.1:1".into()),
            agent_socket: "/s".into(),
            space_id: None,
            space: None,
            server_url: "http://x".into(),
        };
        let mut file = DiscoveryFile::create(folder.path(), discovery).expect("written");
        file.discovery.space = Some("lab".into());
        file.write().expect("written again");
        let path = folder.path().join(".svc/agent.json");
        let read: Discovery =
            serde_json::from_slice(&fs::read(&path).expect("there")).expect("JSON");
        assert_eq!(read, file.discovery);
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&folder.path().join(".svc")), 0o700);
        drop(file);
        assert_eq!(
            fs::read_dir(folder.path().join(".svc"))
                .expect("there")
                .count(),
            0
        );
    }

    #[test]
    fn another_agents_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let discovery = |pid| Discovery {
            pid,
            agent_url: None,
            agent_socket: String::new(),
            space_id: None,
            space: None,
            server_url: String::new(),
        };
        let ours = DiscoveryFile::create(folder.path(), discovery(1)).expect("written");
        let theirs = DiscoveryFile::create(folder.path(), discovery(2)).expect("written");
        drop(ours);
        assert!(theirs.is_ours());
    }
}
