//! Protocol errors of MCP. An error of a tool becomes a tool result instead (module `results`).

use std::fmt::Display;

use http::StatusCode;
use serde_json::{Value, json};
use svc_pool::PoolError;
use svc_protocol::{
    jsonrpc::{
        INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, PARAMS_DEPTH_MAX, PARSE_ERROR, RpcError,
        UNAVAILABLE,
    },
    mcp::{Message, Params},
};

use super::era::SUPPORTED;

pub const INVALID_PARAMS: i32 = -32602;
/// Headers and body disagree, or a required header is missing or repeated.
pub const HEADER_MISMATCH: i32 = -32020;
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// The maximum number of characters of a client's text that an answer repeats.
const ECHO_MAX: usize = 100;

#[derive(Debug)]
pub struct Refusal {
    pub status: StatusCode,
    pub code: i32,
    pub message: String,
    pub data: Option<Value>,
}

impl Refusal {
    fn new(status: StatusCode, code: i32, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The body is not a valid message.
    pub fn of_body(error: &RpcError) -> Self {
        match error {
            RpcError::Parse => Self::new(StatusCode::BAD_REQUEST, PARSE_ERROR, "Parse error"),
            RpcError::InvalidRequest(why) => Self::invalid_request(why),
            RpcError::TooDeep => {
                let why = format!("params may nest at most {PARAMS_DEPTH_MAX} levels deep");
                let mut refusal = Self::invalid_params(why);
                refusal.data = error.to_object().data;
                refusal
            }
            _ => Self::invalid_request("not a message"),
        }
    }

    pub fn invalid_request(why: impl Display) -> Self {
        let message = format!("Invalid Request: {why}");
        Self::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message)
    }

    pub fn header_mismatch(why: impl Display) -> Self {
        let message = format!("Header mismatch: {why}");
        Self::new(StatusCode::BAD_REQUEST, HEADER_MISMATCH, message)
    }

    pub fn unsupported_version(requested: &str) -> Self {
        let message = "Unsupported protocol version";
        let mut refusal = Self::new(StatusCode::BAD_REQUEST, UNSUPPORTED_VERSION, message);
        refusal.data = Some(json!({"supported": SUPPORTED, "requested": echo(requested)}));
        refusal
    }

    /// A well-formed request with invalid params; HTTP 200 unless changed with `with_status`.
    pub fn invalid_params(why: impl Display) -> Self {
        let message = format!("Invalid params: {why}");
        Self::new(StatusCode::OK, INVALID_PARAMS, message)
    }

    pub fn unknown_tool(name: &str) -> Self {
        let message = format!("Unknown tool: {}", echo(name));
        Self::new(StatusCode::OK, INVALID_PARAMS, message)
    }

    /// The caller may no longer see the tool that this message called.
    pub fn hidden_tool(message: &Message<'_>) -> Self {
        let name = message.params.as_ref().ok().and_then(Params::name);
        Self::unknown_tool(&name.unwrap_or_default())
    }

    pub fn unknown_method() -> Self {
        Self::new(StatusCode::OK, METHOD_NOT_FOUND, "Method not found")
    }

    /// The answers of one batch exceed the limit in total.
    pub fn answer_too_large() -> Self {
        let message =
            "the answers to this batch are too large in total; send each message on its own";
        Self::new(StatusCode::OK, INTERNAL_ERROR, message)
    }

    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The response as JSON; MCP omits an unknown id.
    pub fn to_response(&self, id: Option<&str>) -> Vec<u8> {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        match id {
            Some(id) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
            None => format!(r#"{{"jsonrpc":"2.0","error":{error}}}"#),
        }
        .into_bytes()
    }
}

/// The caller or the server has too many long computations in progress, or a computation failed.
impl From<PoolError> for Refusal {
    fn from(error: PoolError) -> Self {
        let status = match error {
            PoolError::UserFull { .. } => StatusCode::TOO_MANY_REQUESTS,
            PoolError::Full | PoolError::Failed => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, UNAVAILABLE, error.to_string())
    }
}

/// A client's text, cut to a length that fits into a message.
pub fn echo(text: &str) -> String {
    match text.char_indices().nth(ECHO_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
