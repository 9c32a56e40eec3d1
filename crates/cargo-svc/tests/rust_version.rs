//! Every place that names the oldest supported Rust names the version of `Cargo.toml`.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

/// Files of the repository, and the text before and after the version.
const PLACES: [(&str, &str, &str); 5] = [
    ("README.md", "[Rust](https://rustup.rs) ", " or newer"),
    ("CONTRIBUTING.md", "[Rust](https://rustup.rs) ", " or newer"),
    (
        "docs/decisions/0002-monty.md",
        "which the project supports from ",
        " on",
    ),
    (".github/workflows/ci.yml", "--default-toolchain ", "\n"),
    (
        ".github/workflows/release.yml",
        "--default-toolchain ",
        "\n",
    ),
];

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The first text between `before` and `after`.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

#[test]
fn documents_and_workflows_name_the_oldest_rust_of_the_manifest() {
    let manifest = read("Cargo.toml");
    let wanted = between(&manifest, "\nrust-version = \"", "\"").unwrap();
    for (path, before, after) in PLACES {
        let found = read(path);
        let found = between(&found, before, after);
        assert_eq!(found, Some(wanted), "{path}, after `{before}`");
    }
    // The release build uses an exact version, which must be supported.
    let tools = read("packaging/install-tools");
    let release = between(&tools, "\nrust=", "\n").unwrap();
    assert!(
        number(release) >= number(wanted),
        "packaging/install-tools: Rust {release} is older than {wanted}"
    );
}

fn number(version: &str) -> (u32, u32) {
    let mut parts = version.split('.').map(|part| part.parse().unwrap());
    (parts.next().unwrap(), parts.next().unwrap())
}
