//! The operations of the language whose cost depends on the size of their operands. Each charges the
//! budget first. They are called like filters; `check` refuses their names in a source.

use minijinja::{Environment, Error, ErrorKind, State, Value, tests::is_in, value::ValueKind};

use super::{
    budget::Budget,
    output::{RawJson, exhausted, root},
};

pub(crate) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter("==", |state: &State, a: &Value, b: &Value| {
        compared(state, a, b).map(|()| a == b)
    });
    environment.add_filter("!=", |state: &State, a: &Value, b: &Value| {
        compared(state, a, b).map(|()| a != b)
    });
    environment.add_filter("<", |state: &State, a: &Value, b: &Value| {
        compared(state, a, b).map(|()| a < b)
    });
    environment.add_filter("<=", |state: &State, a: &Value, b: &Value| {
        compared(state, a, b).map(|()| a <= b)
    });
    environment.add_filter(">", |state: &State, a: &Value, b: &Value| {
        compared(state, a, b).map(|()| a > b)
    });
    environment.add_filter(">=", |state: &State, a: &Value, b: &Value| {
        compared(state, a, b).map(|()| a >= b)
    });
    environment.add_filter("in", is_in_container);
    environment.add_filter("[]", item);
    environment.add_filter("[:]", slice);
    environment.add_filter("weigh", |state: &State, operands: Value| {
        weigh(&root(state)?.budget, &operands).map(|()| operands)
    });
}

fn compared(state: &State, a: &Value, b: &Value) -> Result<(), Error> {
    charge_pair(&root(state)?.budget, a, b)
}

/// Charges for a comparison of two values.
fn charge_pair(budget: &Budget, a: &Value, b: &Value) -> Result<(), Error> {
    match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => budget.charge_text(a.len().min(b.len())).map_err(exhausted),
        _ if a.as_object().is_some() && b.as_object().is_some() => {
            weigh(budget, a)?;
            weigh(budget, b)
        }
        _ => budget.charge(1).map_err(exhausted),
    }
}

/// Charges for a value and all values in it. Not recursive, and stops as soon as the budget is used
/// up.
fn weigh(budget: &Budget, value: &Value) -> Result<(), Error> {
    let mut open = vec![value.clone()];
    while let Some(value) = open.pop() {
        if let Some(text) = value.as_str() {
            budget.charge_text(text.len()).map_err(exhausted)?;
            continue;
        }
        if let Some(RawJson(text)) = value.downcast_object_ref() {
            budget.charge_text(text.len()).map_err(exhausted)?;
            continue;
        }
        budget.charge(1).map_err(exhausted)?;
        match value.kind() {
            ValueKind::Map => {
                for key in value.try_iter()? {
                    budget.charge(1).map_err(exhausted)?;
                    open.push(value.get_item(&key)?);
                    open.push(key);
                }
            }
            ValueKind::Seq | ValueKind::Iterable => {
                for item in value.try_iter()? {
                    budget.charge(1).map_err(exhausted)?;
                    open.push(item);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_in_container(state: &State, needle: &Value, container: &Value) -> Result<bool, Error> {
    let root = root(state)?;
    let budget = &root.budget;
    match container.kind() {
        ValueKind::Undefined => return Ok(false),
        ValueKind::String => {
            weigh(budget, container)?;
            weigh(budget, needle)?;
        }
        // The key is hashed.
        ValueKind::Map => weigh(budget, needle)?,
        ValueKind::Seq | ValueKind::Iterable => {
            for item in container.try_iter()? {
                charge_pair(budget, &item, needle)?;
            }
        }
        _ if container.as_object().is_some() => {}
        _ => {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                "cannot perform a containment check on this value",
            ));
        }
    }
    is_in(state, needle, container)
}

/// `container[key]`. Like every look-up, it is undefined in an undefined value.
fn item(state: &State, container: &Value, key: &Value) -> Result<Value, Error> {
    let root = root(state)?;
    // The key is hashed, and a text is read up to the position.
    weigh(&root.budget, key)?;
    if let Some(text) = container.as_str() {
        root.budget.charge_text(text.len()).map_err(exhausted)?;
    }
    match container.is_undefined() {
        true => Ok(Value::UNDEFINED),
        false => container.get_item(key),
    }
}

/// `value[start:stop:step]`. The engine's own slices read the skipped items again whenever the slice
/// is used; this one copies the chosen items. `check` permits only positive steps.
fn slice(
    state: &State,
    value: &Value,
    start: Value,
    stop: Value,
    step: Value,
) -> Result<Value, Error> {
    let root = root(state)?;
    let number = |given: Value| match given.is_none() {
        true => Ok(None),
        false => i64::try_from(given).map(Some),
    };
    let (start, stop) = (number(start)?.unwrap_or(0), number(stop)?);
    let step = number(step)?.unwrap_or(1);
    let step = usize::try_from(step).unwrap_or(1).max(1);
    let range = |length: usize| {
        let position = |given: i64| match usize::try_from(given) {
            Ok(from_start) => from_start,
            Err(_) => {
                length.saturating_sub(usize::try_from(given.unsigned_abs()).unwrap_or(length))
            }
        };
        let from = position(start);
        (from, stop.map_or(length, position).saturating_sub(from))
    };
    if let Some(text) = value.as_str() {
        root.budget.charge_text(text.len()).map_err(exhausted)?;
        let (from, count) = range(text.chars().count());
        let chars = text.chars().skip(from).take(count).step_by(step);
        return Ok(Value::from(chars.collect::<String>()));
    }
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => Ok(Value::from(Vec::<Value>::new())),
        ValueKind::Seq | ValueKind::Iterable => {
            let length = value.len().unwrap_or(0);
            root.budget.charge(1 + length as u64).map_err(exhausted)?;
            let (from, count) = range(length);
            let items = value.try_iter()?.skip(from).take(count).step_by(step);
            Ok(Value::from(items.collect::<Vec<Value>>()))
        }
        _ => Err(Error::new(
            ErrorKind::InvalidOperation,
            "this value cannot be sliced",
        )),
    }
}

#[cfg(test)]
mod tests;
