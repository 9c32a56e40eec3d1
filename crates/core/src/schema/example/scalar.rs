//! Examples of texts and numbers.

use serde_json::{Map, Value, json};

use super::{ANY, bounds};

/// The maximum length of a text, in characters.
const TEXT_MAX: usize = 100;
/// Formats, and a text in each.
const FORMATS: [(&str, &str); 9] = [
    ("date", "2026-01-31"),
    ("date-time", "2026-01-31T12:00:00Z"),
    ("email", "ada@example.com"),
    ("hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("time", "12:00:00Z"),
    ("uri", "https://example.com/"),
    ("uuid", "01a1dd5c-7e2f-7c3a-9b61-2f6d5a0c4e11"),
];
/// Formats of JSON Schema without an example.
const OTHER_FORMATS: [&str; 10] = [
    "duration",
    "idn-email",
    "idn-hostname",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "uri-reference",
    "uri-template",
];

pub(super) fn string(schema: &Map<String, Value>) -> Option<Value> {
    let (least, most) = bounds(schema, "minLength", "maxLength")?;
    if schema.contains_key("pattern") || least > TEXT_MAX.min(most) {
        return None;
    }
    let fits = |text: &str| (least..=most).contains(&text.chars().count());
    let format = schema.get("format").and_then(Value::as_str);
    if let Some(format) = format {
        if OTHER_FORMATS.contains(&format) {
            return None;
        }
        if let Some((_, text)) = FORMATS.iter().find(|(name, _)| *name == format) {
            return fits(text).then(|| (*text).into());
        }
    }
    let given = given(schema).find(|value| value.as_str().is_some_and(fits));
    let made = || ANY.repeat(least.max(1).min(most)).into();
    Some(given.cloned().unwrap_or_else(made))
}

pub(super) fn number(schema: &Map<String, Value>, is_integer: bool) -> Option<Value> {
    let bound = |name: &str| schema.get(name).cloned();
    let shifted = |name: &str, by: f64| {
        let bound = schema.get(name)?.as_f64()?;
        // Whole numbers beyond this limit have no exact neighbour.
        let shifted = (bound + by).floor();
        (shifted.abs() < 9e15).then(|| json!(shifted as i64))
    };
    let middle = || {
        let low = ["minimum", "exclusiveMinimum"].map(|name| schema.get(name)?.as_f64());
        let high = ["maximum", "exclusiveMaximum"].map(|name| schema.get(name)?.as_f64());
        let (low, high) = (low[0].or(low[1])?, high[0].or(high[1])?);
        Some(json!((low + high) / 2.0))
    };
    let made = [
        Some(json!(1)),
        Some(json!(0)),
        bound("multipleOf"),
        bound("minimum"),
        bound("maximum"),
        shifted("minimum", 1.0),
        shifted("exclusiveMinimum", 1.0),
        shifted("maximum", 0.0),
        shifted("exclusiveMaximum", -1.0),
        middle(),
    ];
    let mut candidates = given(schema).cloned().chain(made.into_iter().flatten());
    candidates.find(|value| {
        let is_whole = value.is_i64() || value.is_u64();
        value.is_number() && (is_whole || !is_integer) && fits(schema, value)
    })
}

/// Whether a number certainly fits the bounds of a schema.
fn fits(schema: &Map<String, Value>, value: &Value) -> bool {
    let Some(number) = value.as_f64() else {
        return false;
    };
    let holds = |name: &str, test: &dyn Fn(f64) -> bool| match schema.get(name) {
        // An equal value is compared as it is written, because `f64` rounds large numbers.
        Some(bound) if bound == value => !name.starts_with("exclusive"),
        Some(bound) => bound.as_f64().is_some_and(test),
        None => true,
    };
    let is_multiple = match schema.get("multipleOf") {
        None => true,
        Some(factor) => match (value.as_i64(), factor.as_i64()) {
            (Some(0), _) => true,
            (Some(value), Some(factor)) if factor > 0 => value % factor == 0,
            _ => false,
        },
    };
    is_multiple
        && holds("minimum", &|bound| number > bound)
        && holds("maximum", &|bound| number < bound)
        && holds("exclusiveMinimum", &|bound| number > bound)
        && holds("exclusiveMaximum", &|bound| number < bound)
}

/// The values that the author of the schema gives as examples.
fn given(schema: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let examples = schema.get("examples").and_then(Value::as_array);
    examples.into_iter().flatten().chain(schema.get("default"))
}
