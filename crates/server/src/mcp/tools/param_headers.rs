//! Arguments that modern clients repeat in headers: a property with `"x-mcp-header": "Region"` is
//! also sent as `Mcp-Param-Region`, and both must agree.
//!
//! The rules: the property is a string, an integer or a boolean, only `properties` keywords lead to
//! it, and the name of the header is valid and used once. Clients drop a tool if one of its
//! `x-mcp-header` annotations breaks a rule. So all these annotations of such a tool are removed,
//! and the tool is listed without headers.

use http::{HeaderMap, HeaderName};
use serde_json::{Map, Value};

use crate::mcp::{
    era::{Header, decode},
    refusal::{Refusal, echo},
};

const ANNOTATION: &str = "x-mcp-header";
const PREFIX: &str = "mcp-param-";

pub struct ParamHeader {
    header: HeaderName,
    /// The keys that lead to the argument.
    path: Vec<String>,
}

/// Finds the annotations of a schema, and removes all of them if one breaks the rules.
pub fn extract(schema: &mut Value) -> Vec<ParamHeader> {
    let mut found = Vec::new();
    let is_sound = scan(schema, &mut Vec::new(), true, &mut found);
    let names: std::collections::HashSet<_> = found.iter().map(|found| &found.header).collect();
    if is_sound && names.len() == found.len() {
        return found;
    }
    remove_annotations(schema);
    Vec::new()
}

/// Adds the annotations of a schema to `found`. Returns `false` if one breaks the rules.
/// `reachable` is `false` if `schema` is below any keyword other than `properties`.
fn scan(
    schema: &Value,
    path: &mut Vec<String>,
    reachable: bool,
    found: &mut Vec<ParamHeader>,
) -> bool {
    let Value::Object(object) = schema else {
        return true;
    };
    if let Some(annotation) = object.get(ANNOTATION) {
        let header = annotation.as_str().filter(|name| !name.is_empty());
        let header = header.and_then(|name| format!("{PREFIX}{name}").parse().ok());
        let Some(header) = header.filter(|_| reachable && !path.is_empty() && is_primitive(object))
        else {
            return false;
        };
        found.push(ParamHeader {
            header,
            path: path.clone(),
        });
    }
    let properties = object.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        path.push(name.clone());
        let is_sound = scan(property, path, reachable, found);
        path.pop();
        if !is_sound {
            return false;
        }
    }
    subschemas(object).all(|schema| scan(schema, path, false, found))
}

fn is_primitive(schema: &Map<String, Value>) -> bool {
    let kind = schema.get("type").and_then(Value::as_str);
    matches!(kind, Some("string" | "integer" | "boolean"))
}

/// Whether the value of a keyword is data and not a schema; an annotation in data has no meaning.
/// Also true for `properties`, which the callers handle separately.
fn is_data(key: &str) -> bool {
    matches!(
        key,
        "properties" | "const" | "enum" | "default" | "examples" | "example"
    )
}

/// Every direct subschema except the properties.
fn subschemas(object: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let values = object.iter().filter(|(key, _)| !is_data(key));
    values.flat_map(|(key, value)| match value {
        Value::Array(items) => items.iter().collect(),
        // A map from names to schemas, or one schema.
        Value::Object(map) if is_map(key) => map.values().collect(),
        Value::Object(_) => vec![value],
        _ => Vec::new(),
    })
}

fn is_map(key: &str) -> bool {
    matches!(
        key,
        "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties"
    )
}

fn remove_annotations(schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    object.remove(ANNOTATION);
    for (key, value) in object.iter_mut() {
        match value {
            Value::Object(map) if is_map(key) || key == "properties" => {
                map.values_mut().for_each(remove_annotations);
            }
            _ if is_data(key) => {}
            Value::Array(items) => items.iter_mut().for_each(remove_annotations),
            value => remove_annotations(value),
        }
    }
}

/// Rejects a call whose headers differ from its arguments.
pub fn check(
    expected: &[ParamHeader],
    headers: &HeaderMap,
    arguments: &str,
) -> Result<(), Refusal> {
    if expected.is_empty() {
        return Ok(());
    }
    let arguments: Value = serde_json::from_str(arguments)
        .map_err(|_| Refusal::invalid_params("`arguments` is not JSON"))?;
    expected
        .iter()
        .try_for_each(|expected| expected.check(headers, &arguments))
}

