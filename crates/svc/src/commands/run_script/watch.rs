//! Runs the setup again when a file it loaded changes.

use std::{
    fs,
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

use tokio::{
    sync::{oneshot, watch},
    time::sleep,
};

use super::setup::{Program, Setup};

const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Files, and what they looked like.
struct Look {
    files: Vec<(PathBuf, Stamp)>,
}

/// Time and size of a file; `None` while there is none.
type Stamp = Option<(SystemTime, u64)>;

impl Look {
    fn at(files: Vec<PathBuf>) -> Self {
        let files = files
            .into_iter()
            .map(|file| {
                let stamp = stamp(&file);
                (file, stamp)
            })
            .collect();
        Self { files }
    }

    /// Looks again; whether anything is another than before.
    fn changed(&mut self) -> bool {
        let mut changed = false;
        for (file, before) in &mut self.files {
            let now = stamp(file);
            changed |= now != *before;
            *before = now;
        }
        changed
    }

    /// Files a run has loaded. One that was known before keeps its look from before the run: a
    /// change during it is one to come.
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

fn stamp(file: &PathBuf) -> Stamp {
    let found = fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// Looks for ever. A setup that fails is told of, and the former program goes on serving.
pub async fn watch(setup: Arc<Setup>, files: Vec<PathBuf>, program: watch::Sender<Arc<Program>>) {
    let mut look = Look::at(files);
    loop {
        sleep(LOOK_EVERY).await;
        if !look.changed() {
            continue;
        }
        let (done, ran) = oneshot::channel();
        let again = Arc::clone(&setup);
        // The host waits for answers, which no thread of a runtime may.
        thread::spawn(move || {
            // An error means that the server has ended meanwhile.
            let _ = done.send(again.run());
        });
        let Ok(ran) = ran.await else { continue };
        match ran.outcome {
            Ok(new) => {
                look.add(ran.files.clone());
                look.keep(&ran.files);
                program.send_replace(Arc::new(new));
                eprintln!("`{}` was run again", setup.file.display());
            }
            Err(error) => {
                look.add(ran.files);
                error.report();
                eprintln!("the former setup goes on serving");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_size_or_existence_is_seen_once() {
        let folder = std::env::temp_dir().join(format!("svc-watch-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for the test");
        let (one, two) = (folder.join("one.py"), folder.join("two.py"));
        fs::write(&one, "1").expect("writable");
        let mut look = Look::at(vec![one.clone(), two.clone()]);
        assert!(!look.changed());
        fs::write(&one, "12").expect("writable");
        assert!(look.changed() && !look.changed());
        fs::write(&two, "").expect("writable");
        assert!(look.changed() && !look.changed());
        look.keep(std::slice::from_ref(&two));
        fs::write(&one, "123").expect("writable");
        assert!(!look.changed(), "it is not watched any more");
        look.add(vec![one.clone()]);
        fs::remove_file(&one).expect("removable");
        assert!(look.changed());
        fs::remove_dir_all(&folder).expect("removable");
    }
}
