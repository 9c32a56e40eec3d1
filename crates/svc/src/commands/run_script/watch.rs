//! Runs the setup again when a file that it loaded changes.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

use tokio::{
    sync::{oneshot, watch},
    time::sleep,
};

use super::setup::{Program, Setup};

const POLL_INTERVAL: Duration = Duration::from_millis(300);
/// Limits of the search for Python files after a failed setup: files, and levels of folders.
const FOUND_MAX: usize = 2_000;
const DEPTH_MAX: usize = 3;

/// The watched files and their last known stamps.
struct WatchedFiles {
    files: Vec<(PathBuf, Stamp)>,
}

/// Modification time and size of a file; `None` if the file does not exist.
type Stamp = Option<(SystemTime, u64)>;

impl WatchedFiles {
    fn at(files: Vec<PathBuf>) -> Self {
        let mut watched = Self { files: Vec::new() };
        watched.add(files);
        watched
    }

    /// Reads the stamps again; `true` if any changed.
    fn changed(&mut self) -> bool {
        let mut changed = false;
        for (file, before) in &mut self.files {
            let now = stamp(file);
            changed |= now != *before;
            *before = now;
        }
        changed
    }

    /// Adds the files that a run has loaded. A known file keeps its stamp from before the run, so
    /// that a change during the run is noticed.
    fn add(&mut self, files: Vec<PathBuf>) {
        for file in files {
            if !self.files.iter().any(|(known, _)| *known == file) {
                let stamp = stamp(&file);
                self.files.push((file, stamp));
            }
        }
    }

    fn keep(&mut self, files: &[PathBuf]) {
        self.files.retain(|(known, _)| files.contains(known));
    }
}

fn stamp(file: &Path) -> Stamp {
    let found = fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// The Python files in a folder and in the folders below it, within the limits.
fn python_files(folder: &Path) -> BTreeMap<PathBuf, Stamp> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            if found.len() >= FOUND_MAX {
                return found;
            }
            let path = entry.path();
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if !is_hidden && depth < DEPTH_MAX {
                    folders.push((path, depth + 1));
                }
            } else if path.extension().is_some_and(|extension| extension == "py") {
                let stamp = stamp(&path);
                found.insert(path, stamp);
            }
        }
    }
    found
}

/// Watches until cancelled. If the setup fails, the error is printed and the previous program stays
/// in service.
pub async fn watch(setup: Arc<Setup>, files: Vec<PathBuf>, program: watch::Sender<Arc<Program>>) {
    let mut watched = WatchedFiles::at(files);
    let folder = setup.folder();
    // The Python files that existed before the last run, if that run failed. A file that appears or
    // changes later may correct the failure. Listed before the run, so that a change during the run
    // is noticed.
    let mut failed: Option<BTreeMap<PathBuf, Stamp>> = None;
    loop {
        sleep(POLL_INTERVAL).await;
        let is_same = |before: &BTreeMap<_, _>| *before == python_files(&folder);
        if !watched.changed() && failed.as_ref().is_none_or(is_same) {
            continue;
        }
        let before = python_files(&folder);
        let (done, ran) = oneshot::channel();
        let again = Arc::clone(&setup);
        // The host blocks, so it needs a thread outside of the runtime.
        thread::spawn(move || {
            // An error means that the watch was cancelled.
            let _ = done.send(again.run());
        });
        let Ok(ran) = ran.await else { continue };
        match ran.outcome {
            Ok(new) => {
                watched.add(ran.files.clone());
                watched.keep(&ran.files);
                failed = None;
                program.send_replace(Arc::new(new));
                eprintln!("reloaded `{}`", setup.file.display());
            }
            Err(error) => {
                watched.add(ran.files);
                failed = Some(before);
                error.report();
                eprintln!("the previous setup stays in service");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_python_file_is_seen_in_the_folder_and_in_packages() {
        let folder = svc_testkit::TempDir::new().expect("a folder");
        let folder = folder.path();
        for inner in ["pack", ".hidden"] {
            fs::create_dir(folder.join(inner)).expect("made");
        }
        let mut before = python_files(folder);
        for (file, is_seen) in [
            ("late.py", true),
            ("pack/late.py", true),
            ("late.txt", false),
            (".hidden/late.py", false),
        ] {
            fs::write(folder.join(file), "1").expect("written");
            let now = python_files(folder);
            assert_eq!(now != before, is_seen, "{file}");
            before = now;
        }
    }

    #[test]
    fn a_change_of_size_or_existence_is_seen_once() {
        let folder = std::env::temp_dir().join(format!("svc-watch-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the test");
        let (one, two) = (folder.join("one.py"), folder.join("two.py"));
        fs::write(&one, "1").expect("writable");
        let mut watched = WatchedFiles::at(vec![one.clone(), two.clone()]);
        assert!(!watched.changed());
        fs::write(&one, "12").expect("writable");
        assert!(watched.changed() && !watched.changed());
        fs::write(&two, "").expect("writable");
        assert!(watched.changed() && !watched.changed());
        watched.keep(std::slice::from_ref(&two));
        fs::write(&one, "123").expect("writable");
        assert!(!watched.changed(), "the file is not watched any more");
        watched.add(vec![one.clone()]);
        fs::remove_file(&one).expect("removable");
        assert!(watched.changed());
        fs::remove_dir_all(&folder).expect("removable");
    }
}
