//! Moves a schema into another document, for readers of draft 7, which is the dialect of OpenRPC.

use std::{collections::BTreeSet, fmt::Write};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::{
    keyword::{first_repeated, form, subschemas},
    references::{REFERENCES, Reference, Scan},
};

/// Keywords that change the meaning of pointers or of other keywords.
const IDENTIFIERS: [&str; 6] = [
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
];

/// A schema as a part of a larger document.
pub struct Relocated {
    /// Its references are pointers from the root of the larger document.
    pub schema: Value,
    /// Whether the schema has references. They are valid only if the schema is stored at `place`.
    pub has_references: bool,
    place: String,
}

impl Relocated {
    /// The schema that a `$ref` of this schema refers to.
    pub fn resolve(&self, reference: &str) -> Option<&Value> {
        let fragment = reference.strip_prefix('#')?.strip_prefix(&self.place)?;
        let pointer = percent_decode_str(fragment).decode_utf8_lossy();
        self.schema.pointer(&pointer)
    }
}

/// Rewrites a schema that passed [`check`](super::check()), so that it can be stored at `place` (a
/// pointer such as `/components/schemas/x`).
///
/// Ids, anchors and `$schema` are removed. Keywords whose values draft 7 does not allow are removed
/// too: they belong to other drafts.
pub fn relocate(schema: &Value, place: &str) -> Relocated {
    let Ok(scan) = Scan::new(schema) else {
        // Cannot happen: the schema has passed `check`.
        return Relocated {
            schema: Value::Bool(true),
            has_references: false,
            place: place.to_owned(),
        };
    };
    let mut moving = Move {
        scan,
        place,
        lost: BTreeSet::new(),
    };
    let mut moved = moving.copy(schema);
    // References may point into keywords that were removed.
    let targets = moving.scan.references().map(|reference| &reference.target);
    let lost: BTreeSet<_> = targets
        .filter(|target| moved.pointer(target).is_none())
        .cloned()
        .collect();
    if !lost.is_empty() {
        moving.lost = lost;
        moved = moving.copy(schema);
    }
    Relocated {
        schema: moved,
        has_references: moving.scan.references().next().is_some(),
        place: place.to_owned(),
    }
}

struct Move<'a> {
    scan: Scan<'a>,
    place: &'a str,
    /// Targets that references point to and that the copy does not contain.
    lost: BTreeSet<String>,
}

impl Move<'_> {
    fn copy(&self, value: &Value) -> Value {
        match value {
            Value::Array(list) => Value::Array(list.iter().map(|item| self.copy(item)).collect()),
            Value::Object(object) => {
                let Some(references) = self.scan.references_of(value) else {
                    let members = object.iter();
                    return Value::Object(
                        members
                            .map(|(key, v)| (key.clone(), self.copy(v)))
                            .collect(),
                    );
                };
                Value::Object(self.copy_schema(object, references))
            }
            other => other.clone(),
        }
    }

    fn copy_schema(
        &self,
        object: &Map<String, Value>,
        references: &[Reference],
    ) -> Map<String, Value> {
        let mut copy = Map::new();
        for (keyword, value) in object {
            let is_reference = REFERENCES.contains(&keyword.as_str());
            let is_identifier = IDENTIFIERS.contains(&keyword.as_str());
            let fits = form(keyword).is_none_or(|form| form.accepts(value))
                && !(keyword == "enum" && is_loose(value));
            // Many programs follow every member named `$ref`, even inside data.
            let misleads = subschemas(keyword, value).is_empty() && self.misleads(value);
            if !is_reference && !is_identifier && fits && !misleads {
                copy.insert(keyword.clone(), self.copy(value));
            }
        }
        // In draft 4, a boolean beside the bound makes the bound exclusive.
        for (exclusive, bound) in [
            ("exclusiveMinimum", "minimum"),
            ("exclusiveMaximum", "maximum"),
        ] {
            if object.get(exclusive) == Some(&Value::Bool(true))
                && let Some(value) = copy.shift_remove(bound)
            {
                copy.insert(exclusive.to_owned(), value);
            }
        }
        // Draft 7 has `$ref` only. `$dynamicRef` and `$recursiveRef` become a `$ref`, which has the
        // same meaning unless one schema extends another.
        let reference = references.iter().min_by_key(|r| r.keyword != "$ref");
        if let Some(Reference { target, .. }) = reference.filter(|r| !self.lost.contains(&r.target))
        {
            let target = format!("#{}{}", self.place, to_fragment(target));
            copy.insert("$ref".to_owned(), target.into());
        }
        copy
    }

    /// Whether data contains a member that looks like a reference.
    fn misleads(&self, value: &Value) -> bool {
        match value {
            Value::Array(list) => list.iter().any(|item| self.misleads(item)),
            Value::Object(map) if self.scan.references_of(value).is_none() => {
                map.get("$ref").is_some_and(Value::is_string)
                    || map.values().any(|member| self.misleads(member))
            }
            _ => false,
        }
    }
}

/// Whether the value of `enum` is empty or has duplicates. Some readers refuse that.
fn is_loose(values: &Value) -> bool {
    let values = values.as_array().map_or(&[][..], Vec::as_slice);
    values.is_empty() || first_repeated(values).is_some()
}

/// A JSON pointer as the fragment of a URI.
fn to_fragment(pointer: &str) -> String {
    let mut fragment = String::with_capacity(pointer.len());
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@?".contains(&byte) {
            fragment.push(byte.into());
        } else {
            let _ = write!(fragment, "%{byte:02X}");
        }
    }
    fragment
}

#[cfg(test)]
mod tests;
