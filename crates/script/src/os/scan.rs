//! Scans of folders: `os.walk`, `os.scandir`, `Path.glob`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use monty_types::{
    ExcType, MontyException, MontyObject, ScanArgs,
    scan::{EntryInfo, Listing, ScanSource, collect_scan, normalize_relative},
};

use super::{exception, io_exception};

/// The maximum number of visits of entries in one scan. A pattern can visit the same entry many
/// times.
const VISITS_MAX: usize = 1_000_000;

/// The maximum total size of the states that the engine keeps while it matches a pattern.
const STATE_BYTES_MAX: usize = 64 * 1024 * 1024;

pub fn answer(args: &ScanArgs) -> Result<MontyObject, MontyException> {
    let root = Path::new(args.path.as_str());
    // Only an unreadable root is an error. Unreadable folders below it count as empty.
    fs::read_dir(root).map_err(|error| io_exception(&error, &args.path))?;
    let mut folder = Folder {
        root,
        visits: 0,
        bytes: 0,
    };
    match collect_scan(args, &mut folder)? {
        Some(reply) => Ok(reply.into_object()),
        None => Err(io_exception(
            &std::io::ErrorKind::NotFound.into(),
            &args.path,
        )),
    }
}

struct Folder<'a> {
    root: &'a Path,
    visits: usize,
    bytes: usize,
}

impl Folder<'_> {
    fn path(&self, relative: &str) -> Option<PathBuf> {
        normalize_relative(relative).map(|path| self.root.join(&*path))
    }
}

impl ScanSource for Folder<'_> {
    type Error = MontyException;

    fn list(&mut self, dir: &str) -> Result<Option<Listing>, Self::Error> {
        let Some(entries) = self.path(dir).and_then(|path| fs::read_dir(path).ok()) else {
            return Ok(None);
        };
        let mut listing = Vec::new();
        for entry in entries.flatten() {
            self.visit()?;
            if let (Ok(name), Some(info)) = (entry.file_name().into_string(), info(&entry.path())) {
                listing.push((name, info));
            }
        }
        Ok(Some(listing.into()))
    }

    fn lookup(&mut self, path: &str) -> Result<Option<EntryInfo>, Self::Error> {
        Ok(self.path(path).and_then(|path| info(&path)))
    }

    fn visit(&mut self) -> Result<(), Self::Error> {
        self.visits += 1;
        bounded(self.visits, VISITS_MAX)
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Self::Error> {
        self.bytes = self.bytes.saturating_add(bytes);
        bounded(self.bytes, STATE_BYTES_MAX)
    }
}

fn bounded(used: usize, max: usize) -> Result<(), MontyException> {
    if used <= max {
        return Ok(());
    }
    Err(exception(
        ExcType::RuntimeError,
        "the folder is too large for one scan: it has too many entries, or their names are too long; start in a subfolder",
    ))
}

fn info(path: &Path) -> Option<EntryInfo> {
    let link = fs::symlink_metadata(path).ok()?;
    let target = fs::metadata(path).ok();
    Some(EntryInfo {
        is_dir: target.as_ref().is_some_and(fs::Metadata::is_dir),
        is_file: target.as_ref().is_some_and(fs::Metadata::is_file),
        is_symlink: link.is_symlink(),
    })
}
