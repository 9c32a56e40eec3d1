//! The keywords of JSON Schema and the form of their values.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use super::draft::Draft;

const TYPES: [&str; 7] = [
    "object", "array", "string", "integer", "number", "boolean", "null",
];

/// The form that the value of a keyword must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Text,
    /// An id without a fragment.
    Id,
    /// The name of an anchor in draft 2019-09.
    OldAnchor,
    Anchor,
    Flag,
    List,
    Number,
    Positive,
    Count,
    /// Names without duplicates.
    Names,
    Types,
    Schema,
    /// One schema, or a list with one schema for each position.
    SchemaOrList,
    SchemaList,
    SchemaMap,
    /// A map from names to schemas or to lists of names.
    Dependencies,
    /// A map from names to lists of names.
    NamesMap,
    FlagMap,
}

const ALL: RangeInclusive<Draft> = Draft::Draft4..=Draft::Draft2020;
const ONLY_4: RangeInclusive<Draft> = Draft::Draft4..=Draft::Draft4;
const BEFORE_2020: RangeInclusive<Draft> = Draft::Draft4..=Draft::Draft2019;
const SINCE_6: RangeInclusive<Draft> = Draft::Draft6..=Draft::Draft2020;
const SINCE_7: RangeInclusive<Draft> = Draft::Draft7..=Draft::Draft2020;
const SINCE_2019: RangeInclusive<Draft> = Draft::Draft2019..=Draft::Draft2020;
const ONLY_2019: RangeInclusive<Draft> = Draft::Draft2019..=Draft::Draft2019;
const ONLY_2020: RangeInclusive<Draft> = Draft::Draft2020..=Draft::Draft2020;

/// The keywords whose values must have a certain form, as in the meta-schemas of the drafts. Where
/// drafts differ, the first entry of a keyword is the form in draft 7, if draft 7 has the keyword.
const KEYWORDS: [(RangeInclusive<Draft>, Form, &[&str]); 38] = [
    (
        ALL,
        Form::Text,
        &["$schema", "description", "format", "pattern", "title"],
    ),
    (ONLY_4, Form::Text, &["id"]),
    (Draft::Draft6..=Draft::Draft7, Form::Text, &["$id"]),
    (SINCE_2019, Form::Id, &["$id"]),
    (SINCE_6, Form::Text, &["$ref"]),
    (
        SINCE_7,
        Form::Text,
        &["$comment", "contentEncoding", "contentMediaType"],
    ),
    (SINCE_2019, Form::Text, &["$recursiveRef"]),
    (ONLY_2020, Form::Text, &["$dynamicRef"]),
    (ONLY_2019, Form::OldAnchor, &["$anchor"]),
    (ONLY_2019, Form::Flag, &["$recursiveAnchor"]),
    (
        ONLY_2020,
        Form::Anchor,
        &["$anchor", "$dynamicAnchor", "$recursiveAnchor"],
    ),
    (ALL, Form::Flag, &["uniqueItems"]),
    (SINCE_7, Form::Flag, &["readOnly", "writeOnly"]),
    (SINCE_2019, Form::Flag, &["deprecated"]),
    (ALL, Form::List, &["enum"]),
    (SINCE_6, Form::List, &["examples"]),
    (ALL, Form::Number, &["maximum", "minimum"]),
    (
        SINCE_6,
        Form::Number,
        &["exclusiveMaximum", "exclusiveMinimum"],
    ),
    (
        ONLY_4,
        Form::Flag,
        &["exclusiveMaximum", "exclusiveMinimum"],
    ),
    (ALL, Form::Positive, &["multipleOf"]),
    (
        ALL,
        Form::Count,
        &[
            "maxItems",
            "maxLength",
            "maxProperties",
            "minItems",
            "minLength",
            "minProperties",
        ],
    ),
    (SINCE_2019, Form::Count, &["maxContains", "minContains"]),
    (ALL, Form::Names, &["required"]),
    (ALL, Form::Types, &["type"]),
    (ALL, Form::Schema, &["additionalProperties", "not"]),
    (BEFORE_2020, Form::Schema, &["additionalItems"]),
    (SINCE_6, Form::Schema, &["contains", "propertyNames"]),
    (SINCE_7, Form::Schema, &["else", "if", "then"]),
    (
        SINCE_2019,
        Form::Schema,
        &["contentSchema", "unevaluatedItems", "unevaluatedProperties"],
    ),
    (BEFORE_2020, Form::SchemaOrList, &["items"]),
    (ONLY_2020, Form::Schema, &["items"]),
    (ALL, Form::SchemaList, &["allOf", "anyOf", "oneOf"]),
    (ONLY_2020, Form::SchemaList, &["prefixItems"]),
    (
        ALL,
        Form::SchemaMap,
        &["definitions", "patternProperties", "properties"],
    ),
    (SINCE_2019, Form::SchemaMap, &["$defs", "dependentSchemas"]),
    (ALL, Form::Dependencies, &["dependencies"]),
    (SINCE_2019, Form::NamesMap, &["dependentRequired"]),
    (SINCE_2019, Form::FlagMap, &["$vocabulary"]),
];

/// The keywords of any draft that are in [`KEYWORDS`]. Some names occur twice.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KEYWORDS
        .iter()
        .flat_map(|(_, _, names)| names.iter().copied())
}

/// The form of a keyword's value in any draft; `None` for keywords that are not in [`KEYWORDS`].
pub(super) fn form(keyword: &str) -> Option<Form> {
    let mut found = KEYWORDS.iter();
    let found = found.find(|(_, _, names)| names.contains(&keyword));
    found.map(|(_, form, _)| *form)
}