impl ParamHeader {
    fn check(&self, headers: &HeaderMap, arguments: &Value) -> Result<(), Refusal> {
        let name = &self.header;
        let value = self
            .path
            .iter()
            .try_fold(arguments, |value, key| value.get(key))
            .filter(|value| !value.is_null());
        match (Header::find(headers, name.as_str()), value) {
            (Header::Absent, None) => Ok(()),
            (Header::Absent, Some(_)) => Err(Refusal::header_mismatch(format!(
                "the header {name} is required, because its argument is set"
            ))),
            (Header::Malformed, _) => Err(Refusal::header_mismatch(format!(
                "the header {name} must occur once and be plain text"
            ))),
            (Header::One(text), Some(value))
                if decode(text).is_some_and(|text| is_equal(&text, value)) =>
            {
                Ok(())
            }
            (Header::One(text), _) => Err(Refusal::header_mismatch(format!(
                "{name} header value '{}' does not match its argument",
                echo(text)
            ))),
        }
    }
}

fn is_equal(header: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => header == text,
        Value::Bool(value) => header == if *value { "true" } else { "false" },
        Value::Number(number) => is_same_number(header, &number.to_string()),
        _ => false,
    }
}

/// Whether two texts are the same number, as `42` and `42.0` are. Integers are compared exactly: a
/// float would round large ones.
fn is_same_number(left: &str, right: &str) -> bool {
    match (left.parse::<i128>(), right.parse::<i128>()) {
        (Ok(left), Ok(right)) => left == right,
        _ => {
            let float = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
            float(left).is_some() && float(left) == float(right)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn valid_annotations_are_found_and_kept() {
        let mut schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "options": {"type": "object", "properties": {
                "limit": {"type": "integer", "x-mcp-header": "Limit"}
            }},
        }});
        let before = schema.clone();
        let found = extract(&mut schema);
        let paths: Vec<_> = found.iter().map(|found| found.path.join("/")).collect();
        assert_eq!(paths.len(), 2);
        assert!(paths.contains(&"options/limit".to_owned()), "{paths:?}");
        assert_eq!(schema, before);
    }

    #[test]
    fn annotations_that_break_a_rule_are_removed() {
        let check = |property: Value| {
            let mut schema =
                json!({"type": "object", "properties": {"a": property, "x-mcp-header": {}}});
            assert!(extract(&mut schema).is_empty());
            assert!(
                !schema["properties"]["a"].to_string().contains(ANNOTATION),
                "{schema}"
            );
            // A property with the name of the annotation is not an annotation.
            assert!(schema["properties"].get(ANNOTATION).is_some());
        };
        check(json!({"type": "number", "x-mcp-header": "A"}));
        check(json!({"type": "string", "x-mcp-header": ""}));
        check(json!({"type": "string", "x-mcp-header": "a b"}));
        check(json!({"type": "string", "x-mcp-header": 7}));
        check(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}));
        check(json!({"oneOf": [{"type": "string", "x-mcp-header": "A"}]}));
        check(json!({"type": "object", "properties": {
            "b": {"type": "string", "x-mcp-header": "A"},
            "c": {"type": "string", "x-mcp-header": "a"},
        }}));
    }

    #[test]
    fn headers_and_arguments_must_agree() {
        let mut schema = json!({"properties": {
            "s": {"type": "string", "x-mcp-header": "S"},
            "n": {"type": "integer", "x-mcp-header": "N"},
            "b": {"type": "boolean", "x-mcp-header": "B"},
        }});
        let expected = extract(&mut schema);
        let try_call = |sent: &[(&'static str, &str)], arguments: Value, is_fine: bool| {
            let mut headers = HeaderMap::new();
            for (name, value) in sent {
                headers.append(*name, value.parse().expect("a header value"));
            }
            let result = check(&expected, &headers, &arguments.to_string());
            assert_eq!(result.is_ok(), is_fine, "{sent:?} {arguments}");
        };
        try_call(&[], json!({}), true);
        try_call(&[], json!({"s": null}), true);
        try_call(&[], json!({"s": "x"}), false);
        try_call(&[("mcp-param-s", "x")], json!({"s": "x"}), true);
        try_call(
            &[("mcp-param-s", "=?base64?eA==?=")],
            json!({"s": "x"}),
            true,
        );
        try_call(&[("mcp-param-s", "y")], json!({"s": "x"}), false);
        try_call(&[("mcp-param-s", "x")], json!({}), false);
        try_call(
            &[("mcp-param-s", "x"), ("mcp-param-s", "x")],
            json!({"s": "x"}),
            false,
        );
        try_call(&[("mcp-param-n", "42.0")], json!({"n": 42}), true);
        try_call(&[("mcp-param-n", "43")], json!({"n": 42}), false);
        let large = json!({"n": 9_007_199_254_740_992_u64});
        try_call(&[("mcp-param-n", "9007199254740992")], large.clone(), true);
        try_call(&[("mcp-param-n", "9007199254740993")], large, false);
        try_call(&[("mcp-param-b", "true")], json!({"b": true}), true);
        try_call(&[("mcp-param-b", "True")], json!({"b": true}), false);
    }
}
