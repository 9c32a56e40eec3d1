//! Checks the references from one part of a schema to another.

use std::{collections::HashMap, ptr};

use serde_json::Value;
use svc_core::schema::schemas_in;

/// Keywords whose schemas apply to the same value as the schema that holds the keyword.
const SAME_VALUE: [&str; 8] = [
    "allOf",
    "anyOf",
    "dependentSchemas",
    "else",
    "if",
    "not",
    "oneOf",
    "then",
];

/// Whether each reference leads to a schema of this root, and no schema refers back to itself for
/// the same value. Validators loop for ever on such a cycle.
pub fn references_end(root: &Value) -> bool {
    let schemas = all_schemas(root);
    let numbers: HashMap<*const Value, usize> = schemas
        .iter()
        .enumerate()
        .map(|(number, schema)| (ptr::from_ref(*schema), number))
        .collect();
    let number_of = |schema: &Value| numbers.get(&ptr::from_ref(schema)).copied();
    let applied: Option<Vec<Vec<usize>>> = schemas
        .iter()
        .map(|schema| {
            applied_by(schema, root)?
                .into_iter()
                .map(number_of)
                .collect()
        })
        .collect();
    applied.is_some_and(|applied| !has_cycle(&applied))
}

/// The root and all schemas inside it.
fn all_schemas(root: &Value) -> Vec<&Value> {
    let mut schemas = vec![root];
    let mut next = 0;
    while let Some(schema) = schemas.get(next).copied() {
        for (key, value) in schema.as_object().into_iter().flatten() {
            schemas.extend(schemas_in(key, value).into_iter().flatten());
        }
        next += 1;
    }
    schemas
}

/// The schemas that a schema applies to the same value; `None` if a reference does not lead to a
/// part of the root.
fn applied_by<'a>(schema: &'a Value, root: &'a Value) -> Option<Vec<&'a Value>> {
    let mut applied = Vec::new();
    for (key, value) in schema.as_object().into_iter().flatten() {
        if key == "$ref" {
            let pointer = value.as_str()?.strip_prefix('#')?;
            applied.push(root.pointer(pointer)?);
        } else if SAME_VALUE.contains(&key.as_str()) {
            applied.extend(schemas_in(key, value).into_iter().flatten());
        }
    }
    Some(applied)
}

/// Whether a directed graph has a cycle. Removes nodes without an incoming edge as long as there
/// are any; the nodes of a cycle remain. Not recursive, because a chain of references can be as
/// long as the schema.
fn has_cycle(edges: &[Vec<usize>]) -> bool {
    let mut incoming = vec![0_usize; edges.len()];
    for target in edges.iter().flatten() {
        incoming[*target] += 1;
    }
    let mut free: Vec<_> = (0..edges.len())
        .filter(|node| incoming[*node] == 0)
        .collect();
    let mut removed = 0;
    while let Some(node) = free.pop() {
        removed += 1;
        for target in &edges[node] {
            incoming[*target] -= 1;
            if incoming[*target] == 0 {
                free.push(*target);
            }
        }
    }
    removed < edges.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::portable_output;
    use super::*;

    #[test]
    fn a_schema_that_applies_itself_to_the_same_value_is_not_shown() {
        let check = |a: Value, b: Value, is_shown: bool| {
            let schema = json!({"$defs": {"a": a, "b": b}});
            assert_eq!(portable_output(&schema).is_some(), is_shown, "{schema}");
        };
        let to = |name: &str| json!({"$ref": format!("#/$defs/{name}")});
        for keyword in ["allOf", "anyOf", "oneOf"] {
            check(
                json!({keyword: [to("b")]}),
                json!({keyword: [to("a")]}),
                false,
            );
            check(json!({keyword: [to("b")]}), json!({"items": to("a")}), true);
        }
        for keyword in ["if", "then", "else", "not"] {
            check(
                json!({keyword: to("b")}),
                json!({"anyOf": [to("a")]}),
                false,
            );
        }
        check(
            json!({"dependentSchemas": {"x": to("a")}}),
            json!({}),
            false,
        );
        check(
            json!({"anyOf": [{"type": "null"}, {"$ref": "#"}]}),
            json!({}),
            true,
        );
        // A reference to a missing schema.
        check(to("b"), json!({"$ref": "#/properties/x"}), false);
        // A chain of references and two references to one schema are not cycles.
        check(to("b"), json!({"type": "null"}), true);
        check(
            json!({"properties": {"x": to("b")}}),
            json!({"$ref": "#/$defs/a"}),
            true,
        );
        check(
            json!({"allOf": [to("b"), to("b")]}),
            json!({"type": "null"}),
            true,
        );
        let root = json!({"anyOf": [{"type": "null"}, {"allOf": [{"$ref": "#"}]}]});
        assert_eq!(portable_output(&root), None);
    }

    #[test]
    fn a_long_chain_of_references_is_checked_in_linear_time() {
        let chain = |last: Value| {
            let mut schemas = serde_json::Map::new();
            for n in 0..20_000 {
                let next = json!({"$ref": format!("#/$defs/{}", n + 1)});
                schemas.insert(n.to_string(), json!({"allOf": [next.clone(), next]}));
            }
            schemas.insert("20000".to_owned(), last);
            portable_output(&json!({"$defs": schemas})).is_some()
        };
        assert!(chain(json!({"type": "null"})));
        assert!(!chain(json!({"allOf": [{"$ref": "#/$defs/0"}]})));
    }
}
