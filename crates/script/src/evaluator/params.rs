//! A handler's parameters: JSON text made into the engine's values.
//!
//! Not by the script's `json.loads`, though it is the same parser: the engine's keeps a cache of
//! strings for a whole run, and making it costs more than most handlers do.

use jiter::JsonValue;
use monty_types::MontyObject;

use crate::{ErrorKind, ScriptError};

pub(super) fn parse(text: &str) -> Result<MontyObject, ScriptError> {
    JsonValue::parse(text.as_bytes(), false)
        .map(|value| object(&value))
        .map_err(|error| {
            let position = error.get_position(text.as_bytes());
            let message = format!(
                "the parameters are no JSON that Python can hold: {} at {position}",
                error.error_type
            );
            ScriptError::bare(ErrorKind::Exception, message)
        })
}

/// The parser has bounded how deep this goes.
fn object(value: &JsonValue<'_>) -> MontyObject {
    match value {
        JsonValue::Null => MontyObject::none(),
        JsonValue::Bool(value) => MontyObject::bool(*value),
        JsonValue::Int(value) => MontyObject::int(*value),
        JsonValue::BigInt(value) => MontyObject::bigint(value.clone()),
        JsonValue::Float(value) => MontyObject::float(*value),
        JsonValue::Str(text) => MontyObject::string(text.as_ref()),
        JsonValue::Array(items) => MontyObject::list(items.iter().map(object)),
        // Of equal keys the last one counts, as in Python.
        JsonValue::Object(pairs) => MontyObject::dict(
            pairs
                .iter()
                .map(|(key, value)| (MontyObject::string(key.as_ref()), object(value))),
        ),
    }
}
