//! Types, finite sets of values, and numbers.

use std::cmp::Ordering;

use serde_json::Value;

use super::schema::Part;

/// Larger whole numbers have no exact float.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// The types that the parts of a schema allow together; `None` for every type.
pub(super) fn types(facts: &[Part<'_>]) -> Option<Vec<&'static str>> {
    let mut allowed: Option<Vec<&'static str>> = None;
    for part in facts {
        let Some(types) = types_of(*part) else {
            continue;
        };
        allowed = Some(match allowed {
            None => types,
            Some(before) => meet(&before, &types),
        });
    }
    allowed
}

/// The types that two lists have in common.
fn meet(a: &[&'static str], b: &[&'static str]) -> Vec<&'static str> {
    let narrower = |name: &&'static str| match allows(b, name) {
        true => Some(*name),
        false if *name == "number" && b.contains(&"integer") => Some("integer"),
        false => None,
    };
    a.iter().filter_map(narrower).collect()
}

/// Whether values of this type are in a list of types.
pub(super) fn allows(types: &[&str], name: &str) -> bool {
    types.contains(&name) || name == "integer" && types.contains(&"number")
}

/// The types that one part allows; `None` for every type.
pub(super) fn types_of(part: Part<'_>) -> Option<Vec<&'static str>> {
    match part.get("type") {
        Some(Value::String(name)) => Some(known(name).into_iter().collect()),
        Some(Value::Array(names)) => {
            let names = names.iter().filter_map(Value::as_str);
            Some(names.filter_map(known).collect())
        }
        _ => Some(values_of(part)?.iter().map(type_of).collect()),
    }
}

fn known(name: &str) -> Option<&'static str> {
    let all = [
        "object", "array", "string", "integer", "number", "boolean", "null",
    ];
    all.into_iter().find(|known| *known == name)
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 => "integer",
            _ => "number",
        },
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The values that one part allows, if `enum`, `const` or the type limit them to a few.
pub(super) fn values_of(part: Part<'_>) -> Option<Vec<Value>> {
    if let Some(value) = part.get("const") {
        return Some(vec![value.clone()]);
    }
    if let Some(values) = part.get("enum").and_then(Value::as_array) {
        return Some(values.clone());
    }
    match part.get("type")?.as_str()? {
        "boolean" => Some(vec![Value::Bool(false), Value::Bool(true)]),
        "null" => Some(vec![Value::Null]),
        _ => None,
    }
}

/// Whether two values are equal in JSON Schema, where 1 and 1.0 are.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => compare(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let mut members = a.iter();
            a.len() == b.len()
                && members.all(|(name, a)| b.get(name).is_some_and(|b| is_same(a, b)))
        }
        _ => a == b,
    }
}

/// Compares two numbers. `None` if one of them is not a number, or if a float is not exact.
pub(super) fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    let whole = |value: &Value| {
        let signed = value.as_i64().map(i128::from);
        signed.or_else(|| value.as_u64().map(i128::from))
    };
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return Some(a.cmp(&b));
    }
    let is_exact = |value: &Value, float: f64| whole(value).is_none() || float.abs() <= EXACT_MAX;
    let (x, y) = (a.as_f64()?, b.as_f64()?);
    match is_exact(a, x) && is_exact(b, y) {
        true => x.partial_cmp(&y),
        false => None,
    }
}

/// Whether every multiple of `a` is a multiple of `b`.
pub(super) fn is_multiple(a: &Value, b: &Value) -> bool {
    match (a.as_u64(), b.as_u64()) {
        (Some(a), Some(b)) if b > 0 => a % b == 0,
        _ => is_same(a, b),
    }
}
