//! Finds libraries: beside the script, then among the stored libraries.

use std::{
    collections::HashMap,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use svc_client::Client;
use svc_protocol::api::{PageQuery, ScriptKind, ScriptOwner, ScriptQuery, Scripts};

use crate::{Exception, Raise, SOURCE_BYTES_MAX, Source};

/// Libraries per page. Stored sources have at most 256 KiB, so a page fits into
/// [`ANSWER_BYTES_MAX`](super::server::ANSWER_BYTES_MAX).
const PAGE: u32 = 16;
/// The maximum number of pages that are read. The default quotas allow fewer libraries.
const PAGES_MAX: usize = 100;

pub(super) struct Libraries {
    folder: Option<PathBuf>,
    /// The sources of the stored libraries by name. `None` until the first search.
    stored: Option<HashMap<String, String>>,
}

impl Libraries {
    pub(super) fn beside(script: &Path) -> Self {
        Self {
            folder: script.parent().map(Path::to_owned),
            stored: None,
        }
    }

    /// Finds a module in the script's folder. For `a.b`, tries `a/b/__init__.py`, then `a/b.py`,
    /// like CPython.
    pub(super) fn find_beside(&self, module: &str) -> Result<Option<Source>, Raise> {
        let Some(folder) = &self.folder else {
            return Ok(None);
        };
        let mut path = folder.clone();
        for part in module.split('.') {
            // No dots or slashes: a part must not lead to another folder.
            let name = |c: char| c.is_alphanumeric() || c == '_';
            if part.is_empty() || !part.chars().all(name) {
                return Ok(None);
            }
            path.push(part);
        }
        for path in [path.join("__init__.py"), path.with_extension("py")] {
            match read_within(folder, &path) {
                Ok(Some(text)) => {
                    let file = path.display().to_string();
                    return Ok(Some(Source { file, text }));
                }
                Ok(None) => {}
                Err(error) => {
                    let text = format!("module `{module}` at `{}`: {error}", path.display());
                    return Err(Raise::new(Exception::OSError, text));
                }
            }
        }
        Ok(None)
    }

    /// Finds a stored library of the user, or else a global library.
    pub(super) async fn find_stored(
        &mut self,
        module: &str,
        client: &Client,
    ) -> Result<Option<Source>, Raise> {
        let stored = match &mut self.stored {
            Some(stored) => stored,
            none => none.insert(read_stored(module, client).await?),
        };
        Ok(stored.get(module).map(|text| Source {
            file: format!("<library {module}>"),
            text: text.clone(),
        }))
    }
}

/// Reads all stored libraries. A library of the user replaces a global library of the same name.
async fn read_stored(module: &str, client: &Client) -> Result<HashMap<String, String>, Raise> {
    let mut stored = HashMap::new();
    let query = ScriptQuery {
        kind: Some(ScriptKind::Library),
        ..ScriptQuery::default()
    };
    let mut page = PageQuery {
        limit: Some(PAGE),
        cursor: None,
    };
    for _ in 0..PAGES_MAX {
        let found = client.list::<Scripts>(&page, &query).await.map_err(|error| {
            let text = format!(
                "No module named '{module}' beside the script, and the stored libraries cannot be \
                 read: {error}"
            );
            Raise::new(Exception::ModuleNotFoundError, text)
        })?;
        for script in found.scripts {
            if script.owner == ScriptOwner::User || !stored.contains_key(&script.name) {
                stored.insert(script.name, script.source);
            }
        }
        if found.next_cursor.is_none() || found.next_cursor == page.cursor {
            break;
        }
        page.cursor = found.next_cursor;
    }
    Ok(stored)
}

/// The text of a file; `None` if there is no such file. Fails if a link leads out of the folder.
fn read_within(folder: &Path, path: &Path) -> io::Result<Option<String>> {
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    if !real.starts_with(folder.canonicalize()?) {
        let text = "it lies outside the script's folder";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    if !real.is_file() {
        return Ok(None);
    }
    let mut text = String::new();
    File::open(real)?
        .take(SOURCE_BYTES_MAX as u64 + 1)
        .read_to_string(&mut text)?;
    if text.len() > SOURCE_BYTES_MAX {
        let text = format!("it is larger than {} KiB", SOURCE_BYTES_MAX / 1024);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(Some(text))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
