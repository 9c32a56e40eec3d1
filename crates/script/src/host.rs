//! The interface between an evaluator and the program that runs it.

use svc_protocol::worker::{Raise, Source, Stream};

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
/// | `trace` | `null` | `{"traceparent"?, "tracestate"?}`: the trace that requests of the script continue |
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
