//! Answers to the agent: one JSON-RPC response per line.

use std::io::Write;

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
    /// The error object, without the data that a handler attached.
    pub fn to_object(&self) -> ErrorObject {
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
            Self::TooLarge { bytes } => internal(
                format!(
                    "the result has {bytes} bytes; the line of an answer may have at most {LINE_BYTES_MAX}"
                ),
                json!({"reason": "answer_too_large", "limit_bytes": LINE_BYTES_MAX}),
            ),
            Self::Script(error) => of_script(error),
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Script(ScriptError {
                kind: ErrorKind::Rpc(fault),
                ..
            }) => fault.to_json().into_bytes(),
            _ => self.to_object().to_bytes(),
        }
    }

    /// The error of a script as text for the log. `None` for an error that the handler raised for
    /// its caller, and for faults that are not errors of a script.
    pub fn to_log(&self) -> Option<String> {
        match self {
            Self::Script(error) => match error.kind {
                ErrorKind::Rpc(_) => None,
                _ => Some(error.to_string()),
            },
            Self::MethodNotFound | Self::TimedOut { .. } | Self::TooLarge { .. } => None,
        }
    }
}

fn of_script(error: &ScriptError) -> ErrorObject {
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
            let place = error.place();
            let data = json!({
                "reason": "exception",
                "file": place.map(|place| &place.file),
                "line": place.map(|place| place.line),
            });
            internal(message, data)
        }
    }
}

fn internal(message: String, data: serde_json::Value) -> ErrorObject {
    ErrorObject {
        code: INTERNAL_ERROR.into(),
        message,
        data: Some(data),
    }
}

/// The response line for an outcome.
pub fn line(outcome: &Result<String, Fault>, id: &str) -> Vec<u8> {
    let mut line = Vec::new();
    match outcome {
        Ok(result) => result_response(&mut line, result.as_bytes(), id),
        Err(fault) => error_response(&mut line, &fault.to_bytes(), Some(id)),
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
        if output
            .write_all(&bytes)
            .and_then(|()| output.flush())
            .is_err()
        {
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
        let object: Value = serde_json::from_slice(&fault.to_bytes()).expect("JSON");
        assert_eq!(object, expected);
    }

    fn failed(kind: ErrorKind) -> Fault {
        let mut error = ScriptError::bare(kind, "ValueError: no such note");
        error.frames.push(Frame {
            file: "notes.py".into(),
            line: 7,
            column: 1,
            function: "get".into(),
            source_line: None,
        });
        Fault::Script(error)
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
        let line = |outcome, id| String::from_utf8(line(&outcome, id)).expect("UTF-8");
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
