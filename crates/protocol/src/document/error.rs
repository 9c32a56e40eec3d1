//! Faults of a document, and the sentences for them.

use std::fmt;

use serde::de::{self, Expected, Unexpected};
use svc_core::registration::{Step, show_path};

/// Longest part of a value that a message shows, in characters.
const SHOWN_MAX: usize = 60;

/// Why a document cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadError {
    /// The path to the value.
    pub path: Vec<Step>,
    /// Whether the last key of the path is wrong, rather than its value.
    pub(super) is_about_key: bool,
    /// The message, without the path.
    pub message: String,
    /// Whether the document is nested too deeply to be read.
    pub is_too_deep: bool,
}

impl ReadError {
    pub(super) fn plain(message: String) -> Self {
        Self {
            path: Vec::new(),
            is_about_key: false,
            message,
            is_too_deep: false,
        }
    }

    pub(super) fn inside(mut self, step: Step) -> Self {
        self.path.insert(0, step);
        self
    }

    /// The same error without the first `steps` steps of its path.
    pub fn below(&self, steps: usize) -> Self {
        Self {
            path: self.path.get(steps..).unwrap_or_default().to_vec(),
            ..self.clone()
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The message of a wrong key names the key, so the path need not end with it.
        let path = match self.path.split_last() {
            Some((_, parents)) if self.is_about_key => parents,
            _ => &self.path,
        };
        if !path.is_empty() {
            write!(f, "`{}`: ", show_path(path))?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

/// The format of a document. Messages use the words of the format.
#[derive(Clone, Copy)]
pub(super) enum Format {
    Json,
    Toml,
    Query,
}

impl Format {
    fn table(self) -> &'static str {
        match self {
            Self::Json => "an object",
            Self::Toml => "a table",
            Self::Query => "a list of parameters",
        }
    }

    pub(super) fn member(self) -> &'static str {
        match self {
            Self::Json | Self::Toml => "field",
            Self::Query => "parameter",
        }
    }
}

/// A fault as serde reports it, with its parts.
#[derive(Debug)]
pub(super) struct Fault {
    /// The innermost step comes first.
    path: Vec<Step>,
    is_about_key: bool,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Type {
        found: Found,
        expected: String,
    },
    OneOf {
        found: Found,
        expected: Vec<&'static str>,
    },
    Length {
        found: usize,
        expected: String,
    },
    MissingField(&'static str),
    UnknownField {
        found: String,
        expected: Vec<&'static str>,
    },
    DuplicateField(&'static str),
    Message(String),
}

#[derive(Debug)]
enum Found {
    Table,
    Text(String),
    Shown(String),
}

impl Found {
    fn new(unexpected: Unexpected<'_>) -> Self {
        Self::Shown(match unexpected {
            Unexpected::Map => return Self::Table,
            Unexpected::Str(text) => return Self::Text(shorten(text)),
            Unexpected::Bool(value) => value.to_string(),
            Unexpected::Unsigned(number) => format!("the number {number}"),
            Unexpected::Signed(number) => format!("the number {number}"),
            Unexpected::Float(number) => format!("the number {number:?}"),
            Unexpected::Unit | Unexpected::Option => "null".to_owned(),
            Unexpected::Seq => "an array".to_owned(),
            Unexpected::Other(date) => format!("the date {date}, which needs quotation marks"),
            _ => "another value".to_owned(),
        })
    }

    fn render(&self, format: Format) -> String {
        match self {
            Self::Table => format.table().to_owned(),
            Self::Text(text) => format!("the text `{text}`"),
            Self::Shown(shown) => shown.clone(),
        }
    }
}

impl Fault {
    fn new(kind: Kind) -> Self {
        Self {
            path: Vec::new(),
            is_about_key: false,
            kind,
        }
    }

    pub(super) fn not_one_of(
        unexpected: Unexpected<'_>,
        expected: &'static [&'static str],
    ) -> Self {
        Self::new(Kind::OneOf {
            found: Found::new(unexpected),
            expected: expected.to_vec(),
        })
    }

    pub(super) fn inside(mut self, step: Step) -> Self {
        self.path.push(step);
        self
    }

    /// The field that is missing, if that is the fault.
    pub(super) fn missing_field(&self) -> Option<&'static str> {
        match self.kind {
            Kind::MissingField(field) => Some(field),
            _ => None,
        }
    }

    pub(super) fn at_key(mut self, key: &str) -> Self {
        self.is_about_key = true;
        self.inside(Step::Key(key.to_owned()))
    }

    pub(super) fn render(mut self, format: Format) -> ReadError {
        self.path.reverse();
        let message = self.kind.render(format);
        ReadError {
            path: self.path,
            is_about_key: self.is_about_key,
            message,
            is_too_deep: false,
        }
    }
}

impl Kind {
    fn render(&self, format: Format) -> String {
        let member = format.member();
        match self {
            Self::Type { found, expected } => {
                let (expected, found) = (plain(expected, format), found.render(format));
                format!("expected {expected}, not {found}")
            }
            Self::OneOf { found, expected } => {
                format!(
                    "expected {}, not {}",
                    one_of(expected),
                    found.render(format)
                )
            }
            Self::Length { found, expected } => {
                let expected = plain(expected, format);
                format!("expected {expected}, not an array of {found} elements")
            }
            Self::MissingField(field) => format!("missing {member} `{field}`"),
            Self::DuplicateField(field) => format!("{member} `{field}` occurs twice"),
            Self::UnknownField { found, expected } => unknown(member, found, expected),
            // Replaces messages that types of other crates wrote.
            Self::Message(message) if message.starts_with("UUID parsing failed") => {
                "expected an id, such as `01a1dd5c-7e2f-7c3a-9b61-2f6d5a0c4e11`".to_owned()
            }
            Self::Message(message) if message.starts_with("invalid socket address") => {
                "expected an address with a port, such as `127.0.0.1:12200`".to_owned()
            }
            Self::Message(message) => message.clone(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind.render(Format::Json))
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Kind::Message(message.to_string()))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(Kind::Type {
            found: Found::new(unexpected),
            expected: expected.to_string(),
        })
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn invalid_length(found: usize, expected: &dyn Expected) -> Self {
        Self::new(Kind::Length {
            found,
            expected: expected.to_string(),
        })
    }

    fn unknown_variant(found: &str, expected: &'static [&'static str]) -> Self {
        Self::not_one_of(Unexpected::Str(found), expected)
    }

    fn unknown_field(found: &str, expected: &'static [&'static str]) -> Self {
        Self::new(Kind::UnknownField {
            found: shorten(found),
            expected: expected.to_vec(),
        })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Kind::MissingField(field))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(Kind::DuplicateField(field))
    }
}

