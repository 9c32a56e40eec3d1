//! Writes the table of the files in `web/app`. Each entry has the hash of the file and, if it is
//! smaller, the compressed file (gzip), so that the server never hashes or compresses a file.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

fn main() -> io::Result<()> {
    let variable = |name| PathBuf::from(env::var_os(name).expect("cargo sets this variable"));
    let folder = variable("CARGO_MANIFEST_DIR").join("../../web/app");
    let out = variable("OUT_DIR");
    println!("cargo::rerun-if-changed={}", folder.display());

    let mut files = Vec::new();
    list(&folder, &mut files)?;
    // Sorted as texts, because the server looks them up as texts: as paths, `a/b.js` would come
    // before `a.js`.
    let mut files: Vec<(String, PathBuf)> = files
        .into_iter()
        .map(|file| (shown(&folder, &file), file))
        .collect();
    files.sort();
    let mut table = String::from("&[\n");
    for (number, (path, file)) in files.iter().enumerate() {
        table += &entry(path, file, &out.join(format!("{number}.gz")))?;
    }
    table += "]";
    fs::write(out.join("files.rs"), table)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            list(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// The path of a file in its URL.
fn shown(folder: &Path, file: &Path) -> String {
    file.strip_prefix(folder)
        .expect("the file was found in this folder")
        .display()
        .to_string()
        .replace('\\', "/")
}

fn entry(path: &str, file: &Path, compressed: &Path) -> io::Result<String> {
    let bytes = fs::read(file)?;
    let gzip = gzip(&bytes)?;
    let gzip = if gzip.len() < bytes.len() {
        fs::write(compressed, gzip)?;
        format!("Some(include_bytes!({compressed:?}))")
    } else {
        "None".to_owned()
    };
    let hash: String = Sha256::digest(&bytes)[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(format!(
        "    WebFile {{ path: {path:?}, hash: {hash:?}, bytes: include_bytes!({file:?}), gzip: {gzip} }},\n"
    ))
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}
