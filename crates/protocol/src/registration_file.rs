//! The registration file: TOML. Errors name `file:line:column` and show the line.

mod faults;

use std::{fmt, ops::Range};

use serde::de::DeserializeOwned;
use serde_json::Value;
use svc_core::{
    SpaceName, UserName,
    registration::{CheckedRegistration, Registration, Step, Violation, Warning, name_method},
};

use crate::{
    agent_api::RegisterFile,
    document::{self, ReadError, TomlParts},
};

/// The maximum size of a registration file.
pub const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Why a registration file is rejected: one or more faults.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileError {
    pub faults: Vec<Fault>,
    /// Advice about the parts that can be read.
    pub warnings: Vec<Warning>,
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
            warnings: Vec::new(),
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
    document::read_toml(text).map_err(|error| {
        let message = match method_at(text, &error.path) {
            Some(method) => name_method(&method, error.message),
            None => error.message,
        };
        place(file, text, error.span, &message).into()
    })
}

/// Reads the registration that a script built, as JSON. If a method is at fault, the error names
/// it.
pub fn read_json(text: &str) -> Result<Registration, ReadError> {
    read_naming_methods(text.as_bytes())
}

/// Reads a request for a registration. If a method is at fault, the error names it.
pub fn read_request(body: &[u8]) -> Result<RegisterFile, ReadError> {
    read_naming_methods(body)
}

fn read_naming_methods<T: DeserializeOwned>(text: &[u8]) -> Result<T, ReadError> {
    document::read_exact_json(text).map_err(|mut error: ReadError| {
        let value: Value = serde_json::from_slice(text).unwrap_or_default();
        let mut here = &value;
        for step in &error.path {
            here = match step {
                Step::Key(key) => &here[key],
                Step::Index(index) => {
                    let method = here[index]["name"].as_str().unwrap_or_default();
                    error.message = name_method(method, error.message);
                    break;
                }
            };
        }
        error
    })
}

/// The name of the method at a path, as written.
fn method_at(text: &str, path: &[Step]) -> Option<String> {
    let [Step::Key(methods), Step::Index(index), ..] = path else {
        return None;
    };
    let table = document::parse_toml(text).ok()?;
    let method = table
        .get_ref()
        .get(methods.as_str())?
        .get_ref()
        .get(*index)?;
    let name = method.get_ref().get("name")?.get_ref().as_str()?;
    Some(name.to_owned())
}

/// Parses a TOML registration and checks it for a space. Returns it as written, and as checked. The
/// error has every fault of the file.
pub fn read_file(
    file: &str,
    text: &str,
    space: &SpaceName,
    owner: &UserName,
) -> Result<(Registration, CheckedRegistration), FileError> {
    if text.len() > FILE_BYTES_MAX {
        return Err(parse(file, text).expect_err("the file is too large"));
    }
    let Ok(registration) = parse(file, text) else {
        return Err(faults::find(file, text, space, owner));
    };
    match registration.clone().check(space, owner) {
        Ok(checked) => Ok((registration, checked)),
        Err(violations) => Err(FileError {
            warnings: registration.misspelled_keywords(),
            ..locate(file, text, &violations)
        }),
    }
}

/// Finds the position of each violation in the text.
fn locate(file: &str, text: &str, violations: &[Violation]) -> FileError {
    let parts = TomlParts::parse(text).ok();
    let faults = violations.iter().map(|violation| {
        let span = parts
            .as_ref()
            .and_then(|parts| parts.locate(&violation.path));
        place(file, text, span, &violation.message)
    });
    FileError {
        faults: faults.collect(),
        warnings: Vec::new(),
    }
}

/// Names each violation by its path. For a registration that a script built, which has no text.
pub fn without_text(file: &str, violations: &[Violation]) -> FileError {
    let faults = violations
        .iter()
        .map(|violation| Fault::without_position(file, violation.to_string()))
        .collect();
    FileError {
        faults,
        warnings: Vec::new(),
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
mod schema_tests;
#[cfg(test)]
mod tests;
