//! The CLI context of a running `svc up`, so that no login is required.
//!
//! Several runs of `svc up` may share one config folder. Each run holds the lock of its context's
//! name (`up`, `up-2` and so on), so no run replaces the context of another. The system releases
//! the lock even after kill -9, so a later run can take that name. The current context stays
//! unchanged if it belongs to a running `svc up`.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use svc_private::{FolderKind, own_folder};

use super::Ready;
use crate::{
    context::{Context, Contexts},
    environment::Environment,
    exit::Failure,
};

const NAME: &str = "up";
/// Maximum number of runs of `svc up` at the same time with one config folder.
const RUNS_MAX: u32 = 100;

/// The context, and the state to restore when the server stops.
pub struct UpContext {
    pub name: String,
    /// Whether this context became the current context.
    pub is_current: bool,
    folder: PathBuf,
    /// The previous current context, if any.
    former: Option<String>,
    _lock: File,
}

impl UpContext {
    pub fn save(environment: &Environment, ready: &Ready) -> Result<Self, Failure> {
        let folder = environment.config_folder()?;
        let (name, lock) = lock_name(&folder)?;
        let (is_current, former) = Contexts::change(&folder, |contexts| {
            contexts.put(Context {
                name: name.clone(),
                url: ready.url.clone(),
                token: ready.state.token.clone(),
                username: Some(ready.state.username.clone()),
                ..Context::default()
            });
            // A run that was killed could not restore the previous context, so its own context may
            // still be the current one.
            let former = contexts.current.clone().filter(|former| *former != name);
            let is_current = !former.as_deref().is_some_and(|it| is_running(&folder, it));
            if is_current {
                contexts.current = Some(name.clone());
            }
            Ok((is_current, former))
        })?;
        Ok(Self {
            name,
            is_current,
            folder,
            former,
            _lock: lock,
        })
    }

    /// Restores the previous current context, unless the user has chosen another one.
    pub fn restore(self) -> Result<(), Failure> {
        Contexts::change(&self.folder, |contexts| {
            if contexts.current.as_ref() == Some(&self.name) {
                contexts.current = self.former.filter(|former| {
                    contexts.find(former).is_some()
                        && (!is_up_name(former) || is_running(&self.folder, former))
                });
            }
            Ok(())
        })
    }
}

/// Locks the first name that no running `svc up` has.
fn lock_name(folder: &Path) -> Result<(String, File), Failure> {
    let saved = Contexts::load(folder)?;
    for number in 1..=RUNS_MAX {
        let name = match number {
            1 => NAME.to_owned(),
            number => format!("{NAME}-{number}"),
        };
        let file = lock_file(&name);
        let path = folder.join(&file);
        // Without a lock file, the user created this context: do not replace it. The first name is
        // documented as the name that `svc up` uses, so it is not checked.
        if number > 1 && saved.find(&name).is_some() && !path.exists() {
            continue;
        }
        match try_lock(folder, &file) {
            Ok(Some(lock)) => return Ok((name, lock)),
            Ok(None) => {}
            Err(error) => {
                let what = format!("cannot lock the context `{name}` with `{}`", path.display());
                return Err(Failure::failed(what).why(error));
            }
        }
    }
    let what = format!(
        "{RUNS_MAX} runs of `svc up` already use `{}`",
        folder.display()
    );
    Err(Failure::failed(what).hint("stop one of them"))
}

/// `None` if another process holds the lock.
fn try_lock(folder: &Path, name: &str) -> io::Result<Option<File>> {
    let file = own_folder(folder, FolderKind::Chosen)?.open_lock(name)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The file that a run of `svc up` locks, by the name of its context.
fn lock_file(name: &str) -> String {
    format!("{name}.lock")
}

fn is_up_name(name: &str) -> bool {
    match name.strip_prefix(NAME) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('-').is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        }),
        None => false,
    }
}

/// Whether a context belongs to a running `svc up`.
fn is_running(folder: &Path, name: &str) -> bool {
    let file = lock_file(name);
    is_up_name(name) && folder.join(&file).exists() && matches!(try_lock(folder, &file), Ok(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_its_own_name_until_it_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let lock = || lock_name(folder).expect("a name");
        let (first, first_lock) = lock();
        let (second, _second_lock) = lock();
        assert_eq!((first.as_str(), second.as_str()), ("up", "up-2"));
        assert!(is_running(folder, "up") && is_running(folder, "up-2"));
        drop(first_lock);
        assert!(!is_running(folder, "up") && is_running(folder, "up-2"));
        assert_eq!(lock().0, "up");
        for other in ["work", "up-", "up-x", "upper", "../up"] {
            assert!(!is_up_name(other), "{other}");
        }
    }

    #[test]
    fn a_context_of_the_user_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let theirs = Context {
            name: "up-2".into(),
            url: "http://example.com".into(),
            token: "svc_pat_x".into(),
            token_id: None,
            username: None,
            ca_file: None,
        };
        Contexts::change(folder, |contexts| {
            contexts.put(theirs);
            Ok(())
        })
        .expect("saved");
        let (_, _first) = lock_name(folder).expect("a name");
        assert_eq!(lock_name(folder).expect("a name").0, "up-3");
    }
}
