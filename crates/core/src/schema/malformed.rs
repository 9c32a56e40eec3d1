//! Messages for schemas that the meta-schema of their dialect does not allow.

use jsonschema::error::{ValidationError, ValidationErrorKind};
use serde_json::Value;

use super::{
    SchemaError,
    keyword::{Form, first_repeated, form, is_schema, unknown_type},
};

/// Longest value in a message, in characters.
const SHOWN_MAX: usize = 100;

/// Values of `$schema`, without a final `#`.
const DIALECTS: [&str; 5] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
    "http://json-schema.org/draft-04/schema",
];

pub(super) fn check_dialect(schema: &Value) -> Result<(), SchemaError> {
    let Some(Value::String(dialect)) = schema.get("$schema") else {
        return Ok(());
    };
    if DIALECTS.contains(&dialect.trim_end_matches('#')) {
        return Ok(());
    }
    let message = format!(
        "`{}` is not a dialect of JSON Schema that svc supports; write `{}`, or omit `$schema`",
        shorten(dialect),
        DIALECTS[0]
    );
    let at = vec!["$schema".to_owned()];
    Err(SchemaError::Malformed { at, message })
}

/// The JSON pointer to the fault. Where the meta-schema has alternatives, such as a schema or a list
/// of schemas, each alternative has errors: the deepest one is in the alternative that was meant.
pub(super) fn pointer_to_fault(error: &ValidationError<'_>) -> String {
    let alternatives = match error.kind() {
        ValidationErrorKind::AnyOf { context } => context.as_slice(),
        _ => &[],
    };
    let inside = alternatives.iter().flatten().map(pointer_to_fault);
    let pointers = std::iter::once(error.instance_path().to_string()).chain(inside);
    let deepest = pointers.max_by_key(|pointer| pointer.matches('/').count());
    deepest.unwrap_or_default()
}

/// Describes the fault at a JSON pointer.
pub(super) fn explain(schema: &Value, pointer: &str) -> SchemaError {
    let steps = pointer.split('/').skip(1);
    let mut steps = steps.map(|step| step.replace("~1", "/").replace("~0", "~"));
    let (mut at, mut here) = (Vec::new(), schema);
    // At the start of each iteration, `here` must be a schema, and the next step is a keyword.
    loop {
        if !is_schema(here) {
            let message = format!(
                "a schema must be an object, true or false, not {}",
                show(here)
            );
            return SchemaError::Malformed { at, message };
        }
        let Some(keyword) = steps.next() else {
            let message = "this combination of keywords is not allowed by JSON Schema".to_owned();
            return SchemaError::Malformed { at, message };
        };
        let value = &here[keyword.as_str()];
        at.push(keyword.clone());
        let form = form(&keyword);
        here = match form {
            Some(Form::Schema) => value,
            Some(Form::SchemaOrList) if !value.is_array() => value,
            Some(Form::SchemaOrList | Form::SchemaList | Form::SchemaMap | Form::Dependencies) => {
                match steps
                    .next()
                    .and_then(|step| Some((get(value, &step)?, step)))
                {
                    Some((inner, step))
                        if !(form == Some(Form::Dependencies) && inner.is_array()) =>
                    {
                        at.push(step);
                        inner
                    }
                    _ => return explain_value(at, &keyword, form, value),
                }
            }
            _ => return explain_value(at, &keyword, form, value),
        };
    }
}

/// A member or an element.
fn get<'a>(value: &'a Value, step: &str) -> Option<&'a Value> {
    match value {
        Value::Array(list) => list.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    }
}

fn explain_value(at: Vec<String>, keyword: &str, form: Option<Form>, value: &Value) -> SchemaError {
    if form == Some(Form::Types)
        && let Some(found) = unknown_type(value)
    {
        let found = shorten(found);
        return SchemaError::UnknownType { at, found };
    }
    let repeated = match (form, value) {
        (Some(Form::Types | Form::Names | Form::Values), Value::Array(list)) => {
            first_repeated(list)
        }
        _ => None,
    };
    let message = match (repeated, form) {
        (Some(repeated), _) => format!("`{keyword}` has {} twice", show(repeated)),
        (None, Some(form)) if !form.accepts(value) => {
            format!(
                "`{keyword}` must be {}, not {}",
                form.describe(),
                show(value)
            )
        }
        _ => format!("`{keyword}` must not be {} in JSON Schema", show(value)),
    };
    SchemaError::Malformed { at, message }
}

fn show(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{}`", shorten(text)),
        other => shorten(&other.to_string()),
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
