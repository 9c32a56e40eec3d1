//! Why and where a script failed: file, line and the text of the line.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// A script's failure. Displayed as in Python: the traceback, then the exception.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ScriptError {
    pub kind: ErrorKind,
    /// The exception (`ValueError: no such note`), or the limit that was exceeded.
    pub message: String,
    /// Outermost first. Frames of the `svc` package and of Python's library are left out.
    pub frames: Vec<Frame>,
    /// How to correct the script, if there is advice.
    pub hint: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The text is not valid Python.
    Syntax,
    /// Valid Python that the embedded engine does not support.
    Unsupported,
    /// An exception that the script did not catch.
    Exception,
    TimeLimit,
    MemoryLimit,
    /// Too many calls to the host.
    HostCallLimit,
    /// `sys.exit` or `SystemExit`.
    Exit(i32),
    /// `svc.jsonrpc.error`: the handler's own JSON-RPC error.
    Rpc(Box<RpcFault>),
    /// The process or the engine that ran the script failed.
    Worker,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RpcFault {
    pub code: i64,
    pub message: String,
    /// JSON text and not a parsed value, because deeply nested data would exceed the depth limit of
    /// the JSON parser.
    pub data: Option<String>,
}

impl RpcFault {
    /// Reads an error object.
    pub fn parse(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Object {
            code: i64,
            message: String,
            #[serde(default)]
            data: Option<Box<RawValue>>,
        }
        let object: Object = serde_json::from_str(text).ok()?;
        Some(Self {
            code: object.code,
            message: object.message,
            data: object.data.map(|data| data.get().to_owned()),
        })
    }

    /// The error object.
    pub fn to_json(&self) -> String {
        let message = Value::from(self.message.as_str());
        let mut text = format!(r#"{{"code":{},"message":{message}"#, self.code);
        if let Some(data) = &self.data {
            text.push_str(r#","data":"#);
            text.push_str(data);
        }
        text.push('}');
        text
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Frame {
    pub file: String,
    /// The line number, counted from 1; 0 if this frame is a gap ([`is_gap`](Self::is_gap)).
    pub line: u32,
    pub column: u32,
    /// `<module>` outside of functions.
    pub function: String,
    /// The text of the line, as its author wrote it.
    pub source_line: Option<String>,
}

impl ScriptError {
    /// An error without a traceback, such as an exceeded limit or a dead worker.
    pub fn bare(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            frames: Vec::new(),
            hint: None,
        }
    }

    /// An error of the process or of the engine that ran the script.
    pub fn worker(message: impl Into<String>) -> Self {
        Self::bare(ErrorKind::Worker, message)
    }

    /// The innermost frame.
    pub fn place(&self) -> Option<&Frame> {
        self.frames.last()
    }
}

impl Frame {
    /// Whether this frame stands for the frames that were left out of a long traceback.
    pub fn is_gap(&self) -> bool {
        self.line == 0
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.frames.is_empty() {
            f.write_str("Traceback (most recent call last):\n")?;
        }
        for frame in &self.frames {
            let Frame {
                file,
                line,
                function,
                source_line,
                ..
            } = frame;
            if frame.is_gap() {
                writeln!(f, "  … {function} …")?;
                continue;
            }
            writeln!(f, "  File \"{file}\", line {line}, in {function}")?;
            if let Some(text) = source_line {
                writeln!(f, "    {}", text.trim())?;
            }
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScriptError {}

impl From<&ScriptError> for crate::api::ScriptFault {
    fn from(error: &ScriptError) -> Self {
        let place = error.place();
        Self {
            message: error.message.clone(),
            file: place.map(|frame| frame.file.clone()),
            line: place.map(|frame| frame.line),
            source_line: place.and_then(|frame| frame.source_line.clone()),
            traceback: error.to_string(),
        }
    }
}
