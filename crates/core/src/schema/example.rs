//! Makes an example of a value that a schema accepts, for people who want to try a method.
//!
//! The schema must have passed [`check`](super::check()). This module does not understand every
//! keyword, so it makes an example only if the schema certainly accepts it.

mod reject;
mod scalar;

use serde_json::{Map, Value};

use super::{
    draft::Draft,
    keyword::{self, limited_type},
    malformed::draft_of,
    references::Scan,
};

/// The maximum number of schemas that one example is made from.
const SCHEMAS_MAX: usize = 200;
/// The maximum nesting of an example.
const DEPTH_MAX: usize = 16;
/// The maximum number of elements of an array.
const ITEMS_MAX: usize = 5;
/// A value for a schema that accepts every value.
const ANY: &str = "…";
/// Keywords that reject no value.
const ANNOTATIONS: [&str; 21] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$id",
    "$recursiveAnchor",
    "$schema",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "format",
    "id",
    "readOnly",
    "title",
    "writeOnly",
];
/// A value that the schema accepts: the required members only, and one element for each array.
/// `None` if no such value is known.
pub fn example(schema: &Value) -> Option<Value> {
    if matches!(draft_of(schema), Ok(Draft::Draft4) | Err(_)) {
        return None;
    }
    let mut maker = Maker {
        root: schema,
        scan: Scan::new(schema).ok()?,
        schemas_left: SCHEMAS_MAX,
    };
    maker.value(schema, 0)
}

struct Maker<'a> {
    root: &'a Value,
    scan: Scan<'a>,
    schemas_left: usize,
}

impl<'a> Maker<'a> {
    fn value(&mut self, schema: &'a Value, depth: usize) -> Option<Value> {
        self.schemas_left = self.schemas_left.checked_sub(1)?;
        if depth > DEPTH_MAX {
            return None;
        }
        let object = match schema {
            Value::Bool(true) => return Some(ANY.into()),
            Value::Object(object) => object,
            _ => return None,
        };
        let rules: Vec<&str> = rules(object).collect();
        let only = |allowed: &[&str]| rules.iter().all(|rule| allowed.contains(rule));
        let typed = |value: &Value| {
            object
                .get("type")
                .is_none_or(|types| has_type(types, value))
        };
        if rules.contains(&"$ref") {
            let target = self.target(schema).filter(|_| only(&["$ref"]))?;
            return self.value(target, depth + 1);
        }
        if let Some(value) = object.get("const") {
            return Some(value.clone()).filter(|value| only(&["const", "type"]) && typed(value));
        }
        if let Some(Value::Array(values)) = object.get("enum") {
            let value = values.iter().find(|value| typed(value));
            return value.filter(|_| only(&["enum", "type"])).cloned();
        }
        for branches in ["allOf", "anyOf", "oneOf"] {
            if let Some(Value::Array(list)) = object.get(branches) {
                let is_plain = only(&[branches, "type"]);
                let is_one = branches != "allOf" || list.len() == 1;
                let value = self.branch(list, branches == "oneOf", depth)?;
                return Some(value).filter(|value| is_plain && is_one && typed(value));
            }
        }
        match type_of(object, &rules)? {
            "object" => self.object(object, &rules, depth),
            "array" => self.array(object, &rules, depth),
            "string" => scalar::string(object),
            "integer" => scalar::number(object, true),
            "number" => scalar::number(object, false),
            "boolean" => Some(true.into()),
            "null" => Some(Value::Null),
            _ => None,
        }
        // Keywords such as `not` apply to every type.
        .filter(|_| {
            let mut rules = rules.iter();
            rules.all(|rule| *rule == "type" || limited_type(rule).is_some())
        })
    }

