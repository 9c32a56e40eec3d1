//! The tables of docs/RULES.md name the files and the items that decide each rule. Every name must
//! exist: a backticked name in the second column is a file, or an item of the file before it.

use std::{fs, path::Path};

use crate::source::{is_name, without_tests};

const HEAD: &str = "| Rule | Decided in |";
const KEYWORDS: &[&str] = &["fn", "struct", "enum", "trait", "const", "static", "type"];
/// The beginnings of blocks whose items are named `Owner::item`.
const BLOCKS: &[&str] = &["\nimpl", "\ntrait ", "\npub trait ", "\npub(crate) trait "];

#[test]
fn every_file_and_item_in_the_tables_of_rules_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(root.join("docs/RULES.md")).expect("docs/RULES.md");
    let complaints = check(&document, |path| fs::read_to_string(root.join(path)).ok());
    assert!(
        complaints.is_empty(),
        "docs/RULES.md has names that the sources do not have:\n{}",
        complaints.join("\n")
    );
}

/// One line for each name that does not exist. `read` returns the text of a file.
fn check(document: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let rows = document
        .lines()
        .filter(|line| line.starts_with("| ") && *line != HEAD);
    let complaints = rows.map(|row| check_row(row, &read));
    let complaints: Vec<Vec<String>> = complaints.collect();
    assert!(!complaints.is_empty(), "the document has no rule");
    complaints.concat()
}

fn check_row(row: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let cells = row.trim_matches(['|', ' ']).split_once(" | ");
    let (rule, places) = cells.expect("a row has two cells");
    let (mut complaints, mut path, mut text) = (Vec::new(), String::new(), None);
    for name in places.split('`').skip(1).step_by(2) {
        if name.contains('.') {
            path = path_of(name);
            text = read(&path).map(|text| without_tests(&text));
            if text.is_none() {
                complaints.push(format!("{rule}: the file `{path}` does not exist"));
            }
        } else if text.as_deref().is_none_or(|text| !defines(text, name)) {
            complaints.push(format!("{rule}: `{name}` is not in `{path}`"));
        }
    }
    if path.is_empty() && complaints.is_empty() {
        complaints.push(format!("{rule}: the row names no file"));
    }
    complaints
}

/// The path of a file from the root of the repository, as docs/RULES.md explains it.
fn path_of(name: &str) -> String {
    match name.split_once('/') {
        Some(("crates" | "web", _)) => name.to_owned(),
        Some((folder @ ("core" | "protocol"), rest)) => format!("crates/{folder}/src/{rest}"),
        _ => format!("crates/server/src/{name}"),
    }
}

/// Whether the text has the item `name`, or the item `Owner::name` in a block of `Owner`.
fn defines(text: &str, item: &str) -> bool {
    match item.rsplit_once("::") {
        Some((owner, name)) => bodies(text, owner).any(|body| declares(body, name)),
        None => declares(text, item),
    }
}

/// The contents of the traits and `impl` blocks whose heads name `owner`. In formatted code, the
/// block ends at the next `}` at the beginning of a line.
fn bodies<'a>(text: &'a str, owner: &'a str) -> impl Iterator<Item = &'a str> {
    let starts = BLOCKS
        .iter()
        .flat_map(move |start| text.match_indices(*start));
    starts.filter_map(move |(at, start)| {
        let (head, rest) = text[at + start.len()..].split_once('{')?;
        let (body, _) = rest.split_once("\n}")?;
        words(head).any(|word| word == owner).then_some(body)
    })
}

fn declares(text: &str, name: &str) -> bool {
    let words: Vec<&str> = words(text).collect();
    words
        .windows(2)
        .any(|pair| KEYWORDS.contains(&pair[0]) && pair[1] == name)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !is_name(c))
        .filter(|word| !word.is_empty())
}

const LANE: &str = "
pub const CAPACITY: usize = 100;

impl<T> Lane<T> {
    pub fn take(&mut self) {}
}

pub trait Queue {
    fn len(&self) -> usize;
}

impl Queue for Ring {
    fn len(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    fn fixture() {}
}
";

#[test]
fn a_name_that_does_not_exist_is_reported() {
    let read = |path: &str| match path {
        "crates/core/src/lane.rs" | "crates/server/src/events/hub.rs" => Some(LANE.to_owned()),
        "crates/svc/config.toml" => Some(String::new()),
        _ => None,
    };
    for (places, reported) in [
        (
            "`core/lane.rs`: `CAPACITY`, `Lane::take`; `Lane`, no name",
            "`Lane` is not in",
        ),
        (
            "`events/hub.rs`: `Queue::len`, `Ring::len`; `crates/svc/config.toml`",
            "",
        ),
        (
            "`core/lane.rs`: `Queue::take`",
            "`Queue::take` is not in `crates/core/src/lane.rs`",
        ),
        ("`core/lane.rs`: `fixture`", "`fixture` is not in"),
        ("`core/lane.rs`: `lane`", "`lane` is not in"),
        (
            "`events/gone.rs`",
            "the file `crates/server/src/events/gone.rs` does not exist",
        ),
        ("`len` of a lane", "`len` is not in"),
        ("many places", "the row names no file"),
    ] {
        let document = format!("{HEAD}\n|---|---|\n| Order `a.b` | {places} |\n");
        let complaints = check(&document, read);
        assert_eq!(
            complaints.len(),
            usize::from(!reported.is_empty()),
            "{complaints:?}"
        );
        let complaint = complaints.concat();
        assert!(complaint.contains(reported), "{complaint}");
    }
}