/// The form of a keyword's value in one draft.
pub(super) fn form_in(draft: Draft, keyword: &str) -> Option<Form> {
    let mut found = KEYWORDS.iter();
    let found =
        found.find(|(drafts, _, names)| drafts.contains(&draft) && names.contains(&keyword));
    found.map(|(_, form, _)| *form)
}

/// The type of the values that a keyword limits. `None` for a keyword that limits values of every
/// type, or none.
pub(crate) fn limited_type(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "additionalProperties"
        | "dependencies"
        | "dependentRequired"
        | "dependentSchemas"
        | "maxProperties"
        | "minProperties"
        | "patternProperties"
        | "properties"
        | "propertyNames"
        | "required"
        | "unevaluatedProperties" => "object",
        "additionalItems" | "contains" | "items" | "maxContains" | "maxItems" | "minContains"
        | "minItems" | "prefixItems" | "unevaluatedItems" | "uniqueItems" => "array",
        "contentEncoding" | "contentMediaType" | "contentSchema" | "maxLength" | "minLength"
        | "pattern" => "string",
        "exclusiveMaximum" | "exclusiveMinimum" | "maximum" | "minimum" | "multipleOf" => "number",
        _ => return None,
    })
}

/// A JSON Schema that describes JSON Schemas of any draft, for editors. `itself` is a reference to
/// the returned schema, which accepts more than [`check`](super::check()) does.
pub fn outline(itself: &str) -> Value {
    let newer = KEYWORDS.iter().filter(|(drafts, ..)| *drafts != ONLY_4);
    let names = newer.flat_map(|(_, _, names)| *names);
    let properties: Map<String, Value> = names
        .filter_map(|name| Some(((*name).to_owned(), form(name)?.outline(itself))))
        .collect();
    json!({"type": ["object", "boolean"], "properties": properties})
}

impl Form {
    pub(super) fn accepts(self, value: &Value) -> bool {
        let text = |test: &dyn Fn(&str) -> bool| value.as_str().is_some_and(test);
        let array = |test: &dyn Fn(&[Value]) -> bool| value.as_array().is_some_and(|v| test(v));
        let map = |test: &dyn Fn(&Value) -> bool| {
            value.as_object().is_some_and(|map| map.values().all(test))
        };
        match self {
            Self::Text => value.is_string(),
            Self::Id => text(&|id| !id.strip_suffix('#').unwrap_or(id).contains('#')),
            Self::OldAnchor => text(&|name| is_anchor(name, "", "-.:_")),
            Self::Anchor => text(&|name| is_anchor(name, "_", "-._")),
            Self::Flag => value.is_boolean(),
            Self::List => value.is_array(),
            Self::Number => value.is_number(),
            Self::Positive => value.as_f64().is_some_and(|number| number > 0.0),
            Self::Count => value
                .as_f64()
                .is_some_and(|number| number >= 0.0 && number.fract() == 0.0),
            Self::Names => is_names(value),
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
            Self::NamesMap => map(&is_names),
            Self::FlagMap => map(&Value::is_boolean),
        }
    }

    fn outline(self, itself: &str) -> Value {
        let schema = || json!({"$ref": itself});
        let names = || json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true});
        let list = || json!({"type": "array", "items": schema(), "minItems": 1});
        match self {
            Self::Text | Self::Id | Self::OldAnchor | Self::Anchor => json!({"type": "string"}),
            Self::Flag => json!({"type": "boolean"}),
            Self::List => json!({"type": "array"}),
            // In draft 4, `exclusiveMinimum` and `exclusiveMaximum` are booleans.
            Self::Number => json!({"type": ["number", "boolean"]}),
            Self::Positive => json!({"type": "number", "exclusiveMinimum": 0}),
            Self::Count => json!({"type": "integer", "minimum": 0}),
            Self::Names => names(),
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
            Self::NamesMap => json!({"type": "object", "additionalProperties": names()}),
            Self::FlagMap => json!({"type": "object", "additionalProperties": {"type": "boolean"}}),
        }
    }

    /// The expected value, as a phrase that follows "must be".
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Id => "a string without a fragment",
            Self::OldAnchor | Self::Anchor => "a name such as `item-1`",
            Self::Flag => "true or false",
            Self::List => "an array",
            Self::Number => "a number",
            Self::Positive => "a number greater than 0",
            Self::Count => "a whole number of at least 0",
            Self::Names => "an array of different strings",
            Self::Types => {
                "one of object, array, string, integer, number, boolean and null, or an array of them"
            }
            Self::Schema => "a schema: an object, true or false",
            Self::SchemaOrList => "a schema: an object, true or false",
            Self::SchemaList => "an array of schemas, at least one",
            Self::SchemaMap => "an object whose values are schemas",
            Self::Dependencies => "an object whose values are schemas or arrays of names",
            Self::NamesMap => "an object whose values are arrays of different strings",
            Self::FlagMap => "an object whose values are true or false",
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

/// Whether `name` begins with a letter or a character of `first`, and has only letters, digits and
/// characters of `rest`.
fn is_anchor(name: &str, first: &str, rest: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || first.contains(c))
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || rest.contains(c))
}

fn is_names(value: &Value) -> bool {
    value
        .as_array()
        .is_some_and(|names| names.iter().all(Value::is_string) && first_repeated(names).is_none())
}

#[cfg(test)]
mod tests;