    /// The schema that a schema refers to by `$ref`.
    fn target(&self, schema: &Value) -> Option<&'a Value> {
        let references = self.scan.references_of(schema)?;
        let reference = references.iter().find(|found| found.keyword == "$ref")?;
        self.root.pointer(&reference.target)
    }

    /// An example of the first schema in a list that has one. With `is_exclusive`, all others must
    /// reject it.
    fn branch(&mut self, list: &'a [Value], is_exclusive: bool, depth: usize) -> Option<Value> {
        list.iter().enumerate().find_map(|(index, schema)| {
            let value = self.value(schema, depth + 1)?;
            let mut others = list.iter().enumerate().filter(|(other, _)| *other != index);
            let is_accepted =
                !is_exclusive || others.all(|(_, other)| self.rejects(other, &value, 0));
            is_accepted.then_some(value)
        })
    }

    fn object(
        &mut self,
        schema: &'a Map<String, Value>,
        rules: &[&str],
        depth: usize,
    ) -> Option<Value> {
        let unsupported = [
            "dependencies",
            "dependentRequired",
            "dependentSchemas",
            "patternProperties",
            "propertyNames",
        ];
        if rules.iter().any(|rule| unsupported.contains(rule)) {
            return None;
        }
        let no_properties = &Map::new();
        let properties = match schema.get("properties") {
            Some(properties) => properties.as_object()?,
            None => no_properties,
        };
        let required = match schema.get("required") {
            Some(required) => required.as_array()?.as_slice(),
            None => &[],
        };
        let mut members = Map::new();
        for name in required {
            let name = name.as_str()?;
            let value = match properties.get_key_value(name) {
                Some(_) => self.value(schema.get("properties")?.get(name)?, depth + 1)?,
                None if schema.contains_key("unevaluatedProperties") => return None,
                None => match schema.get("additionalProperties") {
                    Some(others) => self.value(others, depth + 1)?,
                    None => ANY.into(),
                },
            };
            members.insert(name.to_owned(), value);
        }
        let (least, most) = bounds(schema, "minProperties", "maxProperties")?;
        for name in properties.keys() {
            if members.len() < least && !members.contains_key(name) {
                let value = self.value(schema.get("properties")?.get(name)?, depth + 1)?;
                members.insert(name.clone(), value);
            }
        }
        (least..=most)
            .contains(&members.len())
            .then_some(Value::Object(members))
    }

    fn array(
        &mut self,
        schema: &'a Map<String, Value>,
        rules: &[&str],
        depth: usize,
    ) -> Option<Value> {
        let supported = ["items", "maxItems", "minItems", "uniqueItems"];
        let is_supported =
            |rule: &&str| limited_type(rule) != Some("array") || supported.contains(rule);
        if !rules.iter().all(is_supported) {
            return None;
        }
        let (least, most) = bounds(schema, "minItems", "maxItems")?;
        if least > ITEMS_MAX.min(most) {
            return None;
        }
        let item = match schema.get("items") {
            Some(items) => self.value(items, depth + 1),
            None => Some(ANY.into()),
        };
        let count = match item {
            Some(_) => least.max(1).min(most),
            None => 0,
        };
        let is_unique = schema
            .get("uniqueItems")
            .is_some_and(|unique| unique != false);
        if count < least || is_unique && count > 1 {
            return None;
        }
        Some(std::iter::repeat_n(item.unwrap_or_default(), count).collect())
    }
}

/// The keywords of a schema that may reject a value.
fn rules(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = schema.keys().map(String::as_str);
    names.filter(|name| {
        let is_known = *name == "const" || keyword::names().any(|known| known == *name);
        is_known && !ANNOTATIONS.contains(name)
    })
}

/// The type of the example: the first type that the schema allows, without null if possible. If the
/// schema names no type, the type that its keywords are about.
fn type_of<'a>(schema: &'a Map<String, Value>, rules: &[&str]) -> Option<&'a str> {
    let limits = |name: &str| rules.iter().any(|rule| limited_type(rule) == Some(name));
    match schema.get("type") {
        Some(Value::String(name)) => Some(name),
        Some(Value::Array(names)) => {
            let mut names = names.iter().filter_map(Value::as_str);
            names.find(|name| *name != "null").or(Some("null"))
        }
        Some(_) => None,
        None => {
            let mut types = ["object", "array", "number"].into_iter();
            types.find(|name| limits(name)).or(Some("string"))
        }
    }
}

/// The bounds of a length. `None` if one of them is not a count.
fn bounds(schema: &Map<String, Value>, least: &str, most: &str) -> Option<(usize, usize)> {
    let read = |name: &str, default: usize| match schema.get(name) {
        Some(value) => usize::try_from(value.as_u64()?).ok(),
        None => Some(default),
    };
    Some((read(least, 0)?, read(most, usize::MAX)?))
}

/// Whether a value certainly has one of the types in the value of `type`.
fn has_type(types: &Value, value: &Value) -> bool {
    let is = |name: &str| match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
        Value::Number(number) => {
            name == "number" || name == "integer" && (number.is_i64() || number.is_u64())
        }
    };
    match types {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
