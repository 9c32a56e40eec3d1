//! Output of a rendering, and the escaping of values by their position in the JSON text.
//!
//! The output tracks where JSON strings begin and end in the written text. So the position of each
//! value is known at run time, independently of loops and conditions.

use std::sync::{
    Arc,
    atomic::{AtomicU8, AtomicUsize, Ordering},
};

use minijinja::{
    Error, ErrorKind, Output, State, Value,
    value::{Object, ObjectRepr, ValueKind},
};
use svc_core::json_string::Position;
use thiserror::Error as ThisError;

use super::{
    OUTPUT_BYTES_MAX,
    budget::{Budget, Exhausted},
};

/// The key that returns the root itself. Not an identifier, so no template can use it.
const ROOT: &str = "\0root";

#[derive(Debug, ThisError)]
#[error("more than {OUTPUT_BYTES_MAX} bytes")]
pub(crate) struct OutputTooLarge;

/// Whether the next byte of the output is inside a JSON string. Atomic only because values must be
/// `Sync`.
#[derive(Debug, Default)]
struct JsonTracker(AtomicU8);

impl JsonTracker {
    fn get(&self) -> Position {
        let stored = self.0.load(Ordering::Relaxed);
        let positions = [Position::InString, Position::InEscape];
        let found = positions.into_iter().find(|one| *one as u8 == stored);
        found.unwrap_or_default()
    }

    fn advance(&self, bytes: &[u8]) {
        let position = self.get().after(bytes);
        self.0.store(position as u8, Ordering::Relaxed);
    }
}

/// The variables of a template, with the state of the rendering.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) values: Value,
    pub(crate) budget: Budget,
    tracker: JsonTracker,
    /// The bytes of the body that are written.
    written: AtomicUsize,
}

impl Root {
    pub(crate) fn new(values: Value, budget: Budget) -> Self {
        Self {
            values,
            budget,
            tracker: JsonTracker::default(),
            written: AtomicUsize::new(0),
        }
    }

    /// Adds a text to the body, which is limited in bytes.
    fn write(&self, text: &str, out: &mut Output<'_>) -> Result<(), Error> {
        let written = self.written.load(Ordering::Relaxed) + text.len();
        if written > OUTPUT_BYTES_MAX {
            return Err(too_large());
        }
        self.budget.charge_text(text.len()).map_err(exhausted)?;
        self.written.store(written, Ordering::Relaxed);
        self.tracker.advance(text.as_bytes());
        Ok(out.write_str(text)?)
    }
}

impl Object for Root {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        key.as_str().and_then(|key| self.get_value_by_str(key))
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if key == ROOT {
            return Some(Value::from_dyn_object(Arc::clone(self)));
        }
        self.values
            .get_attr(key)
            .ok()
            .filter(|value| !value.is_undefined())
    }
}

pub(crate) fn root(state: &State<'_, '_>) -> Result<Arc<Root>, Error> {
    state
        .lookup(ROOT)
        .and_then(|root| root.downcast_object::<Root>())
        .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "the rendering has no root"))
}

pub(crate) fn exhausted(error: Exhausted) -> Error {
    Error::new(ErrorKind::InvalidOperation, "too much work").with_source(error)
}

pub(crate) fn too_large() -> Error {
    Error::new(ErrorKind::InvalidOperation, "too large").with_source(OutputTooLarge)
}

/// A part of the template's own text. No expression has such a value.
#[derive(Debug)]
pub(crate) struct RawText(pub(super) String);

impl Object for RawText {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }
}

/// A value that is JSON already: the result of `tojson`, or a number that the template engine
/// cannot represent exactly. Outside of JSON strings it is written unchanged.
#[derive(Debug)]
pub(crate) struct RawJson(pub(super) String);

impl Object for RawJson {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes a part of the template, or the value of one `${{ … }}`.
pub(crate) fn write_value(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    let root = root(state)?;
    if let Some(RawText(text)) = value.downcast_object_ref() {
        return root.write(text, out);
    }
    match root.tracker.get() {
        Position::Outside => root.write(&json(&root.budget, value)?, out),
        Position::InString => {
            let quoted = quote(&text(&root.budget, value)?);
            root.write(&quoted[1..quoted.len() - 1], out)
        }
        Position::InEscape => Err(Error::new(
            ErrorKind::InvalidOperation,
            super::BEHIND_BACKSLASH,
        )),
    }
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A value as text: a string unchanged, an undefined value as the empty text, others as JSON.
pub(crate) fn text(budget: &Budget, value: &Value) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => {
            budget.charge_text(text.len()).map_err(exhausted)?;
            Ok(text.to_owned())
        }
        None if value.is_undefined() => Ok(String::new()),
        None => json(budget, value),
    }
}

/// A value as JSON; an undefined value is `null`.
pub(crate) fn json(budget: &Budget, value: &Value) -> Result<String, Error> {
    let mut writer = JsonWriter {
        text: String::new(),
        budget,
    };
    writer.write(value)?;
    Ok(writer.text)
}

/// Used instead of the engine's own serialisation, which would write [`RawJson`] as a string.
/// Limited to [`OUTPUT_BYTES_MAX`]. Its recursion is as deep as the value, and `json_text` limits the
/// depth of the payload of an event.
struct JsonWriter<'a> {
    text: String,
    budget: &'a Budget,
}

impl JsonWriter<'_> {
    fn write(&mut self, value: &Value) -> Result<(), Error> {
        if let Some(RawJson(text)) = value.downcast_object_ref() {
            return self.push(text);
        }
        match value.kind() {
            ValueKind::Undefined | ValueKind::None => self.push("null"),
            ValueKind::Seq | ValueKind::Iterable => {
                self.push("[")?;
                for (index, item) in value.try_iter()?.enumerate() {
                    self.push(if index > 0 { "," } else { "" })?;
                    self.write(&item)?;
                }
                self.push("]")
            }
            ValueKind::Map => {
                self.push("{")?;
                for (index, key) in value.try_iter()?.enumerate() {
                    self.push(if index > 0 { "," } else { "" })?;
                    let name = quote(&text(self.budget, &key)?);
                    self.push(&name)?;
                    self.push(":")?;
                    self.write(&value.get_item(&key)?)?;
                }
                self.push("}")
            }
            _ => match serde_json::to_string(value) {
                Ok(text) => self.push(&text),
                Err(_) => Err(Error::new(
                    ErrorKind::BadSerialization,
                    "this value has no JSON form",
                )),
            },
        }
    }

    fn push(&mut self, text: &str) -> Result<(), Error> {
        if self.text.len() + text.len() > OUTPUT_BYTES_MAX {
            return Err(too_large());
        }
        self.budget.charge_text(text.len()).map_err(exhausted)?;
        self.text.push_str(text);
        Ok(())
    }
}
