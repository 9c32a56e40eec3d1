//! Writes the table of the files in `web/app`. Each entry has the hash of the file. If compression
//! (gzip) makes the file smaller, the entry also has the compressed file. So the server need not
//! hash or compress these files.
//!
//! The files are also prepared for a fast first load: see `build/first_load.rs`.

#[path = "build/bundle.rs"]
mod bundle;
#[path = "build/first_load.rs"]
mod first_load;
#[path = "build/mask.rs"]
mod mask;
#[path = "build/module.rs"]
mod module;

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use bundle::Files;
use data_encoding::HEXLOWER;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

fn main() -> io::Result<ExitCode> {
    let variable = |name| PathBuf::from(env::var_os(name).expect("cargo sets this variable"));
    let folder = variable("CARGO_MANIFEST_DIR").join("../../web/app");
    let out = variable("OUT_DIR");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=build");

    let mut files = Files::new();
    read(&folder, &folder, &mut files)?;
    let version = hash_all(&files);
    if let Err(message) = first_load::prepare(&mut files, &version) {
        println!("cargo::error={message}");
        return Ok(ExitCode::FAILURE);
    }

    let mut table = String::from("&[\n");
    for (number, (path, bytes)) in files.iter().enumerate() {
        table += &entry(path, bytes, &out.join(number.to_string()))?;
    }
    table += "]";
    fs::write(out.join("files.rs"), table)?;
    fs::write(out.join("version.rs"), format!("{version:?}"))?;
    Ok(ExitCode::SUCCESS)
}

fn read(root: &Path, folder: &Path, files: &mut Files) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            read(root, &entry.path(), files)?;
        } else {
            files.insert(shown(root, &entry.path()), fs::read(entry.path())?);
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

/// One hash of all paths and contents, and of the code that prepares them.
fn hash_all(files: &Files) -> String {
    let mut hash = Sha256::new();
    for code in [
        include_str!("build/bundle.rs"),
        include_str!("build/first_load.rs"),
        include_str!("build/mask.rs"),
        include_str!("build/module.rs"),
    ] {
        hash.update(code);
    }
    for (path, bytes) in files {
        hash.update(path);
        hash.update([0]);
        hash.update(Sha256::digest(bytes));
    }
    hex(&hash.finalize())
}

fn hex(hash: &[u8]) -> String {
    HEXLOWER.encode(&hash[..8])
}

/// The line of a file in the table. The bytes are stored at `place`.
fn entry(path: &str, bytes: &[u8], place: &Path) -> io::Result<String> {
    let compressed = place.with_extension("gz");
    let gzip = gzip(bytes)?;
    let gzip = if gzip.len() < bytes.len() {
        fs::write(&compressed, gzip)?;
        format!("Some(include_bytes!({compressed:?}))")
    } else {
        "None".to_owned()
    };
    fs::write(place, bytes)?;
    let hash = hex(&Sha256::digest(bytes));
    Ok(format!(
        "    WebFile {{ path: {path:?}, hash: {hash:?}, bytes: include_bytes!({place:?}), gzip: {gzip} }},\n"
    ))
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}
