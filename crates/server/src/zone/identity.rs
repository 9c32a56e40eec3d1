//! The id of this server. It is stored in the data folder, so that a restarted server resumes its
//! own spaces and lanes.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use svc_core::ServerId;
use svc_private::{FolderKind, OwnFolder};
use thiserror::Error;
use uuid::Uuid;

pub(super) const FILE: &str = "server.id";

#[derive(Debug, Error)]
pub enum ServerIdError {
    #[error("cannot read or create `{}`", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("`{}` does not contain a server id; remove the file to create a new id", path.display())]
    Damaged { path: PathBuf },
}

/// The id of the server with this data folder. Creates the id if the folder has none.
pub fn own_id(data_dir: &Path) -> Result<ServerId, ServerIdError> {
    match find_id(data_dir)? {
        Some(id) => Ok(id),
        None => {
            let id = ServerId(Uuid::now_v7());
            set_id(data_dir, id).map(|()| id)
        }
    }
}

/// The id of the server with this data folder; `None` if the folder has no id.
pub(crate) fn find_id(data_dir: &Path) -> Result<Option<ServerId>, ServerIdError> {
    let path = data_dir.join(FILE);
    let folder = OwnFolder::open(data_dir, FolderKind::Chosen);
    let checked = folder.and_then(|folder| folder.check_file(FILE));
    if let Err(refusal) = checked {
        let source = refusal.into();
        return Err(ServerIdError::File { path, source });
    }
    match fs::read_to_string(&path) {
        Ok(text) => match text.trim().parse() {
            Ok(id) => Ok(Some(id)),
            Err(_) => Err(ServerIdError::Damaged { path }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ServerIdError::File { path, source }),
    }
}

/// Sets the id of the server with this data folder.
pub(crate) fn set_id(data_dir: &Path, id: ServerId) -> Result<(), ServerIdError> {
    let written = || {
        let folder = OwnFolder::open(data_dir, FolderKind::Chosen)?;
        folder.write_durably(FILE, format!("{id}\n").as_bytes())
    };
    written().map_err(|source| ServerIdError::File {
        path: data_dir.join(FILE),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_once_and_a_damaged_one_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let first = own_id(folder.path()).expect("made");
        assert_eq!(own_id(folder.path()).expect("read"), first);
        fs::write(folder.path().join(FILE), "x").expect("written");
        let error = own_id(folder.path()).expect_err("damaged");
        assert!(error.to_string().contains("server.id"), "{error}");
    }
}
