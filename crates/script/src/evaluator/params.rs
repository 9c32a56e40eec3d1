//! Parses a handler's parameters: turns small JSON texts into values of the engine.
//!
//! `json.loads` in the engine uses the same parser, but creates a cache of strings for the whole
//! run, which costs more than most handlers. Large texts are left to the engine, which has limits
//! of time and memory. This module has no such limits, and nesting makes it slow: each list or
//! object that contains a value moves the value once more.

use jiter::JsonValue;
use monty_types::MontyObject;

/// The maximum size of a small text.
const SMALL_BYTES: usize = 8 * 1024;

/// The value of a small text. `None` for a large or invalid text: the engine handles it.
pub(super) fn parse(text: &str) -> Option<MontyObject> {
    if text.len() > SMALL_BYTES {
        return None;
    }
    let value = JsonValue::parse(text.as_bytes(), false).ok()?;
    Some(object(&value))
}

/// Recursive. The parser has limited the depth.
fn object(value: &JsonValue<'_>) -> MontyObject {
    match value {
        JsonValue::Null => MontyObject::none(),
        JsonValue::Bool(value) => MontyObject::bool(*value),
        JsonValue::Int(value) => MontyObject::int(*value),
        JsonValue::BigInt(value) => MontyObject::bigint(value.clone()),
        JsonValue::Float(value) => MontyObject::float(*value),
        JsonValue::Str(text) => MontyObject::string(text.as_ref()),
        JsonValue::Array(items) => MontyObject::list(items.iter().map(object)),
        // If a key occurs more than once, the last value is used, as in Python.
        JsonValue::Object(pairs) => MontyObject::dict(
            pairs
                .iter()
                .map(|(key, value)| (MontyObject::string(key.as_ref()), object(value))),
        ),
    }
}
