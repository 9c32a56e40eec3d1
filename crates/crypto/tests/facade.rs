//! Only `crates/crypto` names the libraries of cryptography, so that they can be changed in one
//! place. The features of the TLS crates in the `Cargo.toml` of the workspace name ring too.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Libraries of cryptography, and the crates that may depend on them.
const LIBRARIES: [(&str, &[&str]); 5] = [
    // `private` has no other crate of svc. It needs random numbers only for names of files.
    ("getrandom", &["crypto", "private"]),
    ("ring", &["crypto"]),
    ("rustls", &[]),
    ("sha2", &[]),
    ("subtle", &["crypto"]),
];

fn crates() -> Vec<PathBuf> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = fs::read_dir(crates).expect("the folder of the crates");
    let mut folders: Vec<_> = folders
        .map(|entry| entry.expect("readable").path())
        .collect();
    folders.retain(|folder| folder.join("Cargo.toml").is_file());
    folders.sort();
    folders
}

fn name_of(folder: &Path) -> String {
    let name = folder.file_name().expect("the folder of a crate");
    name.to_string_lossy().into_owned()
}

/// Tests may use the libraries directly: an authenticator or a sender in a test must not share code
/// with the server that it tests. A build script hashes names of files and no secret.
#[test]
fn no_other_crate_depends_on_a_library_of_cryptography() {
    let mut wrong = Vec::new();
    for folder in crates() {
        let (name, file) = (name_of(&folder), folder.join("Cargo.toml"));
        let text = fs::read_to_string(&file).expect("a manifest");
        let manifest: toml::Table = text.parse().expect("TOML");
        let dependencies = dependencies(&manifest);
        for (library, users) in LIBRARIES {
            if dependencies.contains(&library) && !users.contains(&name.as_str()) {
                wrong.push(format!("crates/{name}/Cargo.toml: `{library}`"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "use svc-crypto in place of these dependencies, or move them to [dev-dependencies]:\n{}",
        wrong.join("\n")
    );
}

/// The dependencies of a crate, also those for certain machines only.
fn dependencies(manifest: &toml::Table) -> Vec<&str> {
    let targets = manifest.get("target").and_then(|it| it.as_table());
    let targets = targets.into_iter().flat_map(|it| it.values());
    let tables = targets.filter_map(|it| it.as_table()).chain([manifest]);
    let tables = tables.filter_map(|it| it.get("dependencies")?.as_table());
    tables
        .flat_map(|it| it.keys().map(String::as_str))
        .collect()
}

#[test]
fn no_other_crate_chooses_the_provider_of_tls() {
    let mut wrong = Vec::new();
    for folder in crates() {
        let name = name_of(&folder);
        if name != "crypto" {
            // `default_provider` is the function of rustls; `crypto::ring` also finds imports.
            find(&folder, &mut wrong, |line| {
                line.contains("default_provider(") || line.contains("crypto::ring")
            });
        }
    }
    assert!(
        wrong.is_empty(),
        "use svc_crypto::tls::provider in place of the provider of rustls:\n{}",
        wrong.join("\n")
    );
}

/// The rules are functions of their arguments (ARCHITECTURE.md), although this crate offers random
/// numbers to all others.
#[test]
fn the_rules_draw_no_random_numbers() {
    let mut wrong = Vec::new();
    for folder in crates() {
        if ["core", "protocol", "template"].contains(&name_of(&folder).as_str()) {
            find(&folder.join("src"), &mut wrong, |line| {
                line.contains("svc_crypto") && line.contains("random")
            });
        }
    }
    assert!(
        wrong.is_empty(),
        "take the random bytes as an argument:\n{}",
        wrong.join("\n")
    );
}

/// Adds the lines of all Rust files of a folder that `is_wrong` accepts.
fn find(folder: &Path, wrong: &mut Vec<String>, is_wrong: fn(&str) -> bool) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            find(&path, wrong, is_wrong);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            let lines = text.lines().enumerate().filter(|(_, line)| is_wrong(line));
            wrong.extend(
                lines.map(|(number, line)| format!("{}:{}: {line}", path.display(), number + 1)),
            );
        }
    }
}
