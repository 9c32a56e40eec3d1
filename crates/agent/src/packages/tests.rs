//! The files of packages are private, exist while they are needed, and come last on `PYTHONPATH`.

use std::{ffi::OsStr, fs, os::unix::fs::PermissionsExt, path::Path};

use svc_private::{FolderKind, own_folder};
use tokio::process::Command;

use super::*;
use crate::local_api::tests::{packages, servers};

fn some(folder: &Path) -> Arc<Packages> {
    let nowhere = servers("http://127.0.0.1:1");
    let (_, link) = watch::channel(LinkStatus::default());
    packages(folder, &nowhere, link)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("packages"));
    let names = entries.into_iter().flatten().flatten();
    let mut names: Vec<_> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn python_path(path: &PythonPath, given: Option<&str>) -> Vec<String> {
    let mut command = Command::new("sh");
    if let Some(given) = given {
        command.env("PYTHONPATH", given);
    }
    path.put(&mut command);
    let set = command.as_std().get_envs();
    let set = set.filter(|(name, _)| *name == OsStr::new("PYTHONPATH"));
    let value = set.last().and_then(|(_, value)| value).expect("is set");
    let value = value.to_str().expect("text");
    value.split(':').map(str::to_owned).collect()
}

fn library(name: &str, source: &str) -> Vec<(String, String)> {
    vec![(format!("{name}.py"), source.to_owned())]
}

#[test]
fn a_version_exists_while_it_is_the_newest_or_a_program_uses_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let packages = some(folder.path());
    assert_eq!(names(folder.path()), [SVC_LIBRARIES]);
    packages.store(&library("notes", "X = 1"));
    let first = packages.python_path();
    packages.store(&library("notes", "X = 1"));
    assert_eq!(names(folder.path()).len(), 2, "nothing has changed");
    packages.store(&library("notes", "X = 2"));
    let second = packages.python_path();
    assert_eq!(names(folder.path()).len(), 3);
    drop(first);
    assert_eq!(names(folder.path()).len(), 2);
    // The same contents get a new file, because the first file may be about to be removed.
    packages.store(&library("notes", "X = 1"));
    let third = packages.python_path();
    drop(second);
    let paths = python_path(&third, None);
    let file = paths.last().expect("libraries");
    assert!(Path::new(file).is_file(), "{file}");
    let mode = fs::metadata(file).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop((packages, third));
    assert!(!folder.path().join("packages").exists());
}

#[test]
fn packages_follow_existing_entries_and_are_written_again_if_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let packages = some(folder.path());
    let svc = folder.path().join("packages").join(SVC_LIBRARIES);
    fs::remove_file(&svc).expect("was there");
    let path = packages.python_path();
    let shown = svc.display().to_string();
    assert!(svc.is_file());
    assert_eq!(python_path(&path, Some("/a:/b")), ["/a", "/b", &shown]);
    assert_eq!(python_path(&path, Some("")), [shown.as_str()]);
    packages.store(&library("notes", ""));
    let paths = python_path(&packages.python_path(), Some("/a"));
    assert_eq!(paths[..2], ["/a".to_owned(), shown]);
    assert!(paths[2].contains("/user-libraries-"), "{paths:?}");
}

#[test]
fn only_files_of_a_killed_agent_are_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join("packages").join(name);
    own_folder(&folder.path().join("packages"), FolderKind::Internal).expect("a folder");
    for name in ["user-libraries-1-1.zip", "svc-libraries.zip.1.tmp", "mine"] {
        fs::write(at(name), "old").expect("written");
    }
    let packages = some(folder.path());
    assert_eq!(names(folder.path()), ["mine", SVC_LIBRARIES]);
    assert_eq!(
        fs::read(at(SVC_LIBRARIES)).expect("there"),
        packages.svc().bytes
    );
    drop(packages);
    assert_eq!(names(folder.path()), ["mine"]);
}

#[test]
fn a_folder_with_a_colon_gets_no_packages_and_keeps_pythonpath() {
    let folder = tempfile::tempdir().expect("a folder");
    let odd = folder.path().join("a:b");
    fs::create_dir(&odd).expect("a folder");
    let packages = some(&odd);
    let mut command = Command::new("sh");
    command.env("PYTHONPATH", "/mine");
    packages.python_path().put(&mut command);
    let set: Vec<_> = command.as_std().get_envs().collect();
    assert_eq!(set, [(OsStr::new("PYTHONPATH"), Some(OsStr::new("/mine")))]);
}
