//! The registration file: TOML. Errors name `file:line:column` and show the line.

use std::{fmt, ops::Range};

use svc_core::{
    SpaceName, UserName,
    registration::{CheckedRegistration, Registration, Step, Violation},
};
use toml::de::{DeTable, DeValue};

/// The maximum size of a registration file.
pub const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Why a registration file is rejected: all faults, each with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileError {
    pub faults: Vec<Fault>,
}

/// One fault, with its position and its line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// File name as the user gave it.
    pub file: String,
    /// Line and column, from 1; `None` if the fault has no position in the file.
    pub position: Option<(usize, usize)>,
    pub message: String,
    /// The line, and a caret under the fault.
    pub excerpt: Option<String>,
}

impl Fault {
    fn without_position(file: &str, message: String) -> Self {
        Self {
            file: file.to_owned(),
            position: None,
            message,
            excerpt: None,
        }
    }
}

impl From<Fault> for FileError {
    fn from(fault: Fault) -> Self {
        Self {
            faults: vec![fault],
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(excerpt) = &self.excerpt {
            write!(f, "\n{excerpt}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<String> = self.faults.iter().map(Fault::to_string).collect();
        f.write_str(&faults.join("\n"))
    }
}

impl std::error::Error for FileError {}

/// Parses a TOML registration.
pub fn parse(file: &str, text: &str) -> Result<Registration, FileError> {
    if text.len() > FILE_BYTES_MAX {
        let message = format!(
            "the file has {} bytes; at most {FILE_BYTES_MAX} are allowed",
            text.len()
        );
        return Err(Fault::without_position(file, message).into());
    }
    toml::from_str(text).map_err(|error| place(file, text, error.span(), error.message()).into())
}

/// Parses a TOML registration and checks it for a space.
pub fn parse_and_check(
    file: &str,
    text: &str,
    space: &SpaceName,
    owner: &UserName,
) -> Result<CheckedRegistration, FileError> {
    parse(file, text)?
        .check(space, owner)
        .map_err(|violations| locate(file, text, &violations))
}

/// Finds the position of each violation in the text.
pub fn locate(file: &str, text: &str, violations: &[Violation]) -> FileError {
    let table = DeTable::parse(text).ok();
    let faults = violations
        .iter()
        .map(|violation| {
            let span = table.as_ref().and_then(|table| {
                find(
                    &DeValue::Table(table.get_ref().clone()),
                    &violation.path,
                    table.span(),
                )
            });
            place(file, text, span, &violation.message)
        })
        .collect();
    FileError { faults }
}

/// Names each violation by its path: for a registration that a script built and that has no text.
pub fn without_text(file: &str, violations: &[Violation]) -> FileError {
    let faults = violations
        .iter()
        .map(|violation| Fault::without_position(file, violation.to_string()))
        .collect();
    FileError { faults }
}

/// The span of the value at a path, or of its nearest parent that exists.
fn find(value: &DeValue<'_>, path: &[Step], here: Range<usize>) -> Option<Range<usize>> {
    let Some((step, rest)) = path.split_first() else {
        return Some(here);
    };
    let next = match (step, value) {
        (Step::Key(key), DeValue::Table(table)) => table.get(key.as_str()),
        (Step::Index(index), DeValue::Array(array)) => array.get(*index),
        (Step::Key(key), DeValue::Array(array)) => {
            key.parse().ok().and_then(|i: usize| array.get(i))
        }
        _ => None,
    };
    match next {
        Some(next) => find(next.get_ref(), rest, next.span()),
        None => (here.start > 0 || here.end > 0).then_some(here),
    }
}

/// A fault at a position in a text; also used for TOML files that are not registrations.
pub fn place(file: &str, text: &str, span: Option<Range<usize>>, message: &str) -> Fault {
    let message = message.trim().replace('\n', "; ");
    let Some(span) = span else {
        return Fault::without_position(file, message);
    };
    let mut start = span.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[..start].matches('\n').count() + 1;
    let column = text[line_start..start].chars().count() + 1;
    let source = text[line_start..].lines().next().unwrap_or_default();
    let source: String = source.chars().take(160).collect();
    let number = line.to_string();
    let gutter = " ".repeat(number.len());
    let under = " ".repeat(column.saturating_sub(1));
    let excerpt = format!("{gutter} |\n{number} | {source}\n{gutter} | {under}^");
    Fault {
        position: Some((line, column)),
        excerpt: Some(excerpt),
        ..Fault::without_position(file, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
version = 1

[server]
command = "python3"
args = ["notes.py"]

[[methods]]
name = "{{space}}.search"
local_name = "search"
description = "Search the notes"
keywords = ["find"]

[methods.params_schema]
type = "object"

[methods.params_schema.properties.query]
type = "string"
"#;

    fn check(text: &str) -> Result<CheckedRegistration, FileError> {
        let space = SpaceName::parse("lab").expect("valid");
        let owner = UserName::parse("ann").expect("valid");
        parse_and_check("methods.toml", text, &space, &owner)
    }

    #[test]
    fn reads_the_specifications_fields() {
        let checked = check(GOOD).expect("valid");
        assert_eq!(checked.methods[0].name.as_str(), "lab.search");
        let schema = checked.methods[0].params_schema.as_ref().expect("a schema");
        assert_eq!(schema["properties"]["query"]["type"], "string");
    }

    #[test]
    fn every_fault_has_its_line_and_column() {
        let fault = |text: &str, expected: &str| {
            let error = check(text).expect_err(expected).to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        fault(
            &GOOD.replace("keywords", "keyword"),
            "methods.toml:12:1: unknown field `keyword`",
        );
        fault(
            &GOOD.replace("{{space}}.search", "a b"),
            "methods.toml:9:8: method name `a b`",
        );
        fault(
            &GOOD.replace("type = \"string\"", "type = \"text\""),
            "methods.toml:18:8: `text` is not a type",
        );
        fault(
            &GOOD.replace("local_name = \"search\"\n", ""),
            "methods.toml:8:1: method `{{space}}.search` has no `local_name`",
        );
        fault(
            &GOOD.replace("[server]", "[server]\ntimeout = 0"),
            "methods.toml:5:11: timeout 0",
        );
        fault("[server\n", "methods.toml:1:8: ");
        fault("", "methods.toml:1:1: missing field `server`");
    }

    #[test]
    fn a_fault_without_a_text_is_named_by_its_path() {
        let space = SpaceName::parse("lab").expect("valid");
        let owner = UserName::parse("ann").expect("valid");
        let bad = GOOD.replace("{{space}}.search", "a b");
        let registration = parse("methods.toml", &bad).expect("TOML");
        let violations = registration.check(&space, &owner).expect_err("bad name");
        let error = without_text("methods.py", &violations).to_string();
        assert!(
            error.starts_with("methods.py: methods[0].name: method name `a b`"),
            "{error}"
        );
    }

    #[test]
    fn the_excerpt_points_at_the_fault() {
        let error = check(&GOOD.replace("{{space}}.search", "a b")).expect_err("bad name");
        let excerpt = error.faults[0].excerpt.as_deref().expect("has an excerpt");
        assert_eq!(excerpt, "  |\n9 | name = \"a b\"\n  |        ^");
    }
}
