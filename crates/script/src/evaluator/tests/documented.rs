//! Checks the tables of `docs/SCRIPTS.md` about the engine's Python.

use super::*;

const GUIDE: &str = include_str!("../../../../../docs/SCRIPTS.md");

/// Definitions that the examples in the tables use.
const BEFORE: &str = "\
import base64, datetime, functools, json, re
from dataclasses import dataclass
class A:
    def __init__(self):
        self.x = 1
d, items, text, number = {'a': 1}, [3, 1, 2], 'abc', 5
";

/// The cells of each row of the table whose first column has this title.
fn table(title: &str) -> Vec<Vec<String>> {
    let start = format!("| {title} |");
    let mut lines = GUIDE.lines().skip_while(|line| !line.starts_with(&start));
    lines.next().expect("the table");
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let row = row.trim_matches('|').replace("\\|", "\u{0}");
        row.split('|')
            .map(|cell| cell.trim().replace('\u{0}', "|"))
            .collect()
    })
    .collect()
}

/// The code between the first two backticks, if the cell starts with one. `⏎` means a line break.
fn code(cell: &str) -> Option<String> {
    let cell = cell.strip_prefix('`')?;
    Some(cell.split('`').next()?.replace(" ⏎ ", "\n"))
}

fn runs(code: &str) -> Result<String, ScriptError> {
    let mut host = TestHost::default();
    let text = format!("{BEFORE}{code}\n");
    run_as(Flavour::Space, &text, &mut host).map(|()| host.stdout)
}

#[test]
fn code_that_the_guide_calls_refused_fails_and_its_replacement_works() {
    let rows = table("Not supported");
    assert!(rows.len() >= 25, "{} rows", rows.len());
    for row in &rows {
        let refused = code(&row[0]).expect("an example");
        let error = runs(&refused).expect_err(&refused);
        assert!(
            matches!(error.kind, ErrorKind::Unsupported | ErrorKind::Exception),
            "{refused}: {error}"
        );
        if let Some(instead) = code(&row[1]) {
            runs(&instead).unwrap_or_else(|error| panic!("{instead}: {error}"));
        }
    }
}

#[test]
fn code_that_the_guide_calls_different_is_different() {
    let rows = table("Differs");
    assert!(rows.len() >= 5, "{} rows", rows.len());
    for row in &rows {
        let example = code(&row[0]).expect("an example");
        let printed = runs(&example).unwrap_or_else(|error| panic!("{example}: {error}"));
        assert_eq!(
            Some(printed.trim_end()),
            code(&row[2]).as_deref(),
            "{example}"
        );
        assert_ne!(row[1], row[2], "{example}");
    }
}

#[test]
fn code_that_the_guide_calls_supported_works() {
    let rows = table("Supported");
    assert!(rows.len() >= 10, "{} rows", rows.len());
    for row in &rows {
        let example = code(&row[0]).expect("an example");
        let printed = runs(&example).unwrap_or_else(|error| panic!("{example}: {error}"));
        assert_eq!(
            Some(printed.trim_end()),
            code(&row[1]).as_deref(),
            "{example}"
        );
    }
}
