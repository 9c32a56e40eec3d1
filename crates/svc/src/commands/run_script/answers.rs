//! Answers to the agent: one JSON-RPC response per line.

use std::{
    io::Write,
    path::{Component, Path},
};

use serde_json::json;
use svc_protocol::jsonrpc::{
    ErrorObject, INTERNAL_ERROR, LINE_BYTES_MAX, RpcError, error_response, result_response,
};
use svc_script::{ErrorKind, ScriptError};
use tokio::sync::mpsc;

/// Answers are collected up to this size and written together.
const WRITE_BYTES: usize = 256 * 1024;

/// Why a request has no result.
#[derive(Debug)]
pub enum Fault {
    MethodNotFound,
    /// `sent`: whether the handler may have begun.
    TimedOut {
        timeout_seconds: u32,
        sent: bool,
    },
    /// The result is longer than a line may be.
    TooLarge {
        bytes: usize,
    },
    Script(ScriptError),
}

impl Fault {
    /// The error object, without the data that a handler attached. Callers may be other users, so the
    /// object names a file by its path in the working `folder`, or not at all.
    pub fn to_object(&self, folder: &Path) -> ErrorObject {
        match self {
            Self::MethodNotFound => RpcError::MethodNotFound.to_object(),
            Self::TimedOut {
                timeout_seconds,
                sent,
            } => RpcError::TimedOut {
                timeout_seconds: *timeout_seconds,
                sent: *sent,
            }
            .to_object(),
            Self::TooLarge { bytes } => {
                let limit = format!("the line of an answer may have at most {LINE_BYTES_MAX}");
                let data = json!({"reason": "answer_too_large", "limit_bytes": LINE_BYTES_MAX});
                internal(format!("the result has {bytes} bytes; {limit}"), data)
            }
            Self::Script(error) => of_script(error, folder),
        }
    }

    fn to_bytes(&self, folder: &Path) -> Vec<u8> {
        match self {
            Self::Script(ScriptError {
                kind: ErrorKind::Rpc(fault),
                ..
            }) => fault.to_json().into_bytes(),
            _ => self.to_object(folder).to_bytes(),
        }
    }

    /// The error of a script as text for the log. `None` for an error that the handler raised for
    /// its caller, and for faults that are not errors of a script.
    pub fn to_log(&self) -> Option<String> {
        match self {
            Self::Script(error) if !matches!(error.kind, ErrorKind::Rpc(_)) => {
                Some(error.to_string())
            }
            _ => None,
        }
    }
}

fn of_script(error: &ScriptError, folder: &Path) -> ErrorObject {
    let message = error.message.clone();
    match &error.kind {
        ErrorKind::Rpc(fault) => ErrorObject {
            code: fault.code,
            message: fault.message.clone(),
            data: None,
        },
        ErrorKind::MemoryLimit => internal(message, json!({"reason": "memory"})),
        ErrorKind::Worker => internal(message, json!({"reason": "worker"})),
        ErrorKind::HostCallLimit => internal(message, json!({"reason": "host_calls"})),
        ErrorKind::TimeLimit => internal(message, json!({"reason": "timeout"})),
        ErrorKind::Syntax | ErrorKind::Unsupported | ErrorKind::Exception | ErrorKind::Exit(_) => {
            // The innermost frame in a file that may be shown.
            let mut frames = error.frames.iter().rev().filter(|frame| !frame.is_gap());
            let shown =
                frames.find_map(|frame| Some((shown_file(&frame.file, folder)?, frame.line)));
            let data = json!({
                "reason": "exception",
                "file": shown.map(|(file, _)| file),
                "line": shown.map(|(_, line)| line),
            });
            internal(message, data)
        }
    }
}

/// The path of a file in the working folder, relative to this folder. `None` for another file, whose
/// path is private. A text that is not a path, such as `<library notes>`, is unchanged.
fn shown_file<'a>(file: &'a str, folder: &Path) -> Option<&'a str> {
    let path = Path::new(file);
    let path = match path.is_absolute() {
        true => path.strip_prefix(folder).ok()?,
        false => path,
    };
    let mut parts = path.components();
    let is_inside = parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    path.to_str().filter(|_| is_inside)
}

fn internal(message: String, data: serde_json::Value) -> ErrorObject {
    ErrorObject {
        code: INTERNAL_ERROR.into(),
        message,
        data: Some(data),
    }
}

/// The response line for an outcome. `folder` is the working folder.
pub fn line(outcome: &Result<String, Fault>, id: &str, folder: &Path) -> Vec<u8> {
    let mut line = Vec::new();
    match outcome {
        Ok(result) => result_response(&mut line, result.as_bytes(), id),
        Err(fault) => error_response(&mut line, &fault.to_bytes(folder), Some(id)),
    }
    line.push(b'\n');
    line
}

