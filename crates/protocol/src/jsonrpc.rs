//! JSON-RPC 2.0. Params, results and the ids of callers are never serialised again, so that key
//! order, big integers and `null` do not change. Only line breaks between tokens become spaces.

mod depth;
mod progress;
mod ready;
mod request;
mod response;
mod scan;
pub mod schema;

pub use depth::{JSON_DEPTH_MAX, is_too_deep, nests_deeper_than};
pub use progress::{Progress, parse_progress_line, progress_line};
pub use ready::{READY_LINE, is_ready_line};
pub use request::{Body, Invalid, Request, parse_body, parse_request};
pub use response::{
    ChildMessage, ResponseFault, error_response, fold_lines, one_value, parse_child_line,
    result_response,
};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json, value::RawValue};

/// The maximum length of a line that a method server may write, in bytes.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The maximum number of items in a batch.
pub const BATCH_MAX: usize = 1_000;
/// The maximum nesting of params: `{}` has one level. JSON readers of many languages recurse once
/// per level, and a method server whose stack overflows fails all its calls.
pub const PARAMS_DEPTH_MAX: usize = 128;

/// Whether JSON text is an object.
fn is_object(json: &[u8]) -> bool {
    json.trim_ascii_start().first() == Some(&b'{')
}

/// Reads a member such that a present `null` becomes `Some`, not `None`.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(value: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

/// Errors that svc itself returns. Errors of a method server are passed on unchanged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RpcError {
    Parse,
    InvalidRequest(String),
    MethodNotFound,
    /// The params nest more than [`PARAMS_DEPTH_MAX`] levels.
    TooDeep,
    /// No provider can take the call: none is linked, or their method servers are down, or their
    /// queues are full.
    Unavailable,
    /// `sent`: whether the method server may have started the call.
    TimedOut {
        timeout_seconds: u32,
        sent: bool,
    },
    /// The method server or the link failed during the call.
    Interrupted,
    /// All answers of a batch together exceed the server's limit.
    AnswerTooLarge {
        limit_bytes: usize,
    },
    /// The caller already has too many answers that were not read. `sent`: whether the call was sent
    /// to the method server, so that its answer was dropped.
    UnreadAnswers {
        limit_bytes: usize,
        sent: bool,
    },
    /// The bodies of the caller's requests, with the calls that wait for a link, use all memory
    /// that the caller may use for them. Nothing was sent.
    UnfinishedBodies {
        limit_bytes: usize,
    },
    /// The method server's response is not valid JSON-RPC.
    InvalidResponse(ResponseFault),
}

pub const PARSE_ERROR: i32 = -32700;
pub const INVALID_REQUEST: i32 = -32600;
pub const METHOD_NOT_FOUND: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;
pub const INTERNAL_ERROR: i32 = -32603;
pub const UNAVAILABLE: i32 = -32000;
pub const TIMED_OUT: i32 = -32001;
pub const INTERRUPTED: i32 = -32002;

/// The `error` member of a response.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ErrorObject {
    pub code: i64,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    pub fn code(&self) -> i32 {
        self.code_and_message().0
    }

    pub fn message(&self) -> &'static str {
        self.code_and_message().1
    }

    fn code_and_message(&self) -> (i32, &'static str) {
        match self {
            Self::Parse => (PARSE_ERROR, "Parse error"),
            Self::InvalidRequest(_) => (INVALID_REQUEST, "Invalid Request"),
            Self::MethodNotFound => (METHOD_NOT_FOUND, "Method not found"),
            Self::TooDeep => (INVALID_PARAMS, "Invalid params"),
            Self::Unavailable => (UNAVAILABLE, "Method unavailable"),
            Self::TimedOut { .. } => (TIMED_OUT, "Method timed out"),
            Self::Interrupted => (INTERRUPTED, "Method interrupted"),
            Self::AnswerTooLarge { .. }
            | Self::UnreadAnswers { .. }
            | Self::UnfinishedBodies { .. }
            | Self::InvalidResponse(_) => (INTERNAL_ERROR, "Internal error"),
        }
    }

    fn data(&self) -> Option<Value> {
        Some(match self {
            Self::Parse | Self::MethodNotFound => return None,
            Self::InvalidRequest(why) => json!({ "reason": why }),
            Self::TooDeep => json!({
                "reason": "too_deep",
                "limit_levels": PARAMS_DEPTH_MAX,
                "detail": format!("params may nest at most {PARAMS_DEPTH_MAX} levels deep"),
            }),
            Self::Unavailable => json!({"reason": "unavailable"}),
            Self::TimedOut {
                timeout_seconds,
                sent,
            } => json!({"reason": "timeout", "timeout_seconds": timeout_seconds, "sent": sent}),
            Self::Interrupted => json!({"reason": "interrupted"}),
            Self::AnswerTooLarge { limit_bytes } => {
                json!({"reason": "answer_too_large", "limit_bytes": limit_bytes})
            }
            Self::UnreadAnswers { limit_bytes, sent } => json!({
                "reason": "unread_answers",
                "limit_bytes": limit_bytes,
                "sent": sent,
                "detail": format!(
                    "your unread answers have reached the limit of {limit_bytes} bytes; read each answer without a pause, or make fewer calls at a time"
                ),
            }),
            Self::UnfinishedBodies { limit_bytes } => json!({
                "reason": "unfinished_bodies",
                "limit_bytes": limit_bytes,
                "sent": false,
                "detail": format!(
                    "the bodies of your requests, with the calls that wait for a link, have reached the limit of {limit_bytes} bytes; wait for earlier calls, or make fewer calls at a time"
                ),
            }),
            Self::InvalidResponse(fault) => {
                json!({"reason": "invalid_response", "detail": fault.message()})
            }
        })
    }

    pub fn to_object(&self) -> ErrorObject {
        let (code, message) = self.code_and_message();
        ErrorObject {
            code: code.into(),
            message: message.to_owned(),
            data: self.data(),
        }
    }
}
