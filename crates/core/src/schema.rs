//! Well-formedness of JSON Schemas at registration (spec 2.1, "Schema rules").
//!
//! Params and results of calls are never validated here: that is up to the method server.

mod draft;
mod example;
mod keyword;
mod malformed;
mod pattern;
mod references;
mod relocate;
mod spelling;

pub use example::example;
pub(crate) use keyword::limited_type;
pub use keyword::{outline, schemas_in};
pub(crate) use references::Scan;
pub use relocate::{Relocated, relocate};
pub use spelling::{MisspelledKeyword, find_misspelled_keywords};

use serde_json::Value;
use thiserror::Error;

/// The maximum nesting of a schema. No schema written by a person is that deep.
const DEPTH_MAX: usize = 64;
/// The maximum size of a schema, in bytes of JSON.
pub const SCHEMA_BYTES_MAX: usize = 256 * 1024;

/// The maximum number of errors of one schema that are reported.
const ERRORS_MAX: usize = 10;

/// Why a schema is refused. `at` is the path to the invalid value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemaError {
    #[error("a schema must be an object, not {0}")]
    NotAnObject(&'static str),
    #[error("schema is nested more than {DEPTH_MAX} levels deep")]
    TooDeep,
    #[error("schema has {0} bytes; at most {SCHEMA_BYTES_MAX} are allowed")]
    TooLarge(usize),
    #[error(
        "`{reference}` refers outside the schema; references must stay inside it, such as `#/$defs/x`"
    )]
    RemoteReference { at: Vec<String>, reference: String },
    #[error(
        "`{reference}` refers to no schema inside this schema; define one, such as `$defs.x` for `#/$defs/x`"
    )]
    DanglingReference { at: Vec<String>, reference: String },
    #[error("the schema has too many references to places with long names; use shorter names")]
    TooManyReferences,
    #[error(
        "`{found}` is not a type; the types are object, array, string, integer, number, boolean and null"
    )]
    UnknownType { at: Vec<String>, found: String },
    #[error("`{pattern}` is not a regular expression: {reason}")]
    Pattern {
        at: Vec<String>,
        pattern: String,
        reason: &'static str,
    },
    #[error("{message}")]
    Malformed { at: Vec<String>, message: String },
    #[error(
        "the root type must be `object` for a method with `mcp_tool`, because a tool takes named arguments"
    )]
    ToolRootNotObject,
}

impl SchemaError {
    /// The path to the invalid value: keys and indexes.
    pub fn steps(&self) -> impl Iterator<Item = &str> {
        let at = match self {
            Self::Malformed { at, .. }
            | Self::UnknownType { at, .. }
            | Self::Pattern { at, .. }
            | Self::RemoteReference { at, .. }
            | Self::DanglingReference { at, .. } => at.as_slice(),
            _ => &[],
        };
        at.iter().map(String::as_str)
    }
}

/// Checks one `params_schema` or `result_schema`. Returns the first error.
pub fn check(schema: &Value) -> Result<(), SchemaError> {
    match find_errors(schema).into_iter().next() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// The errors of one `params_schema` or `result_schema`, at most [`ERRORS_MAX`]. Only one of them is
/// about a reference.
pub fn find_errors(schema: &Value) -> Vec<SchemaError> {
    let draft = match check_whole(schema) {
        Ok(draft) => draft,
        Err(error) => return vec![error],
    };
    let mut errors = match Scan::new(schema) {
        Ok(scan) => check_patterns(&scan),
        Err(error) => vec![error],
    };
    errors.extend(malformed::check_values(schema, draft));
    errors.truncate(ERRORS_MAX);
    errors
}

/// Checks the size of a schema and returns its draft.
fn check_whole(schema: &Value) -> Result<draft::Draft, SchemaError> {
    if !schema.is_object() {
        return Err(SchemaError::NotAnObject(type_name(schema)));
    }
    if depth_exceeds(schema, DEPTH_MAX) {
        return Err(SchemaError::TooDeep);
    }
    let bytes = schema.to_string().len();
    if bytes > SCHEMA_BYTES_MAX {
        return Err(SchemaError::TooLarge(bytes));
    }
    malformed::draft_of(schema)
}

fn check_patterns(scan: &Scan<'_>) -> Vec<SchemaError> {
    let mut errors = Vec::new();
    for &(subschema, keyword, pattern) in &scan.patterns {
        let Err(reason) = pattern::check(pattern) else {
            continue;
        };
        let mut at = scan.path(subschema);
        at.push(keyword.to_owned());
        errors.push(SchemaError::Pattern {
            at,
            pattern: pattern.chars().take(100).collect(),
            reason,
        });
        if errors.len() == ERRORS_MAX {
            break;
        }
    }
    errors
}

/// Checks the additional rule for the `params_schema` of an MCP tool.
pub fn check_tool_root(params_schema: &Value) -> Result<(), SchemaError> {
    match params_schema.get("type") {
        None => Ok(()),
        Some(Value::String(root)) if root == "object" => Ok(()),
        Some(_) => Err(SchemaError::ToolRootNotObject),
    }
}

fn depth_exceeds(value: &Value, left: usize) -> bool {
    match value {
        Value::Array(list) => left == 0 || list.iter().any(|v| depth_exceeds(v, left - 1)),
        Value::Object(map) => left == 0 || map.values().any(|v| depth_exceeds(v, left - 1)),
        _ => false,
    }
}

/// The type of a JSON value, for messages.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;
