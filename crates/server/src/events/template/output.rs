//! Output of a rendering, and the escaping of values by their position in the JSON text.
//!
//! The output tracks the JSON strings in everything that is written to it. So the position is known
//! at run time, whatever loops and conditions did.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use minijinja::{
    Error, ErrorKind, Output, State, Value,
    value::{Object, ObjectRepr},
};
use thiserror::Error as ThisError;

use super::{OUTPUT_BYTES_MAX, budget::Budget};

/// The key of the root itself. Not an identifier, so no template can use it.
const ROOT: &str = "\0root";

#[derive(Debug, ThisError)]
#[error("more than {OUTPUT_BYTES_MAX} bytes")]
pub(super) struct OutputTooLarge;

#[derive(Clone, Copy, PartialEq, Eq)]
enum JsonState {
    Outside = 0,
    InString = 1,
    /// In a string, after a backslash.
    InEscape = 2,
}

/// The position of the next byte of the output. Atomic only because values must be `Sync`.
#[derive(Debug, Default)]
pub(super) struct JsonTracker(AtomicU8);

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
pub(super) struct BodyWriter {
    bytes: Vec<u8>,
    tracker: Arc<JsonTracker>,
    budget: Arc<Budget>,
}

impl BodyWriter {
    pub(super) fn new(tracker: Arc<JsonTracker>, budget: Arc<Budget>) -> Self {
        Self {
            bytes: Vec::new(),
            tracker,
            budget,
        }
    }

    pub(super) fn into_text(self) -> String {
        String::from_utf8(self.bytes).expect("only whole strings are written")
    }
}

impl io::Write for BodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > OUTPUT_BYTES_MAX {
            return Err(io::Error::other(OutputTooLarge));
        }
        self.budget.check().map_err(io::Error::other)?;
        self.tracker.advance(bytes);
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The variables of a template, with the state of the rendering.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) values: Value,
    pub(super) tracker: Arc<JsonTracker>,
    pub(super) budget: Arc<Budget>,
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
pub(super) fn check_time(state: &State<'_, '_>) -> Result<(), Error> {
    root(state)?
        .budget
        .check()
        .map_err(|late| Error::new(ErrorKind::InvalidOperation, "out of time").with_source(late))
}

/// The result of `tojson`. It is JSON already and must not be encoded again.
#[derive(Debug)]
pub(super) struct JsonText(pub(super) String);

impl Object for JsonText {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Writes the value of one `${{ … }}`.
pub(super) fn write_value(
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
pub(super) fn text(value: &Value) -> Result<String, Error> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None if value.is_undefined() => Ok(String::new()),
        None => json(value),
    }
}

/// A value as JSON; an undefined value is `null`.
pub(super) fn json(value: &Value) -> Result<String, Error> {
    if let Some(JsonText(text)) = value.downcast_object_ref() {
        return Ok(text.clone());
    }
    if value.is_undefined() {
        return Ok("null".to_owned());
    }
    let mut buffer = BoundedBuffer(Vec::new());
    serde_json::to_writer(&mut buffer, value).map_err(|error| {
        let kind = ErrorKind::BadSerialization;
        match error.io_error_kind() {
            Some(_) => Error::new(kind, "too large").with_source(OutputTooLarge),
            None => Error::new(kind, "this value has no JSON form"),
        }
    })?;
    Ok(String::from_utf8(buffer.0).expect("JSON is written as UTF-8"))
}

/// A buffer that refuses to exceed [`OUTPUT_BYTES_MAX`].
struct BoundedBuffer(Vec<u8>);

impl io::Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > OUTPUT_BYTES_MAX {
            return Err(io::Error::other(OutputTooLarge));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
