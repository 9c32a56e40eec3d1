//! Which changes of a method break its callers.
//!
//! The comparison reports only changes that are certain: a schema that it does not understand is
//! assumed to be compatible.

use std::{
    collections::{BTreeSet, HashSet},
    fmt, ptr,
};

use serde_json::{Map, Value};

/// The maximum number of levels of a schema that are compared.
const DEPTH_MAX: usize = 32;
/// The maximum number of changes of one method that are reported.
const CHANGES_MAX: usize = 50;
/// The maximum number of pairs of schemas that are compared, so that a large schema takes little
/// time.
const PAIRS_MAX: usize = 10_000;

/// The schemas of a method; `None` means any value.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct MethodSchemas<'a> {
    pub params: Option<&'a Value>,
    pub result: Option<&'a Value>,
}

/// A change that breaks callers. The text is the path of the value, such as `params.text`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BreakingChange {
    /// The caller must send a value that was not required.
    NewRequiredParam(String),
    /// A value that callers may send is not accepted any more.
    RemovedParam(String),
    /// Values of some types or of an `enum` are not accepted any more.
    NarrowerParam(String),
    /// A value that callers may read was removed.
    RemovedResult(String),
    /// A value that was always there may be missing.
    OptionalResult(String),
    /// A value may have a type, or a value of an `enum`, that callers do not expect.
    WiderResult(String),
}

impl fmt::Display for BreakingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewRequiredParam(path) => write!(f, "`{path}` is required now"),
            Self::RemovedParam(path) => write!(f, "`{path}` is not accepted any more"),
            Self::NarrowerParam(path) => write!(f, "`{path}` accepts fewer values"),
            Self::RemovedResult(path) => write!(f, "`{path}` was removed"),
            Self::OptionalResult(path) => write!(f, "`{path}` may be missing now"),
            Self::WiderResult(path) => write!(f, "`{path}` may have other values now"),
        }
    }
}

/// Lists the changes from `old` to `new` that break callers of the old method.
pub fn breaking_changes(old: MethodSchemas<'_>, new: MethodSchemas<'_>) -> Vec<BreakingChange> {
    let any = Value::Bool(true);
    let mut found = Found {
        changes: Vec::new(),
        compared: HashSet::new(),
    };
    for (side, path, before, after) in [
        (Side::Params, "params", old.params, new.params),
        (Side::Result, "result", old.result, new.result),
    ] {
        let comparison = Comparison {
            side,
            old_root: before.unwrap_or(&any),
            new_root: after.unwrap_or(&any),
        };
        let (old, new) = (comparison.old_root, comparison.new_root);
        if old != new {
            comparison.compare(path, old, new, 0, &mut found);
        }
    }
    found.changes.truncate(CHANGES_MAX);
    found.changes
}

struct Found {
    changes: Vec<BreakingChange>,
    /// Pairs of schemas that were compared, by their addresses. A reference may lead to the same
    /// pair again.
    compared: HashSet<(*const Value, *const Value)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Params,
    Result,
}

struct Comparison<'a> {
    side: Side,
    old_root: &'a Value,
    new_root: &'a Value,
}

impl Comparison<'_> {
    fn compare(&self, path: &str, old: &Value, new: &Value, depth: usize, found: &mut Found) {
        if depth >= DEPTH_MAX
            || found.changes.len() >= CHANGES_MAX
            || found.compared.len() >= PAIRS_MAX
        {
            return;
        }
        let (old, new) = (follow(self.old_root, old), follow(self.new_root, new));
        if !found
            .compared
            .insert((ptr::from_ref(old), ptr::from_ref(new)))
        {
            return;
        }
        let broken = match self.side {
            Side::Params => !covers(new, old),
            Side::Result => !covers(old, new),
        };
        if broken {
            found.changes.push(match self.side {
                Side::Params => BreakingChange::NarrowerParam(path.to_owned()),
                Side::Result => BreakingChange::WiderResult(path.to_owned()),
            });
            return;
        }
        let (old_members, new_members) = (members(old), members(new));
        match self.side {
            Side::Params => compare_params(path, old, new, &mut found.changes),
            Side::Result => compare_result(path, old, new, &mut found.changes),
        }
        for (name, before) in old_members.into_iter().flatten() {
            if let Some(after) = new_members.and_then(|members| members.get(name)) {
                let path = format!("{path}.{name}");
                self.compare(&path, before, after, depth + 1, found);
            }
        }
        if let (Some(before), Some(after)) = (old.get("items"), new.get("items")) {
            let path = format!("{path}[]");
            self.compare(&path, before, after, depth + 1, found);
        }
    }
}

fn compare_params(path: &str, old: &Value, new: &Value, changes: &mut Vec<BreakingChange>) {
    let before = required(old);
    for name in required(new).difference(&before) {
        changes.push(BreakingChange::NewRequiredParam(format!("{path}.{name}")));
    }
    // Without `additionalProperties: false`, a member without a schema is still accepted.
    if new.get("additionalProperties") != Some(&Value::Bool(false)) {
        return;
    }
    for name in members(old).into_iter().flat_map(Map::keys) {
        if members(new).is_none_or(|members| !members.contains_key(name)) {
            changes.push(BreakingChange::RemovedParam(format!("{path}.{name}")));
        }
    }
}

fn compare_result(path: &str, old: &Value, new: &Value, changes: &mut Vec<BreakingChange>) {
    let after = required(new);
    let promised = required(old);
    for name in members(old).into_iter().flat_map(Map::keys) {
        let path = format!("{path}.{name}");
        if members(new).is_none_or(|members| !members.contains_key(name)) {
            changes.push(BreakingChange::RemovedResult(path));
        } else if promised.contains(name.as_str()) && !after.contains(name.as_str()) {
            changes.push(BreakingChange::OptionalResult(path));
        }
    }
}

/// Whether `wide` allows each type and each value of an `enum` that `narrow` allows.
fn covers(wide: &Value, narrow: &Value) -> bool {
    if wide == &Value::Bool(false) {
        return narrow == &Value::Bool(false);
    }
    let types_fit = match (types(wide), types(narrow)) {
        (None, _) => true,
        // Without a type, an `enum` may still limit the values.
        (Some(_), None) => narrow.get("enum").is_some(),
        (Some(wide), Some(narrow)) => narrow
            .iter()
            .all(|name| wide.contains(name) || *name == "integer" && wide.contains("number")),
    };
    let values = |schema: &'_ Value| schema.get("enum").and_then(Value::as_array).cloned();
    let values_fit = match (values(wide), values(narrow)) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) => narrow.iter().all(|value| wide.contains(value)),
    };
    types_fit && values_fit
}

fn types(schema: &Value) -> Option<BTreeSet<&str>> {
    match schema.get("type")? {
        Value::String(name) => Some(BTreeSet::from([name.as_str()])),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

fn members(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

fn required(schema: &Value) -> BTreeSet<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// The schema that a local `$ref` leads to. Other references are not followed.
fn follow<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut here = schema;
    for _ in 0..DEPTH_MAX {
        let pointer = here.get("$ref").and_then(Value::as_str);
        let Some(next) = pointer.and_then(|text| root.pointer(text.strip_prefix('#')?)) else {
            return here;
        };
        here = next;
    }
    here
}

#[cfg(test)]
mod tests;
