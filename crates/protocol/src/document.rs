//! Documents from outside: JSON, TOML and queries, read into the types of this program.
//!
//! Errors are sentences for users. Most of them name the field and its value and say what to write
//! instead. They contain no text of a parser library, except the reason why a text is not valid
//! TOML.

mod depth;
mod error;
mod exact;
mod node;
mod parts;
mod reader;
mod strict;
mod syntax;

pub use error::ReadError;
pub(crate) use parts::TomlParts;
pub use syntax::not_json;

use std::ops::Range;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use svc_core::registration::Step;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use self::{
    depth::{TOML_DEPTH_MAX, find_too_deep},
    error::Format,
    node::Node,
    reader::Reader,
    strict::{Rules, Strict},
};
use crate::jsonrpc::is_too_deep;

/// Reads JSON.
pub fn read_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, ReadError> {
    read(text, Rules::DOCUMENT)
}

/// Reads the JSON of a request, in which each member of an object occurs once, except in raw JSON.
pub fn read_record<T: DeserializeOwned>(text: &[u8]) -> Result<T, ReadError> {
    read(text, Rules::RECORD)
}

fn read<T: DeserializeOwned>(text: &[u8], rules: Rules) -> Result<T, ReadError> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let strict = Strict {
        inner: &mut json,
        rules,
    };
    let read = T::deserialize(strict).and_then(|value| json.end().map(|()| value));
    read.map_err(|error| {
        if is_too_deep(&error) {
            return ReadError {
                is_too_deep: true,
                ..ReadError::plain("the JSON is nested too deeply".to_owned())
            };
        }
        if let Ok(node) = serde_json::from_slice::<Node>(text) {
            return explain::<T>(&node, rules, Format::Json);
        }
        match serde_json::from_slice::<IgnoredAny>(text) {
            // A `Node` cannot hold a number such as 1e999, although the number is valid JSON.
            Ok(_) if str::from_utf8(text).is_ok() => ReadError::plain(format!(
                "the value that ends at line {}, column {} does not have the form that is expected here",
                error.line(),
                error.column()
            )),
            Ok(_) => ReadError::plain("this is not valid JSON: it is not UTF-8 text".to_owned()),
            Err(error) => ReadError::plain(not_json(text, &error)),
        }
    })
}

/// Reads JSON in which every whole number must stay exact, such as a schema.
pub fn read_exact_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, ReadError> {
    let read = read_json(text)?;
    exact::check_numbers(text)?;
    Ok(read)
}

/// Reads a parsed JSON value.
pub fn read_value<T: DeserializeOwned>(value: Value) -> Result<T, ReadError> {
    let node = Node::from(&value);
    let rules = Rules::DOCUMENT;
    let strict = Strict {
        inner: value,
        rules,
    };
    T::deserialize(strict).map_err(|_| explain::<T>(&node, rules, Format::Json))
}

/// Why the parameters of a query do not have the form of `T`. All values of a query
/// are text; `T` may read them as numbers or booleans.
pub fn explain_query<T: DeserializeOwned>(pairs: Vec<(String, String)>) -> ReadError {
    explain::<T>(&Node::query(pairs), Rules::DOCUMENT, Format::Query)
}

/// Why a query may not have this parameter; `known` are the parameters that it may have.
pub fn explain_parameter(found: &str, known: &[&str]) -> String {
    error::unknown(Format::Query.member(), found, known)
}

/// Why a text, such as the value of an environment variable, does not have the form of `T`.
pub fn explain_word<T: DeserializeOwned>(text: &str) -> ReadError {
    explain::<T>(&Node::Word(text.to_owned()), Rules::DOCUMENT, Format::Json)
}

/// Reads TOML. Dates become RFC 3339 text where any JSON value is allowed; `inf` and `nan` are
/// refused, because JSON cannot hold them.
pub fn read_toml<T: DeserializeOwned>(text: &str) -> Result<T, TomlError> {
    let table = parse_toml(text)?;
    let root = DeValue::Table(table.into_inner());
    let read = Node::from_toml(&root)
        .and_then(|node| T::deserialize(Reader(&node)).map_err(|error| error.render(Format::Toml)));
    read.map_err(|error| TomlError {
        span: find(&root, &error.path, 0..0, error.is_about_key),
        path: error.path,
        message: error.message,
    })
}

/// Parses TOML as a tree of limited depth.
pub(crate) fn parse_toml(text: &str) -> Result<Spanned<DeTable<'_>>, TomlError> {
    let refused = |span, message| TomlError {
        span,
        path: Vec::new(),
        message,
    };
    if let Some(span) = find_too_deep(text) {
        let message = format!("the TOML nests more than {TOML_DEPTH_MAX} levels deep");
        return Err(refused(Some(span), message));
    }
    DeTable::parse(text).map_err(|error| {
        let message = format!("this is not valid TOML: {}", error.message());
        refused(error.span(), message)
    })
}

/// Why a TOML text cannot be read, and where the fault is.
pub struct TomlError {
    pub span: Option<Range<usize>>,
    pub path: Vec<Step>,
    /// The message names the value, not the path.
    pub message: String,
}

/// The position of the value at a path, or of its nearest parent that exists. With `is_key`, the
/// position of the last key instead of its value.
fn find(
    value: &DeValue<'_>,
    path: &[Step],
    here: Range<usize>,
    is_key: bool,
) -> Option<Range<usize>> {
    let Some((step, rest)) = path.split_first() else {
        return Some(here);
    };
    let next = match (step, value) {
        (Step::Key(key), DeValue::Table(table)) => match table.get_key_value(key.as_str()) {
            Some((key, _)) if is_key && rest.is_empty() => return Some(key.span()),
            found => found.map(|(_, value)| value),
        },
        (Step::Index(index), DeValue::Array(array)) => array.get(*index),
        (Step::Key(key), DeValue::Array(array)) => {
            key.parse().ok().and_then(|i: usize| array.get(i))
        }
        _ => None,
    };
    match next {
        Some(next) => find(next.get_ref(), rest, next.span(), is_key),
        None => Some(here),
    }
}

/// Why a document that is well-formed does not have the form of `T`.
fn explain<T: DeserializeOwned>(node: &Node, rules: Rules, format: Format) -> ReadError {
    let strict = Strict {
        inner: Reader(node),
        rules,
    };
    match T::deserialize(strict) {
        Err(error) => error.render(format),
        Ok(_) => ReadError::plain("this is not what is expected here".to_owned()),
    }
}

#[cfg(test)]
mod tests;
