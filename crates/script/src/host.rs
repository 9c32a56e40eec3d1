//! The interface between an evaluator and the program that runs it.

use serde::{Deserialize, Serialize};

/// Performs operations that a script cannot do by itself. Arguments and answers are JSON texts:
///
/// | operation | argument | answer |
/// |---|---|---|
/// | `register` | a registration: `{"server": {…}, "methods": […]}` | `{"methods": [name], "warnings": [text]}` |
/// | `unregister` | `{"local_name": text or null}` | `{"removed": [name], "remaining": [name]}` |
/// | `emit` | `{"type", "payload"}` | `{"event_id", "event_type"}` |
/// | `api` | `{"method", "path", "body"?}` | `{"status", "body"}` (body: JSON, or text) |
/// | `event` | `null` | the event a sink script runs for, with `space`, `actor`, `custom` |
/// | `progress` | `{"progress", "total"?, "message"?}`: the progress of the request | `null` |
/// | `process` | `{"args", "cwd"?, "env"?, "env_changes"?, "input"?, "timeout"?, "stdout"?, "stderr"?}` | `{"returncode", "stdout", "stderr"}` |
///
/// The evaluator itself handles `route` (of `svc.jsonrpc.method`) and `rpc_error` (of
/// `svc.jsonrpc.error`).
pub trait Host {
    /// The text of a module that is neither built in nor part of `svc`.
    fn library(&mut self, module: &str) -> Result<Option<Source>, Raise>;

    fn call(&mut self, operation: &str, argument: &str) -> Result<String, Raise>;

    fn print(&mut self, stream: Stream, text: &str);
}

/// Python text, and its file name in tracebacks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Source {
    pub file: String,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// An exception that the host raises in the script. The script may catch it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Raise {
    pub exception: Exception,
    pub message: String,
}

impl Raise {
    pub fn new(exception: Exception, message: impl Into<String>) -> Self {
        Self {
            exception,
            message: message.into(),
        }
    }

    pub fn runtime(message: impl Into<String>) -> Self {
        Self::new(Exception::RuntimeError, message)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Exception {
    ModuleNotFoundError,
    OSError,
    PermissionError,
    RuntimeError,
    TimeoutError,
    TypeError,
    ValueError,
}
