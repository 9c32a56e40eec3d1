//! The keywords of JSON Schema and the form of their values.

use serde_json::{Map, Value, json};

const TYPES: [&str; 7] = [
    "object", "array", "string", "integer", "number", "boolean", "null",
];

/// The form that the value of a keyword must have, in the drafts 6, 7, 2019-09 and 2020-12.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Text,
    Flag,
    List,
    Number,
    Positive,
    Count,
    /// Names without duplicates.
    Names,
    /// Values without duplicates, at least one.
    Values,
    Types,
    Schema,
    /// One schema or, before 2020-12, a list with one schema for each position.
    SchemaOrList,
    SchemaList,
    SchemaMap,
    /// A map from names to schemas or to lists of names.
    Dependencies,
}

/// The keywords whose values must have a certain form. Values of other keywords are not checked
/// here.
const KEYWORDS: [(Form, &[&str]); 14] = [
    (
        Form::Text,
        &[
            "$anchor",
            "$comment",
            "$dynamicAnchor",
            "$dynamicRef",
            "$id",
            "$recursiveRef",
            "$ref",
            "$schema",
            "contentEncoding",
            "contentMediaType",
            "description",
            "format",
            "pattern",
            "title",
        ],
    ),
    (
        Form::Flag,
        &[
            "$recursiveAnchor",
            "deprecated",
            "readOnly",
            "uniqueItems",
            "writeOnly",
        ],
    ),
    (Form::List, &["examples"]),
    (
        Form::Number,
        &["exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"],
    ),
    (Form::Positive, &["multipleOf"]),
    (
        Form::Count,
        &[
            "maxContains",
            "maxItems",
            "maxLength",
            "maxProperties",
            "minContains",
            "minItems",
            "minLength",
            "minProperties",
        ],
    ),
    (Form::Names, &["required"]),
    (Form::Values, &["enum"]),
    (Form::Types, &["type"]),
    (
        Form::Schema,
        &[
            "additionalItems",
            "additionalProperties",
            "contains",
            "contentSchema",
            "else",
            "if",
            "not",
            "propertyNames",
            "then",
            "unevaluatedItems",
            "unevaluatedProperties",
        ],
    ),
    (Form::SchemaOrList, &["items"]),
    (
        Form::SchemaList,
        &["allOf", "anyOf", "oneOf", "prefixItems"],
    ),
    (
        Form::SchemaMap,
        &[
            "$defs",
            "definitions",
            "dependentSchemas",
            "patternProperties",
            "properties",
        ],
    ),
    (Form::Dependencies, &["dependencies"]),
];

/// The form of a keyword's value; `None` for keywords that are not in [`KEYWORDS`].
pub(super) fn form(keyword: &str) -> Option<Form> {
    let found = KEYWORDS.iter().find(|(_, names)| names.contains(&keyword));
    found.map(|(form, _)| *form)
}

/// A JSON Schema that describes JSON Schemas of any draft, for editors. `itself` is a reference to
/// the returned schema, which accepts more than [`check`](super::check()) does.
pub fn outline(itself: &str) -> Value {
    let properties: Map<String, Value> = KEYWORDS
        .iter()
        .flat_map(|(form, names)| names.iter().map(|name| (*name, *form)))
        .map(|(name, form)| (name.to_owned(), form.outline(itself)))
        .collect();
    json!({"type": ["object", "boolean"], "properties": properties})
}

impl Form {
    pub(super) fn accepts(self, value: &Value) -> bool {
        let array = |test: &dyn Fn(&[Value]) -> bool| value.as_array().is_some_and(|v| test(v));
        let map = |test: &dyn Fn(&Value) -> bool| {
            value.as_object().is_some_and(|map| map.values().all(test))
        };
        match self {
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::List => value.is_array(),
            Self::Number => value.is_number(),
            Self::Positive => value.as_f64().is_some_and(|number| number > 0.0),
            Self::Count => value
                .as_f64()
                .is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
            Self::Names => is_names(value),
            Self::Values => array(&|values| !values.is_empty() && first_repeated(values).is_none()),
            Self::Types => match value {
                Value::Array(types) => {
                    !types.is_empty()
                        && types.iter().all(is_type)
                        && first_repeated(types).is_none()
                }
                other => is_type(other),
            },
            Self::Schema => is_schema(value),
            Self::SchemaOrList => is_schema(value) || Self::SchemaList.accepts(value),
            Self::SchemaList => array(&|list| !list.is_empty() && list.iter().all(is_schema)),
            Self::SchemaMap => map(&is_schema),
            Self::Dependencies => map(&|value| is_schema(value) || is_names(value)),
        }
    }

