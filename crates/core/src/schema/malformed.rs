//! Checks the values of keywords, with the rules of the meta-schemas.
//!
//! Formats, such as that of a URI, are not checked: newer drafts do not require it. References and
//! regular expressions have checks of their own.

use serde_json::{Map, Value};

use super::{
    ERRORS_MAX, SchemaError,
    draft::{DIALECTS, Draft},
    keyword::{Below, Form, first_repeated, form_in, subschemas, unknown_type},
};

/// Longest value in a message, in characters.
const SHOWN_MAX: usize = 100;

/// The draft that a schema names; the newest draft if the schema names none.
pub(super) fn draft_of(schema: &Value) -> Result<Draft, SchemaError> {
    let (newest, draft) = DIALECTS[0];
    let Some(Value::String(dialect)) = schema.get("$schema") else {
        return Ok(draft);
    };
    Draft::named(dialect).ok_or_else(|| {
        let message = format!(
            "`{}` is not a dialect of JSON Schema that svc supports; write `{newest}`, or omit `$schema`",
            shorten(dialect)
        );
        let at = vec!["$schema".to_owned()];
        SchemaError::Malformed { at, message }
    })
}

/// Checks a schema and every schema inside it. Looks into no further schema after [`ERRORS_MAX`]
/// errors.
pub(super) fn check_values(schema: &Value, draft: Draft) -> Vec<SchemaError> {
    let mut check = Check {
        draft,
        at: Vec::new(),
        errors: Vec::new(),
    };
    check.schema(schema);
    check.errors
}

struct Check {
    draft: Draft,
    /// The path to the value that is checked.
    at: Vec<String>,
    errors: Vec<SchemaError>,
}

impl Check {
    fn schema(&mut self, schema: &Value) {
        if self.errors.len() == ERRORS_MAX {
            return;
        }
        let Value::Object(object) = schema else {
            let (is_allowed, allowed) = match self.draft {
                Draft::Draft4 => (false, "an object"),
                _ => (schema.is_boolean(), "an object, true or false"),
            };
            let message = || format!("a schema must be {allowed}, not {}", show(schema));
            self.require(is_allowed, message);
            return;
        };
        if self.draft == Draft::Draft4 {
            self.bounds(object);
        }
        for (keyword, value) in object {
            if let Some(form) = form_in(self.draft, keyword) {
                self.at.push(keyword.clone());
                self.value(keyword, form, value);
                self.at.pop();
            }
        }
    }

    /// In draft 4, `exclusiveMinimum` is a property of `minimum`.
    fn bounds(&mut self, object: &Map<String, Value>) {
        for (exclusive, bound) in [
            ("exclusiveMinimum", "minimum"),
            ("exclusiveMaximum", "maximum"),
        ] {
            let has_bound = !object.contains_key(exclusive) || object.contains_key(bound);
            self.require(has_bound, || {
                format!("`{exclusive}` needs `{bound}` in draft 4")
            });
        }
    }

    fn value(&mut self, keyword: &str, form: Form, value: &Value) {
        let is_old = self.draft == Draft::Draft4;
        if is_old && keyword.starts_with("additional") && value.is_boolean() {
            return;
        }
        let errors_before = self.errors.len();
        for (below, inner) in subschemas(keyword, value) {
            if form == Form::Dependencies && inner.is_array() {
                continue;
            }
            let step = match below {
                Below::Itself => None,
                Below::Index(index) => Some(index.to_string()),
                Below::Name(name) => Some(name.to_owned()),
            };
            let depth = self.at.len();
            self.at.extend(step);
            self.schema(inner);
            self.at.truncate(depth);
        }
        // An error inside the value often makes the form of the value wrong too.
        if self.errors.len() > errors_before {
            return;
        }
        if form == Form::Types
            && let Some(found) = unknown_type(value)
        {
            let (at, found) = (self.at.clone(), shorten(found));
            self.errors.push(SchemaError::UnknownType { at, found });
            return;
        }
        let fits = form.accepts(value) && !(is_old && is_newer(form, value));
        self.require(fits, || explain(keyword, form, value));
    }

    fn require(&mut self, is_fulfilled: bool, message: impl FnOnce() -> String) {
        if !is_fulfilled {
            self.errors.push(SchemaError::Malformed {
                at: self.at.clone(),
                message: message(),
            });
        }
    }
}

/// Whether draft 4 does not allow a value that later drafts allow: an empty list of names, or a
/// count such as `2.0`.
fn is_newer(form: Form, value: &Value) -> bool {
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    match form {
        Form::Names => is_empty(value),
        Form::Dependencies => value
            .as_object()
            .is_some_and(|map| map.values().any(is_empty)),
        Form::Count => !value.is_u64(),
        _ => false,
    }
}

fn explain(keyword: &str, form: Form, value: &Value) -> String {
    let repeated = match (form, value) {
        (Form::Types | Form::Names, Value::Array(list)) => first_repeated(list),
        _ => None,
    };
    match repeated {
        Some(repeated) => format!("`{keyword}` has {} twice", show(repeated)),
        None => format!(
            "`{keyword}` must be {}, not {}",
            form.describe(),
            show(value)
        ),
    }
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

#[cfg(test)]
mod tests;
