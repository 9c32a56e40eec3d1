//! Output of a rendering, and the escaping of values by their position in the JSON text.
//!
//! The output tracks where JSON strings begin and end in the written text. So the position of each
//! value is known at run time, independently of loops and conditions.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use minijinja::{
    Error, ErrorKind, Output, State, Value,
    value::{Object, ObjectRepr, ValueKind},
};
use thiserror::Error as ThisError;

use super::{OUTPUT_BYTES_MAX, budget::Budget};

/// The key that returns the root itself. Not an identifier, so no template can use it.
const ROOT: &str = "\0root";

#[derive(Debug, ThisError)]
#[error("more than {OUTPUT_BYTES_MAX} bytes")]
pub(crate) struct OutputTooLarge;

#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonState {
    Outside = 0,
    InString = 1,
    /// In a string, after a backslash.
    InEscape = 2,
}

/// Whether the next byte of the output is inside a JSON string. Atomic only because values must be
/// `Sync`.
#[derive(Debug, Default)]
pub(crate) struct JsonTracker(AtomicU8);

impl JsonTracker {
    fn get(&self) -> JsonState {
        match self.0.load(Ordering::Relaxed) {
            0 => JsonState::Outside,
            1 => JsonState::InString,
            _ => JsonState::InEscape,
        }
    }

    fn advance(&self, bytes: &[u8]) {
        let mut state = self.get();
        for byte in bytes {
            state = match (state, byte) {
                (JsonState::Outside, b'"') => JsonState::InString,
                (JsonState::InString, b'"') => JsonState::Outside,
                (JsonState::InString, b'\\') => JsonState::InEscape,
                (JsonState::InEscape, _) => JsonState::InString,
                (same, _) => same,
            };
        }
        self.0.store(state as u8, Ordering::Relaxed);
    }
}

/// The body while it is rendered, limited in bytes and time.
pub(crate) struct BodyWriter {
    buffer: BoundedBuffer,
    root: Arc<Root>,
}

impl BodyWriter {
    pub(crate) fn new(root: Arc<Root>) -> Self {
        Self {
            buffer: BoundedBuffer(Vec::new()),
            root,
        }
    }

    pub(crate) fn into_text(self) -> String {
        String::from_utf8(self.buffer.0).expect("only whole strings are written")
    }
}

impl io::Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.add(bytes).map_err(io::Error::other)?;
        self.root.budget.check().map_err(io::Error::other)?;
        self.root.tracker.advance(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The variables of a template, with the state of the rendering.
#[derive(Debug)]
pub(crate) struct Root {
    pub(crate) values: Value,
    pub(crate) tracker: JsonTracker,
    pub(crate) budget: Budget,
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

fn root(state: &State<'_, '_>) -> Result<Arc<Root>, Error> {
    state
        .lookup(ROOT)
        .and_then(|root| root.downcast_object::<Root>())
        .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "the rendering has no root"))
}

/// Fails when the rendering's time is used up.
pub(crate) fn check_time(state: &State<'_, '_>) -> Result<(), Error> {
    root(state)?
        .budget
        .check()
        .map_err(|late| Error::new(ErrorKind::InvalidOperation, "out of time").with_source(late))
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

/// Writes the value of one `${{ … }}`.
pub(crate) fn write_value(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    match root(state)?.tracker.get() {
        JsonState::Outside => out.write_str(&json(value)?)?,
        JsonState::InString => {
            let quoted = quote(&text(value)?);
            out.write_str(&quoted[1..quoted.len() - 1])?;
        }
        JsonState::InEscape => {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                super::BEHIND_BACKSLASH,
            ));
        }
    }
    Ok(())
}

fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A value as text: a string unchanged, an undefined value as the empty text, others as JSON.
pub(crate) fn text(value: &Value) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None if value.is_undefined() => Ok(String::new()),
        None => json(value),
    }
}

/// A value as JSON; an undefined value is `null`.
pub(crate) fn json(value: &Value) -> Result<String, Error> {
    let mut buffer = BoundedBuffer(Vec::new());
    write_json(value, &mut buffer)?;
    Ok(String::from_utf8(buffer.0).expect("JSON is written as UTF-8"))
}

/// Used instead of the engine's own serialisation, which would write [`RawJson`] as a string.
fn write_json(value: &Value, out: &mut BoundedBuffer) -> Result<(), Error> {
    if let Some(RawJson(text)) = value.downcast_object_ref() {
        return out.push(text);
    }
    match value.kind() {
        ValueKind::Undefined | ValueKind::None => out.push("null"),
        ValueKind::Seq | ValueKind::Iterable => {
            out.push("[")?;
            for (index, item) in value.try_iter()?.enumerate() {
                out.push(if index > 0 { "," } else { "" })?;
                write_json(&item, out)?;
            }
            out.push("]")
        }
        ValueKind::Map => {
            out.push("{")?;
            for (index, key) in value.try_iter()?.enumerate() {
                out.push(if index > 0 { "," } else { "" })?;
                out.push(&quote(&text(&key)?))?;
                out.push(":")?;
                write_json(&value.get_item(&key)?, out)?;
            }
            out.push("}")
        }
        _ => match serde_json::to_string(value) {
            Ok(text) => out.push(&text),
            Err(_) => Err(Error::new(
                ErrorKind::BadSerialization,
                "this value has no JSON form",
            )),
        },
    }
}

/// A buffer that refuses to exceed [`OUTPUT_BYTES_MAX`].
struct BoundedBuffer(Vec<u8>);

impl BoundedBuffer {
    fn add(&mut self, bytes: &[u8]) -> Result<(), OutputTooLarge> {
        if self.0.len() + bytes.len() > OUTPUT_BYTES_MAX {
            return Err(OutputTooLarge);
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn push(&mut self, text: &str) -> Result<(), Error> {
        self.add(text.as_bytes()).map_err(|error| {
            Error::new(ErrorKind::BadSerialization, "too large").with_source(error)
        })
    }
}
