//! A handler's parameters: small JSON texts are made into the engine's values here.
//!
//! Not by `json.loads` in the engine, though it is the same parser: the engine's keeps a cache of
//! strings for a whole run, and making it costs more than most handlers do. Large texts are the
//! engine's, within its limits of time and memory: here, values move once for each level they
//! are nested in.

use jiter::JsonValue;
use monty_types::MontyObject;

/// A text of this size is small, however deep it nests.
const SMALL_BYTES: usize = 8 * 1024;

/// The values of a small text; `None` leaves it, and what is wrong with it, to the engine.
pub(super) fn parse(text: &str) -> Option<MontyObject> {
    if text.len() > SMALL_BYTES {
        return None;
    }
    let value = JsonValue::parse(text.as_bytes(), false).ok()?;
    Some(object(&value))
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