/// Writes lines until every sender is dropped. Returns `false` if the output is closed.
pub fn write_all(mut lines: mpsc::Receiver<Vec<u8>>, output: &mut impl Write) -> bool {
    while let Some(mut bytes) = lines.blocking_recv() {
        while bytes.len() < WRITE_BYTES
            && let Ok(more) = lines.try_recv()
        {
            bytes.extend_from_slice(&more);
        }
        let written = output.write_all(&bytes).and_then(|()| output.flush());
        if written.is_err() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use svc_script::{Frame, RpcFault};

    use super::*;

    fn check(fault: Fault, expected: Value) {
        let bytes = fault.to_bytes(Path::new("/home/ann/lab"));
        let object: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(object, expected);
    }

    fn failed(kind: ErrorKind) -> Fault {
        failed_in(kind, &[("notes.py", 7)])
    }

    /// A failure with these frames, the outermost first.
    fn failed_in(kind: ErrorKind, frames: &[(&str, u32)]) -> Fault {
        let mut error = ScriptError::bare(kind, "ValueError: no such note");
        error.frames = frames
            .iter()
            .map(|(file, line)| Frame {
                file: (*file).to_owned(),
                line: *line,
                column: 1,
                function: "get".into(),
                source_line: None,
            })
            .collect();
        Fault::Script(error)
    }

    #[test]
    fn callers_get_no_path_outside_of_the_working_folder() {
        let check_place = |frames: &[(&str, u32)], file: Value, line: Value| {
            let expected = json!({"code": -32603, "message": "ValueError: no such note",
                                  "data": {"reason": "exception", "file": file, "line": line}});
            check(failed_in(ErrorKind::Exception, frames), expected);
        };
        let own = ("/home/ann/lab/src/notes.py", 7);
        let other = ("/home/ann/shared/text.py", 9);
        check_place(&[own], json!("src/notes.py"), json!(7));
        check_place(&[own, other], json!("src/notes.py"), json!(7));
        for outside in ["/home/ann/lab/../shared/text.py", "../shared/text.py"] {
            check_place(&[(outside, 9)], Value::Null, Value::Null);
        }
        check_place(&[other], Value::Null, Value::Null);
        check_place(
            &[own, ("<library text>", 3)],
            json!("<library text>"),
            json!(3),
        );
        // The log has the whole path.
        let log = failed_in(ErrorKind::Exception, &[other]).to_log();
        assert!(log.expect("logged").contains("/home/ann/shared/text.py"));
    }

    #[test]
    fn each_fault_has_its_code_and_reason() {
        check(
            failed(ErrorKind::Exception),
            json!({"code": -32603, "message": "ValueError: no such note",
                   "data": {"reason": "exception", "file": "notes.py", "line": 7}}),
        );
        check(
            failed(ErrorKind::Rpc(Box::new(RpcFault {
                code: 404,
                message: "no note 9".into(),
                data: Some("[9]".into()),
            }))),
            json!({"code": 404, "message": "no note 9", "data": [9]}),
        );
        check(
            failed(ErrorKind::MemoryLimit),
            json!({"code": -32603, "message": "ValueError: no such note",
                   "data": {"reason": "memory"}}),
        );
        check(
            failed(ErrorKind::Worker),
            json!({"code": -32603, "message": "ValueError: no such note",
                   "data": {"reason": "worker"}}),
        );
        check(
            Fault::TimedOut {
                timeout_seconds: 5,
                sent: true,
            },
            json!({"code": -32001, "message": "Method timed out",
                   "data": {"reason": "timeout", "timeout_seconds": 5, "sent": true}}),
        );
        check(
            Fault::MethodNotFound,
            json!({"code": -32601, "message": "Method not found"}),
        );
    }

    #[test]
    fn an_error_that_a_handler_raises_for_its_caller_is_not_logged() {
        let rpc = ErrorKind::Rpc(Box::new(RpcFault {
            code: 1,
            message: "m".into(),
            data: None,
        }));
        assert!(failed(rpc).to_log().is_none());
        let log = failed(ErrorKind::Exception).to_log().expect("logged");
        assert!(log.contains("notes.py\", line 7"), "{log}");
    }

    #[test]
    fn ids_and_results_keep_their_bytes() {
        let line = |outcome, id| {
            String::from_utf8(line(&outcome, id, Path::new("/home/ann"))).expect("UTF-8")
        };
        assert_eq!(
            line(Ok(r#"{"b":1,"a":9007199254740993}"#.into()), "\"x\""),
            "{\"jsonrpc\":\"2.0\",\"result\":{\"b\":1,\"a\":9007199254740993},\"id\":\"x\"}\n"
        );
        assert_eq!(
            line(Err(Fault::MethodNotFound), "7"),
            "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32601,\"message\":\"Method not found\"},\"id\":7}\n"
        );
    }
}
