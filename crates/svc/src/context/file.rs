//! `contexts.toml` in the user's config folder. It contains tokens, so only the user may read it.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use svc_client::{Client, Target};
use svc_private::{FolderKind, own_folder, read_found};
use svc_protocol::{document, registration_file::place};

use crate::exit::{Failure, OrFail};

const FILE_NAME: &str = "contexts.toml";
/// Locked while a command changes the contexts. The file itself is never removed.
const LOCK_FILE: &str = "contexts.lock";

/// A server and a credential for it, under a name.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    pub name: String,
    pub url: String,
    pub token: String,
    /// Used by `svc logout` to revoke the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// PEM file of authorities that are trusted in addition to the machine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
}

impl Context {
    pub fn target(&self) -> Result<Target, Failure> {
        Ok(Target::parse(&self.url, self.ca_file.as_deref())?)
    }

    pub fn client(&self) -> Result<Client, Failure> {
        Ok(Client::new(self.target()?).with_token(&self.token))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({} at {})", self.name, self.url)
    }
}

/// All saved contexts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Contexts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    pub contexts: Vec<Context>,
}

impl Contexts {
    pub fn path(config_folder: &Path) -> PathBuf {
        config_folder.join(FILE_NAME)
    }

    pub fn load(config_folder: &Path) -> Result<Self, Failure> {
        let path = Self::path(config_folder);
        let unreadable = || {
            let path = path.display();
            Failure::failed(format!("cannot read the saved contexts in `{path}`"))
        };
        let text = match read_found(&path) {
            Ok(Ok(Some(text))) => text,
            Ok(Ok(None)) => return Ok(Self::default()),
            // Commands would send their credential and params to a server of another user.
            Ok(Err(untrusted)) => return Err(unreadable().why(untrusted)),
            Err(error) => return Err(unreadable().why(error)),
        };
        document::read_toml(&text).map_err(|error| {
            // No excerpt: the line may contain a token.
            let file = path.display().to_string();
            let mut fault = place(&file, &text, error.span, &error.message);
            fault.excerpt = None;
            Failure::failed(fault.to_string())
                .hint("correct the file, or remove it and log in again: svc login <url>")
        })
    }

    /// Loads, changes and saves the contexts under a lock, so that no change of another command is
    /// lost.
    pub fn change<T>(
        config_folder: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let path = config_folder.join(LOCK_FILE);
        let lock = own_folder(config_folder, FolderKind::Chosen)
            .map_err(io::Error::from)
            .and_then(|folder| folder.open_lock(LOCK_FILE))
            .and_then(|lock| lock.lock().map(|()| lock));
        let _lock = lock.or_fail_at("cannot lock the contexts with", &path)?;
        let mut contexts = Self::load(config_folder)?;
        let changed = change(&mut contexts)?;
        contexts.save(config_folder)?;
        Ok(changed)
    }

    pub(super) fn save(&self, config_folder: &Path) -> Result<(), Failure> {
        let text = toml::to_string_pretty(self).expect("contexts are always TOML");
        write_private(config_folder, FILE_NAME, text.as_bytes())
            .or_fail_at("cannot save the contexts in", &Self::path(config_folder))
    }

    pub fn find(&self, name: &str) -> Option<&Context> {
        self.contexts.iter().find(|context| context.name == name)
    }

    pub fn get(&self, name: &str) -> Result<&Context, Failure> {
        self.find(name).ok_or_else(|| {
            Failure::not_found(format!("context `{name}` does not exist")).hint("svc context list")
        })
    }

    pub fn find_current(&self) -> Option<&Context> {
        self.find(self.current.as_deref()?)
    }

    /// Adds a context, or replaces the one with its name.
    pub fn put(&mut self, context: Context) {
        let mut saved = self.contexts.iter_mut();
        match saved.find(|saved| saved.name == context.name) {
            Some(saved) => *saved = context,
            None => self.contexts.push(context),
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Context> {
        let mut contexts = self.contexts.iter();
        let at = contexts.position(|context| context.name == name)?;
        if self.current.as_deref() == Some(name) {
            self.current = None;
        }
        Some(self.contexts.remove(at))
    }
}

/// Writes a file atomically, readable by its owner only. Creates its folder if it is missing.
pub fn write_private(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    own_folder(folder, FolderKind::Chosen)?.write_durably(name, bytes)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn context(name: &str) -> Context {
        Context {
            name: name.into(),
            url: "http://127.0.0.1:12200".into(),
            token: "svc_pat_x".into(),
            token_id: None,
            username: Some("ann".into()),
            ca_file: None,
        }
    }

    #[test]
    fn contexts_are_saved_for_their_owner_only() {
        let folder = std::env::temp_dir().join(format!("svc-contexts-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let mut contexts = Contexts::load(&folder).expect("none yet");
        assert_eq!(contexts, Contexts::default());
        contexts.put(context("a"));
        contexts.put(context("b"));
        contexts.put(context("a"));
        contexts.current = Some("a".into());
        contexts.save(&folder).expect("saved");
        let mode = fs::metadata(folder.join(FILE_NAME))
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let mut again = Contexts::load(&folder).expect("readable");
        assert_eq!(again, contexts);
        assert_eq!(again.contexts.len(), 2);
        again.remove("a");
        assert_eq!(again.current, None);
        fs::remove_dir_all(&folder).expect("removable");
    }

    #[test]
    fn changes_at_the_same_time_are_all_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        std::thread::scope(|scope| {
            for number in 0..16 {
                scope.spawn(move || {
                    Contexts::change(folder, |contexts| {
                        contexts.put(context(&format!("c{number}")));
                        Ok(())
                    })
                    .expect("changed");
                });
            }
        });
        assert_eq!(Contexts::load(folder).expect("readable").contexts.len(), 16);
        let refused = Contexts::change(folder, |contexts| {
            contexts.remove("c0");
            Err::<(), _>(Failure::usage("no"))
        });
        assert!(refused.is_err());
        assert_eq!(Contexts::load(folder).expect("readable").contexts.len(), 16);
    }

    #[test]
    fn neither_debug_nor_a_parse_error_shows_a_token() {
        assert!(!format!("{:?}", context("a")).contains("svc_pat"));
        let folder = std::env::temp_dir().join(format!("svc-contexts-bad-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(
            folder.join(FILE_NAME),
            "[[contexts]]\ntoken = \"svc_pat_x\" y\n",
        )
        .expect("ok");
        let failure = Contexts::load(&folder).expect_err("not TOML");
        fs::remove_dir_all(&folder).expect("removable");
        assert!(!failure.to_string().contains("svc_pat"), "{failure}");
    }
}
