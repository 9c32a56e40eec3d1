//! The filters and tests that templates may use. Each filter charges the budget by the size of its
//! operands, and the size of its result is limited.

use minijinja::{Environment, Error, State, Value, tests};

use super::{
    OUTPUT_BYTES_MAX,
    budget::Budget,
    output::{RawJson, exhausted, json, root, text, too_large},
};

pub(crate) const FILTERS: [&str; 12] = [
    "default", "first", "int", "join", "last", "length", "lower", "replace", "string", "tojson",
    "trim", "upper",
];
pub(crate) const TESTS: [&str; 8] = [
    "boolean",
    "defined",
    "mapping",
    "none",
    "number",
    "sequence",
    "string",
    "undefined",
];

pub(crate) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter("default", default);
    environment.add_filter("first", first);
    environment.add_filter("int", int);
    environment.add_filter("join", join);
    environment.add_filter("last", last);
    environment.add_filter("length", length);
    environment.add_filter("lower", |state: &State, value: Value| {
        on_text(state, value, |text| text.to_lowercase())
    });
    environment.add_filter("replace", replace);
    environment.add_filter("string", |state: &State, value: Value| {
        on_text(state, value, str::to_owned)
    });
    environment.add_filter("tojson", |state: &State, value: &Value| {
        let json = json(&root(state)?.budget, value);
        json.map(|text| Value::from_object(RawJson(text)))
    });
    environment.add_filter("trim", |state: &State, value: Value| {
        on_text(state, value, |text| text.trim().to_owned())
    });
    environment.add_filter("upper", |state: &State, value: Value| {
        on_text(state, value, |text| text.to_uppercase())
    });
    environment.add_test("boolean", tests::is_boolean);
    environment.add_test("defined", tests::is_defined);
    environment.add_test("mapping", tests::is_mapping);
    environment.add_test("none", tests::is_none);
    environment.add_test("number", tests::is_number);
    environment.add_test("sequence", tests::is_sequence);
    environment.add_test("string", tests::is_string);
    environment.add_test("undefined", tests::is_undefined);
}

/// Whether a value is undefined or null. Text filters return such values unchanged.
fn is_null(value: &Value) -> bool {
    value.is_undefined() || value.is_none()
}

fn on_text(state: &State, value: Value, change: impl Fn(&str) -> String) -> Result<Value, Error> {
    if is_null(&value) {
        return Ok(value);
    }
    bounded(change(&text(&root(state)?.budget, &value)?))
}

fn bounded(text: String) -> Result<Value, Error> {
    check_size(text.len())?;
    Ok(Value::from(text))
}

fn check_size(bytes: usize) -> Result<(), Error> {
    match bytes > OUTPUT_BYTES_MAX {
        true => Err(too_large()),
        false => Ok(()),
    }
}

/// Charges for reading a text, or for stepping through the items of a list.
fn charge_length(budget: &Budget, value: &Value) -> Result<(), Error> {
    let charged = match value.as_str() {
        Some(text) => budget.charge_text(text.len()),
        None => budget.charge(1 + value.len().unwrap_or(0) as u64),
    };
    charged.map_err(exhausted)
}

/// The fallback replaces a value that is missing or null. If `or_empty` is true, the fallback also
/// replaces false, 0 and empty values.
fn default(value: Value, fallback: Option<Value>, or_empty: Option<bool>) -> Value {
    if is_null(&value) || (or_empty == Some(true) && !value.is_true()) {
        fallback.unwrap_or_else(|| Value::from(""))
    } else {
        value
    }
}

fn first(value: Value) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.chars().next().map(Value::from).unwrap_or_default());
    }
    Ok(items(&value)?.next().unwrap_or_default())
}

fn last(state: &State, value: Value) -> Result<Value, Error> {
    charge_length(&root(state)?.budget, &value)?;
    if let Some(text) = value.as_str() {
        return Ok(text
            .chars()
            .next_back()
            .map(Value::from)
            .unwrap_or_default());
    }
    Ok(items(&value)?.last().unwrap_or_default())
}

fn items(value: &Value) -> Result<impl Iterator<Item = Value> + use<>, Error> {
    let list = if is_null(value) {
        Value::UNDEFINED
    } else {
        value.clone()
    };
    list.try_iter()
}

/// Converts a number or a text to a whole number, without its fraction; undefined if that is not
/// possible.
fn int(state: &State, value: Value) -> Result<Value, Error> {
    charge_length(&root(state)?.budget, &value)?;
    Ok(to_int(value))
}

fn to_int(value: Value) -> Value {
    if let Ok(whole) = i64::try_from(value.clone()) {
        return Value::from(whole);
    }
    let number = match value.as_str() {
        Some(text) => match text.trim().parse::<i64>() {
            Ok(whole) => return Value::from(whole),
            Err(_) => text.trim().parse::<f64>().ok(),
        },
        None => f64::try_from(value).ok(),
    };
    match number {
        // Up to 2^53 a float represents every whole number exactly.
        Some(number) if number.abs() <= 9_007_199_254_740_992.0 => {
            #[expect(clippy::cast_possible_truncation, reason = "truncation is intended")]
            let whole = number as i64;
            Value::from(whole)
        }
        _ => Value::UNDEFINED,
    }
}

fn length(state: &State, value: Value) -> Result<Value, Error> {
    charge_length(&root(state)?.budget, &value)?;
    Ok(match value.as_str() {
        Some(text) => Value::from(text.chars().count()),
        None => Value::from(value.len().unwrap_or(0)),
    })
}

fn join(state: &State, value: Value, separator: Option<Value>) -> Result<Value, Error> {
    let root = root(state)?;
    let separator = separator.map_or(Ok(String::new()), |value| text(&root.budget, &value))?;
    let mut joined = String::new();
    for (index, item) in items(&value)?.enumerate() {
        if index > 0 {
            root.budget
                .charge_text(separator.len())
                .map_err(exhausted)?;
            joined.push_str(&separator);
        }
        joined.push_str(&text(&root.budget, &item)?);
        check_size(joined.len())?;
    }
    Ok(Value::from(joined))
}

fn replace(state: &State, value: Value, from: Value, to: Value) -> Result<Value, Error> {
    if is_null(&value) {
        return Ok(value);
    }
    let root = root(state)?;
    let text = |value| text(&root.budget, value);
    let (value, from, to) = (text(&value)?, text(&from)?, text(&to)?);
    // An upper bound of the size of the result, checked before the result is allocated.
    let matches = value.matches(from.as_str()).count();
    let size = value.len().saturating_add(matches.saturating_mul(to.len()));
    check_size(size)?;
    root.budget.charge_text(size).map_err(exhausted)?;
    bounded(value.replace(from.as_str(), &to))
}
