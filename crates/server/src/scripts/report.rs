//! Reports of a script's failure: a short text, and the full report for the script's author. The
//! texts come from the script, so their length is limited.

use svc_protocol::api::{ScriptFault, ScriptKind};
use svc_script::ScriptError;

/// Bytes kept of a script's output, and of each text of its failure.
pub const OUTPUT_BYTES_MAX: usize = 16 * 1024;
/// Characters kept of the message in a short text.
const LINE_MAX: usize = 2_000;

/// A short text, such as `notes.py:3: ValueError: no such note`.
pub fn outline(error: &ScriptError) -> String {
    let message: String = error.message.chars().take(LINE_MAX).collect();
    match error.place() {
        Some(place) => format!("{}:{}: {message}", place.file, place.line),
        None => message,
    }
}

pub fn fault(error: &ScriptError) -> ScriptFault {
    let mut fault = ScriptFault::from(error);
    cut(&mut fault.message);
    cut(&mut fault.traceback);
    if let Some(line) = &mut fault.source_line {
        cut(line);
    }
    if let Some(hint) = &error.hint {
        fault.traceback.push_str(&format!("\nhint: {hint}"));
    }
    fault
}

/// Leaves at most [`OUTPUT_BYTES_MAX`] bytes.
pub fn cut(text: &mut String) {
    if text.len() > OUTPUT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(OUTPUT_BYTES_MAX));
    }
}

pub fn kind_name(kind: ScriptKind) -> &'static str {
    match kind {
        ScriptKind::Startup => "startup",
        ScriptKind::Library => "library",
        ScriptKind::Sink => "sink",
        ScriptKind::Tool => "tool",
    }
}