/// The value that serde expects, in plain words. Texts of this program's own types are returned
/// unchanged.
fn plain(expected: &str, format: Format) -> String {
    let range = |low: &str, high: String| format!("a whole number from {low} to {high}");
    match expected {
        "u8" => range("0", u8::MAX.to_string()),
        "u16" => range("0", u16::MAX.to_string()),
        "u32" => range("0", u32::MAX.to_string()),
        "u64" | "usize" => "a whole number of at least 0".to_owned(),
        "i32" => range(&i32::MIN.to_string(), i32::MAX.to_string()),
        "i64" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "an array".to_owned(),
        "a map" => format.table().to_owned(),
        "path string" => "a path, as a string".to_owned(),
        "socket address" => "an address with a port, such as `127.0.0.1:12200`".to_owned(),
        "unit" | "null" => "null".to_owned(),
        "a borrowed string" | "string" => "a string".to_owned(),
        _ if expected.starts_with("struct ") => format.table().to_owned(),
        _ if expected.starts_with("internally tagged enum ") => format.table().to_owned(),
        other => other.to_owned(),
    }
}

/// The message about an unknown member, such as a field.
pub fn unknown(member: &str, found: &str, expected: &[&str]) -> String {
    match expected.iter().find(|name| is_similar(name, found)) {
        Some(meant) => format!("unknown {member} `{found}`; did you mean `{meant}`?"),
        None if expected.is_empty() => format!("unknown {member} `{found}`"),
        None => format!("unknown {member} `{found}`; expected {}", one_of(expected)),
    }
}

fn one_of(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("one of {} or {last}", most.join(", ")),
    }
}

/// Whether `found` is probably a misspelling of `name`. Upper and lower case count as equal, and
/// `-` and `_` are left out. Then the two texts must be equal, or one character is wrong, missing
/// or additional.
fn is_similar(name: &str, found: &str) -> bool {
    let simple = |text: &str| text.to_ascii_lowercase().replace(['-', '_'], "");
    let (name, found) = (simple(name), simple(found));
    let common = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| {
        a.zip(b).take_while(|(a, b)| a == b).count()
    };
    let start = common(&mut name.chars(), &mut found.chars());
    let longer = name.chars().count().max(found.chars().count());
    let end = common(&mut name.chars().rev(), &mut found.chars().rev());
    name == found || (longer > 2 && start + end + 1 >= longer)
}

pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
