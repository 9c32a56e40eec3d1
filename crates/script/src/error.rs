//! Why a script failed, and where: file, line and the text of the line.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// A script's failure. Displays as Python prints it: the traceback, then the exception.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ScriptError {
    pub kind: ErrorKind,
    /// One line: `ValueError: no such note`, or what the limit was.
    pub message: String,
    /// Outermost first; frames inside the `svc` package are left out.
    pub frames: Vec<Frame>,
    /// What to do about it, if there is something to say.
    pub hint: Option<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The text is no Python.
    Syntax,
    /// It is, but uses what the embedded engine does not have.
    Unsupported,
    /// An exception nobody caught.
    Exception,
    TimeLimit,
    MemoryLimit,
    /// Too many questions to the host.
    HostCallLimit,
    /// `sys.exit` or `SystemExit`.
    Exit(i32),
    /// `svc.jsonrpc.error`: the handler's own JSON-RPC error.
    Rpc(Box<RpcFault>),
    /// The process that ran the script died or broke off.
    Worker,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RpcFault {
    pub code: i64,
    pub message: String,
    /// JSON text, so that it passes at whatever depth it is nested.
    pub data: Option<String>,
}

impl RpcFault {
    /// Reads an error object.
    pub(crate) fn parse(text: &str) -> Option<Self> {
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
    /// From 1.
    pub line: u32,
    pub column: u32,
    /// `<module>` for a script's own level.
    pub function: String,
    /// The text of the line, as its author wrote it.
    pub source_line: Option<String>,
}

impl ScriptError {
    /// Without a place: a limit, a dead worker.
    pub fn bare(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            frames: Vec::new(),
            hint: None,
        }
    }

    /// Where it happened: the innermost frame.
    pub fn place(&self) -> Option<&Frame> {
        self.frames.last()
    }
}

impl Frame {
    /// Stands for the frames that were left out of a long traceback.
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

impl From<&ScriptError> for svc_protocol::api::ScriptFault {
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
