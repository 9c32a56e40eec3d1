//! Every file of the web interface in the binary parses. The build joins the modules with a parser
//! of its own, so the sources alone prove nothing.

use std::{fs, path::Path, process::Command};

use svc_testkit::{found_or_skipped, require};
use svc_web::FILES;

use crate::judge;

/// The file that is not a module.
const SCRIPT: &str = "src/boot.js";

/// A line for each file of a folder that does not parse. `None` if node or Python is missing.
fn complaints(folder: &Path) -> Option<Vec<String>> {
    let installed = require("node").and_then(|()| require("python3"));
    found_or_skipped(installed, "SVC_REQUIRE_JUDGES", "a parser is missing")?;
    let scripts = judge::source("files");
    let mut node = Command::new("node");
    node.args(["--no-warnings", "--experimental-vm-modules"])
        .arg(scripts.join("parse.mjs"))
        .arg(folder)
        .arg(SCRIPT);
    let mut python = Command::new("python3");
    python.arg(scripts.join("parse.py")).arg(folder);
    let said = [node, python].map(|mut command| {
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    });
    let lines = said.iter().flat_map(|text| text.lines());
    Some(lines.map(str::to_owned).collect())
}

fn write(folder: &Path, path: &str, bytes: &[u8]) {
    let file = folder.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, bytes).unwrap();
}

#[test]
fn every_embedded_file_parses() {
    let folder = tempfile::tempdir().unwrap();
    for file in FILES {
        write(folder.path(), file.path, file.bytes);
    }
    if let Some(complaints) = complaints(folder.path()) {
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }
}

#[test]
fn a_file_that_does_not_parse_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("a.js", "export const a = await import('./b.js');"),
        ("broken.js", "export const a = ;"),
        ("src/boot.js", "const a = 1;"),
        ("b.json", "{}"),
        ("broken.json", "{,}"),
        ("c.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
        ("broken.svg", "<svg>"),
        ("other.css", "{"),
    ] {
        write(folder.path(), path, text.as_bytes());
    }
    let Some(complaints) = complaints(folder.path()) else {
        return;
    };
    let found = complaints.iter().map(|line| line.split(':').next());
    let found: Vec<_> = found.flatten().collect();
    assert_eq!(
        found,
        ["broken.js", "broken.json", "broken.svg"],
        "{complaints:?}"
    );
    // A script has no `export`.
    write(folder.path(), SCRIPT, b"export const a = 1;");
    let complaints = self::complaints(folder.path()).unwrap();
    assert!(complaints.iter().any(|line| line.starts_with(SCRIPT)));
}