    fn outline(self, itself: &str) -> Value {
        let schema = || json!({"$ref": itself});
        let names = || json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true});
        let list = || json!({"type": "array", "items": schema(), "minItems": 1});
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::List => json!({"type": "array"}),
            // In draft 4, `exclusiveMinimum` and `exclusiveMaximum` are booleans.
            Self::Number => json!({"type": ["number", "boolean"]}),
            Self::Positive => json!({"type": "number", "exclusiveMinimum": 0}),
            Self::Count => json!({"type": "integer", "minimum": 0}),
            Self::Names => names(),
            Self::Values => json!({"type": "array"}),
            Self::Types => {
                let one = json!({"type": "string", "enum": TYPES});
                json!({"anyOf": [one.clone(), {"type": "array", "items": one, "minItems": 1}]})
            }
            Self::Schema => schema(),
            Self::SchemaOrList => json!({"anyOf": [schema(), list()]}),
            Self::SchemaList => list(),
            Self::SchemaMap => json!({"type": "object", "additionalProperties": schema()}),
            Self::Dependencies => {
                let value = json!({"anyOf": [schema(), names()]});
                json!({"type": "object", "additionalProperties": value})
            }
        }
    }

    /// The expected value, as a phrase that follows "must be".
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Flag => "true or false",
            Self::List => "an array",
            Self::Number => "a number",
            Self::Positive => "a number greater than 0",
            Self::Count => "a whole number of at least 0",
            Self::Names => "an array of different strings",
            Self::Values => "an array of different values",
            Self::Types => {
                "one of object, array, string, integer, number, boolean and null, or an array of them"
            }
            Self::Schema => "a schema: an object, true or false",
            Self::SchemaOrList => "a schema: an object, true or false",
            Self::SchemaList => "an array of schemas, at least one",
            Self::SchemaMap => "an object whose values are schemas",
            Self::Dependencies => "an object whose values are schemas or arrays of names",
        }
    }
}

/// The position of a schema inside the value of a keyword.
#[derive(Clone, Copy)]
pub(super) enum Below<'a> {
    Itself,
    Index(usize),
    Name(&'a str),
}

/// The values at the positions of schemas directly inside a keyword's value. In `dependencies`,
/// lists of names are among them.
pub(super) fn subschemas<'a>(keyword: &str, value: &'a Value) -> Vec<(Below<'a>, &'a Value)> {
    match (form(keyword), value) {
        (Some(Form::Schema | Form::SchemaOrList), Value::Object(_) | Value::Bool(_)) => {
            vec![(Below::Itself, value)]
        }
        (Some(Form::SchemaOrList | Form::SchemaList), Value::Array(list)) => {
            let items = list.iter().enumerate();
            items.map(|(i, item)| (Below::Index(i), item)).collect()
        }
        (Some(Form::SchemaMap | Form::Dependencies), Value::Object(map)) => {
            let members = map.iter();
            members
                .map(|(name, member)| (Below::Name(name), member))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The schemas directly inside a keyword's value. `None` if the keyword takes no schemas, or if the
/// value has the wrong form. Always `None` for `dependencies`.
pub fn schemas_in<'a>(keyword: &str, value: &'a Value) -> Option<impl Iterator<Item = &'a Value>> {
    let holds_schemas = match form(keyword)? {
        form @ (Form::Schema | Form::SchemaOrList | Form::SchemaList | Form::SchemaMap) => {
            form.accepts(value)
        }
        _ => false,
    };
    let schemas = subschemas(keyword, value).into_iter();
    holds_schemas.then(|| schemas.map(|(_, schema)| schema))
}

pub(super) fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn is_type(value: &Value) -> bool {
    value.as_str().is_some_and(|name| TYPES.contains(&name))
}

/// The first name in the value of `type` that is not the name of a type.
pub(super) fn unknown_type(value: &Value) -> Option<&str> {
    let types = match value {
        Value::Array(types) => types.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut names = types.iter().filter(|name| !is_type(name));
    names.find_map(Value::as_str)
}

pub(super) fn first_repeated(values: &[Value]) -> Option<&Value> {
    // Users choose the number of values, and comparing all pairs would take quadratic time.
    let mut seen = std::collections::HashSet::new();
    values.iter().find(|value| !seen.insert(value.to_string()))
}

fn is_names(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|names| names.iter().all(Value::is_string) && first_repeated(names).is_none())
}

#[cfg(test)]
mod tests;
