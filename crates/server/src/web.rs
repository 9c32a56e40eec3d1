//! The files of the web interface, from the binary, or from a folder during development.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use svc_crypto::sha256;

/// A file in the binary.
#[derive(Clone, Copy, Debug)]
pub struct WebFile {
    /// For example `src/main.js`.
    pub path: &'static str,
    /// A hash of `bytes`.
    pub hash: &'static str,
    pub bytes: &'static [u8],
    /// The compressed bytes, if they are smaller.
    pub gzip: Option<&'static [u8]>,
}

/// The source of the files.
#[derive(Clone, Debug, Default)]
pub struct Web {
    /// Sorted by path.
    pub files: &'static [WebFile],
    /// The version of `files`: 16 hexadecimal digits. It is the first folder of their addresses.
    pub version: &'static str,
    /// Read at each request instead of `files`, for development.
    pub folder: Option<PathBuf>,
}

/// A file to send.
pub struct WebAsset {
    pub media_type: &'static str,
    pub hash: Cow<'static, str>,
    pub bytes: Bytes,
    pub gzip: Option<Bytes>,
    /// Whether the address has the version of the file, so that its content never changes.
    pub is_immutable: bool,
}

impl Web {
    /// Finds a file, with or without a version in its path. For another version, returns the file
    /// of this version as not immutable: during an upgrade of a zone, a page may request its files
    /// from a server of another version.
    pub async fn find(&self, path: &str) -> Option<WebAsset> {
        let (version, path) = split_version(path);
        if let Some(folder) = &self.folder {
            return read(folder, path).await;
        }
        let place = self.files.binary_search_by_key(&path, |file| file.path);
        let file = self.files[place.ok()?];
        Some(WebAsset {
            media_type: media_type(path),
            hash: file.hash.into(),
            bytes: Bytes::from_static(file.bytes),
            gzip: file.gzip.map(Bytes::from_static),
            is_immutable: version == Some(self.version),
        })
    }
}

/// Separates the version from the path of a file. No folder of the files has a name that looks like
/// a version.
fn split_version(path: &str) -> (Option<&str>, &str) {
    let is_version = |text: &str| text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
    match path.split_once('/') {
        Some((version, rest)) if is_version(version) => (Some(version), rest),
        _ => (None, path),
    }
}

/// Reads a file inside the folder. Returns `None` for a path or symbolic link that leads out of it.
async fn read(folder: &Path, path: &str) -> Option<WebAsset> {
    let is_name = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    if !path.split('/').all(is_name) {
        return None;
    }
    let folder = tokio::fs::canonicalize(folder).await.ok()?;
    let file = tokio::fs::canonicalize(folder.join(path)).await.ok()?;
    if !file.starts_with(&folder) {
        return None;
    }
    let bytes = tokio::fs::read(file).await.ok()?;
    let hash = HEXLOWER.encode(&sha256(&bytes)[..8]);
    Some(WebAsset {
        media_type: media_type(path),
        hash: hash.into(),
        bytes: bytes.into(),
        gzip: None,
        is_immutable: false,
    })
}

fn media_type(path: &str) -> &'static str {
    let extension = Path::new(path).extension().and_then(|text| text.to_str());
    match extension {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        // Licence files have no extension.
        _ => "text/plain; charset=utf-8",
    }
}
