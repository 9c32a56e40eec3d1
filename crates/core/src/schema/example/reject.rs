//! Decides whether a schema certainly rejects a value.

use serde_json::{Map, Value};

use super::{Maker, has_type};

/// The maximum number of references and members that are followed.
const DEPTH_MAX: usize = 8;

impl Maker<'_> {
    /// `false` also means that it is not certain.
    pub(super) fn rejects(&self, schema: &Value, value: &Value, depth: usize) -> bool {
        if depth > DEPTH_MAX {
            return false;
        }
        let object = match schema {
            Value::Bool(accepts) => return !accepts,
            Value::Object(object) => object,
            _ => return false,
        };
        // Drafts differ about keywords beside a reference.
        if object.contains_key("$ref") {
            let target = self.target(schema);
            return target.is_some_and(|target| self.rejects(target, value, depth + 1));
        }
        let by_type = object.get("type").is_some_and(|types| {
            // A number such as 1.0 may count as an integer.
            !(has_type(types, value) || value.is_f64() && has_type(types, &1.into()))
        });
        let by_const = object.get("const").is_some_and(|one| differs(one, value));
        let by_enum = match object.get("enum") {
            Some(Value::Array(values)) => values.iter().all(|one| differs(one, value)),
            _ => false,
        };
        let by_member = value
            .as_object()
            .is_some_and(|members| self.rejects_member(object, members, depth));
        by_type || by_const || by_enum || by_member
    }

    fn rejects_member(
        &self,
        schema: &Map<String, Value>,
        members: &Map<String, Value>,
        depth: usize,
    ) -> bool {
        let is_missing = match schema.get("required") {
            Some(Value::Array(required)) => required
                .iter()
                .filter_map(Value::as_str)
                .any(|name| !members.contains_key(name)),
            _ => false,
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        let property = |name: &str| properties.and_then(|properties| properties.get(name));
        let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
            && !schema.contains_key("patternProperties");
        is_missing
            || members.iter().any(|(name, member)| match property(name) {
                Some(schema) => self.rejects(schema, member, depth + 1),
                None => is_closed,
            })
    }
}

/// Whether two values certainly differ. Numbers are compared by their value.
fn differs(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() != b.as_f64(),
        // Their elements may be equal numbers with different texts.
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => false,
        (a, b) => a != b,
    }
}
