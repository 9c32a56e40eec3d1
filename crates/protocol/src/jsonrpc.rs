//! JSON-RPC 2.0. Params, results and ids are never parsed: they keep their bytes, so that key order,
//! big integers and `null` survive.

mod depth;
mod progress;
mod request;
mod response;
mod scan;
pub mod schema;

pub use depth::{JSON_DEPTH_MAX, is_too_deep, nests_deeper_than};
pub use progress::{Progress, parse_progress_line, progress_line};
pub use request::{Body, Invalid, Request, parse_body, parse_request};
pub use response::{
    ChildMessage, ResponseFault, error_response, fold_lines, one_value, parse_child_line,
    result_response,
};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json, value::RawValue};

/// Longest line that a method server may write, in bytes.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most items of a batch.
pub const BATCH_MAX: usize = 1_000;
/// Deepest nesting of params: `{}` has one level. JSON readers of many languages recurse once per
/// level, and a method server whose stack overflows fails all its calls.
pub const PARAMS_DEPTH_MAX: usize = 128;

/// Whether JSON text is an object.
fn is_object(json: &[u8]) -> bool {
    json.trim_ascii_start().first() == Some(&b'{')
}

/// Reads a member that is present: `null` is `Some`.
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
    /// No provider is linked, or its method server is down.
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
    /// JSON-RPC does not allow the method server's response.
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
        match self {
            Self::Parse => PARSE_ERROR,
            Self::InvalidRequest(_) => INVALID_REQUEST,
            Self::MethodNotFound => METHOD_NOT_FOUND,
            Self::TooDeep => INVALID_PARAMS,
            Self::Unavailable => UNAVAILABLE,
            Self::TimedOut { .. } => TIMED_OUT,
            Self::Interrupted => INTERRUPTED,
            Self::AnswerTooLarge { .. } | Self::InvalidResponse(_) => INTERNAL_ERROR,
        }
    }

    pub fn message(&self) -> &'static str {
        match self {
            Self::Parse => "Parse error",
            Self::InvalidRequest(_) => "Invalid Request",
            Self::MethodNotFound => "Method not found",
            Self::TooDeep => "Invalid params",
            Self::Unavailable => "Method unavailable",
            Self::TimedOut { .. } => "Method timed out",
            Self::Interrupted => "Method interrupted",
            Self::AnswerTooLarge { .. } | Self::InvalidResponse(_) => "Internal error",
        }
    }

    pub fn to_object(&self) -> ErrorObject {
        let data = match self {
            Self::Parse | Self::MethodNotFound => None,
            Self::InvalidRequest(why) => Some(json!({ "reason": why })),
            Self::TooDeep => Some(json!({
                "reason": "too_deep",
                "limit_levels": PARAMS_DEPTH_MAX,
                "detail": format!("params may nest at most {PARAMS_DEPTH_MAX} levels deep"),
            })),
            Self::Unavailable => Some(json!({"reason": "unavailable"})),
            Self::TimedOut {
                timeout_seconds,
                sent,
            } => {
                Some(json!({"reason": "timeout", "timeout_seconds": timeout_seconds, "sent": sent}))
            }
            Self::Interrupted => Some(json!({"reason": "interrupted"})),
            Self::AnswerTooLarge { limit_bytes } => {
                Some(json!({"reason": "answer_too_large", "limit_bytes": limit_bytes}))
            }
            Self::InvalidResponse(fault) => {
                Some(json!({"reason": "invalid_response", "detail": fault.message()}))
            }
        };
        ErrorObject {
            code: self.code().into(),
            message: self.message().to_owned(),
            data,
        }
    }
}
