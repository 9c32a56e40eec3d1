//! Lists the params of a method one by one, because OpenRPC has no schema for all params together.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use svc_core::schema::Relocated;

/// The maximum number of schemas that are read together: the root, and those that it refers to or
/// combines.
const PARTS_MAX: usize = 32;

/// Keywords that a list of params can express, or that do not restrict params.
const EXPRESSED: [&str; 15] = [
    "$comment",
    "$defs",
    "$schema",
    "additionalItems",
    "additionalProperties",
    "default",
    "definitions",
    "description",
    "examples",
    "items",
    "minItems",
    "prefixItems",
    "properties",
    "required",
    "title",
];

/// The params that a schema describes.
pub(super) struct Params<'a> {
    /// The root, and the schemas that it refers to or combines by `allOf`.
    parts: Vec<&'a Map<String, Value>>,
}

impl<'a> Params<'a> {
    pub(super) fn read(schema: &'a Relocated) -> Self {
        let mut parts: Vec<&Map<String, Value>> = Vec::new();
        let mut next = vec![&schema.schema];
        while let Some(Value::Object(part)) = next.pop() {
            if parts.len() == PARTS_MAX || parts.iter().any(|known| std::ptr::eq(*known, part)) {
                continue;
            }
            parts.push(part);
            let combined = part.get("allOf").and_then(Value::as_array);
            next.extend(
                combined
                    .into_iter()
                    .flatten()
                    .filter(|schema| schema.is_object()),
            );
            let target = part.get("$ref").and_then(Value::as_str);
            let target = target.and_then(|reference| schema.resolve(reference));
            next.extend(target.filter(|schema| schema.is_object()));
        }
        Self { parts }
    }

    pub(super) fn structure(&self) -> &'static str {
        match (self.allows("object"), self.allows("array")) {
            (true, false) => "by-name",
            (false, true) => "by-position",
            _ => "either",
        }
    }

    pub(super) fn describe(&self) -> Vec<Value> {
        let mut params = match self.structure() {
            "by-position" => self.by_position(),
            _ => self.by_name(),
        };
        // OpenRPC: optional params follow the required ones.
        params.sort_by_key(|param| param["required"] == false);
        params
    }

    /// Whether the list of params expresses everything that the schema requires.
    pub(super) fn is_complete(&self) -> bool {
        let [root] = self.parts.as_slice() else {
            return false;
        };
        let expressed =
            |keyword: &String| keyword == "type" || EXPRESSED.contains(&keyword.as_str());
        let has_unnamed = |list: &str| root.get(list).is_some_and(|map| map.get("").is_some());
        let is_open_array = self.structure() == "by-position" && self.by_position().is_empty();
        root.keys().all(expressed) && !has_unnamed("properties") && !is_open_array
    }

    /// Whether all declared types allow this type. Without a declared type, a schema with
    /// properties describes an object.
    fn allows(&self, name: &str) -> bool {
        let types = self.parts.iter().filter_map(|part| part.get("type"));
        let mut types = types.peekable();
        if types.peek().is_none() {
            return name == "object" && self.members("properties").next().is_some();
        }
        types.all(|types| {
            types == name || types.as_array().is_some_and(|t| t.contains(&json!(name)))
        })
    }

    fn members(&self, keyword: &'static str) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let maps = self
            .parts
            .iter()
            .filter_map(move |part| part.get(keyword)?.as_object());
        maps.flatten()
    }

    fn by_name(&self) -> Vec<Value> {
        let required = self
            .parts
            .iter()
            .filter_map(|part| part.get("required")?.as_array());
        let required: BTreeSet<&str> = required.flatten().filter_map(Value::as_str).collect();
        let mut seen = BTreeSet::from([""]);
        let mut params = Vec::new();
        for (name, schema) in self.members("properties") {
            if seen.insert(name) {
                let required = required.contains(name.as_str());
                params.push(json!({"name": name, "required": required, "schema": schema}));
            }
        }
        for name in required {
            if seen.insert(name) {
                params.push(json!({"name": name, "required": true, "schema": {}}));
            }
        }
        params
    }

    /// One param for each element with its own schema, and one for all elements after these.
    fn by_position(&self) -> Vec<Value> {
        let find = |keyword: &str| self.parts.iter().find_map(|part| part.get(keyword));
        let at_least = find("minItems").and_then(Value::as_u64).unwrap_or(0);
        // Before 2020-12, `items` may be a list with a schema for each position. Since then, it is
        // the schema of the elements after `prefixItems`.
        let (positions, others) = match (find("prefixItems"), find("items")) {
            (Some(positions), others) => (Some(positions), others),
            (None, Some(positions @ Value::Array(_))) => (Some(positions), find("additionalItems")),
            (None, others) => (None, others),
        };
        let positions = positions.and_then(Value::as_array);
        let mut names = BTreeSet::new();
        let mut params = Vec::new();
        let elements = positions
            .into_iter()
            .flatten()
            .map(|schema| (schema, false));
        let others = others.filter(|others| others.as_bool() != Some(false));
        for (schema, is_rest) in elements.chain(others.map(|schema| (schema, true))) {
            let number = params.len() + 1;
            let title = schema.get("title").and_then(Value::as_str);
            let title = title.filter(|title| !title.is_empty() && !names.contains(*title));
            let name = match title {
                Some(title) => title.to_owned(),
                None if is_rest => "items".to_owned(),
                None => format!("param{number}"),
            };
            names.insert(name.clone());
            let is_required = number as u64 <= at_least;
            let mut param = json!({"name": name, "required": is_required, "schema": schema});
            if is_rest {
                param["description"] = json!("each further element");
            }
            params.push(param);
        }
        params
    }
}
