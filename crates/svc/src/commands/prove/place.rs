//! Where a run works: a new folder, and for a zone a new schema of a PostgreSQL database. Nothing
//! that existed before is changed or removed.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use svc_private::{FolderKind, own_folder};

use super::server::MARKER;
use crate::exit::{Failure, OrFail};

/// The folder of a run.
pub struct Folder {
    pub path: PathBuf,
    /// Whether the folder existed, empty, before the run.
    existed: bool,
}

impl Folder {
    /// Creates the folder, or takes an empty folder.
    pub fn create(path: PathBuf) -> Result<Self, Failure> {
        let failed = "cannot create the folder";
        let existed = match fs::read_dir(&path) {
            Ok(mut entries) => {
                if entries.next().is_some() {
                    let what = format!("the folder `{}` is not empty", path.display());
                    return Err(Failure::refused(what).hint(
                        "name a new folder with --folder; svc prove never uses existing data",
                    ));
                }
                true
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error).or_fail_at(failed, &path),
        };
        let created = own_folder(&path, FolderKind::Chosen).map_err(io::Error::from);
        created.or_fail_at(failed, &path)?;
        let text =
            "This folder belongs to a run of `svc prove`. It may be removed after the run.\n";
        fs::write(path.join(MARKER), text).or_fail_at(failed, &path)?;
        Ok(Self { path, existed })
    }

    /// Removes the contents, and the folder itself if the run created it.
    pub fn remove(&self) -> Result<(), Failure> {
        let removed = match self.existed {
            true => remove_contents(&self.path),
            false => fs::remove_dir_all(&self.path),
        };
        removed.or_fail_at("cannot remove", &self.path)
    }
}

fn remove_contents(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn a_folder_with_a_file_is_refused_and_unchanged() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("mine"), "x").expect("writable");
        let refused = Folder::create(folder.path().to_owned()).err();
        assert_eq!(refused.map(|failure| failure.exit), Some(Exit::Refused));
        assert_eq!(fs::read_dir(folder.path()).expect("there").count(), 1);
    }

    #[test]
    fn a_folder_that_existed_stays_and_a_created_folder_is_removed() {
        let parent = tempfile::tempdir().expect("a folder");
        let existing = Folder::create(parent.path().to_owned()).expect("empty");
        let created = Folder::create(parent.path().join("a/b")).expect("new");
        fs::write(created.path.join("file"), "x").expect("writable");
        created.remove().expect("removed");
        assert!(!created.path.exists());
        existing.remove().expect("removed");
        assert_eq!(fs::read_dir(parent.path()).expect("there").count(), 0);
    }
}
