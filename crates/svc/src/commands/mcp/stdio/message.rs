//! Parses the parts of the client's messages that the bridge between stdio and HTTP needs. The
//! messages are forwarded unchanged.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use svc_protocol::mcp::Params;

use crate::commands::mcp::param_headers;

pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
/// The error code of the bridge for a request that got no MCP answer: for example, the server could
/// not be reached or refused the HTTP request, or too many requests are in flight.
pub const UNAVAILABLE: i64 = -32000;
pub const CANCELLED: &str = "notifications/cancelled";
pub const LISTEN: &str = "subscriptions/listen";
pub const CALL: &str = "tools/call";

/// One line of the client.
#[derive(Debug, Default)]
pub struct Message {
    pub line: Bytes,
    /// The id as JSON; `None` for a notification and for a batch.
    pub id: Option<String>,
    /// Empty for a batch.
    pub method: String,
    /// The version in `_meta`, which modern messages have.
    pub version: Option<String>,
    /// The tool of a `tools/call`.
    pub tool: Option<String>,
    /// The arguments of a `tools/call`, as JSON; `None` if there are none.
    pub arguments: Option<String>,
    /// The id of the request that a cancellation names, as JSON.
    pub cancels: Option<String>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

impl Envelope<'_> {
    fn is_response(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }
}

impl Message {
    /// Reads a line; `None` for a response. The error is the line to send as the answer.
    pub fn read(line: Bytes) -> Result<Option<Self>, Vec<u8>> {
        let Ok(raw) = serde_json::from_slice::<&RawValue>(&line) else {
            let why = "the line is not JSON; each message must be one line";
            return Err(error_line(None, PARSE_ERROR, why));
        };
        if raw.get().starts_with('[') {
            return Ok(Some(Self {
                line,
                ..Self::default()
            }));
        }
        let Ok(envelope) = serde_json::from_str::<Envelope<'_>>(raw.get()) else {
            let why = "the line is not a JSON-RPC message";
            return Err(error_line(None, INVALID_REQUEST, why));
        };
        let id = envelope.id.map(|id| id.get().to_owned());
        if envelope.is_response() {
            return Ok(None);
        }
        let Some(method) = envelope.method else {
            let why = "the message has no method";
            return Err(error_line(id.as_deref(), INVALID_REQUEST, why));
        };
        let params = Params::read(envelope.params.map(RawValue::get)).unwrap_or_default();
        let meta = params.meta();
        let method = method.into_owned();
        let is_call = method == CALL;
        let version = meta.version().map(Cow::into_owned);
        let tool = params.name().filter(|_| is_call).map(Cow::into_owned);
        let arguments = params.arguments().ok().filter(|_| is_call);
        // Without arguments, no schema is needed.
        let arguments = arguments.filter(|text| *text != "{}").map(str::to_owned);
        let cancels = params.request_id().filter(|_| method == CANCELLED);
        let cancels = cancels.map(|id| id.get().to_owned());
        Ok(Some(Self {
            line,
            id,
            method,
            version,
            tool,
            arguments,
            cancels,
        }))
    }

    /// The HTTP headers: `accept`, and headers that repeat parts of the message. `legacy` is the
    /// protocol version that `initialize` agreed on.
    pub fn headers(&self, legacy: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut put = |name: &'static str, value: Option<&str>| {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        put("accept", Some("application/json, text/event-stream"));
        if self.is_modern() {
            put("mcp-protocol-version", self.version.as_deref());
            put("mcp-method", Some(&param_headers::encode(&self.method)));
            let tool = self.tool.as_deref().map(param_headers::encode);
            put("mcp-name", tool.as_deref());
        } else if self.method != "initialize" {
            put("mcp-protocol-version", legacy);
        }
        headers
    }

    pub fn is_modern(&self) -> bool {
        self.version.is_some()
    }

    /// Whether the message may be sent again after a connection failed.
    pub fn may_repeat(&self) -> bool {
        ["initialize", "ping", "server/discover", "tools/list"].contains(&self.method.as_str())
    }
}

/// An error response as a line; `id` is JSON.
pub fn error_line(id: Option<&str>, code: i64, message: &str) -> Vec<u8> {
    let id = id.unwrap_or("null");
    let message = Value::from(message);
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
        .into_bytes()
}

/// The kind of a message from the server.
#[derive(PartialEq, Eq, Debug)]
pub enum FromServer {
    Notification(String),
    Response,
    /// A request, or not a message of JSON-RPC.
    Other,
}

impl FromServer {
    pub fn of(message: &str) -> Self {
        match serde_json::from_str::<Envelope<'_>>(message) {
            Ok(envelope) if envelope.is_response() => Self::Response,
            Ok(Envelope {
                method: Some(method),
                id: None,
                ..
            }) => Self::Notification(method.into_owned()),
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Option<Message>, Value> {
        Message::read(Bytes::copy_from_slice(line.as_bytes()))
            .map_err(|answer| serde_json::from_slice(&answer).expect("JSON"))
    }

    #[test]
    fn lines_that_are_not_messages_are_answered_or_ignored() {
        let check = |line: &str, id: Value, code: i64| {
            let answer = read(line).expect_err(line);
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (&id, &code.into()),
                "{line}"
            );
        };
        check("{", Value::Null, PARSE_ERROR);
        check("\u{ff}", Value::Null, PARSE_ERROR);
        check("7", Value::Null, INVALID_REQUEST);
        check(r#"{"id":7}"#, 7.into(), INVALID_REQUEST);
        check(
            r#"{"id":7,"id":8,"method":"ping"}"#,
            Value::Null,
            INVALID_REQUEST,
        );
        check(
            r#"{"id":7,"method":["ping"]}"#,
            Value::Null,
            INVALID_REQUEST,
        );
        // The client could mistake an answer to this line for the answer to its own request 7.
        assert!(matches!(read(r#"{"id":7,"result":{}}"#), Ok(None)));
        assert!(matches!(read(r#"{"id":7,"error":{"code":1}}"#), Ok(None)));
    }

    #[test]
    fn headers_repeat_the_parts_that_the_server_checks() {
        let of = |line: &str, legacy: Option<&str>| {
            let message = read(line).expect("valid").expect("a request");
            let headers = message.headers(legacy);
            ["mcp-protocol-version", "mcp-method", "mcp-name"].map(|name| {
                headers
                    .get(name)
                    .map(|value| value.to_str().expect("text").to_owned())
            })
        };
        let some = |text: &str| Some(text.to_owned());
        let version = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        let call = format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"é",{version}}}}}"#);
        let expected = [
            some("2026-07-28"),
            some("tools/call"),
            some("=?base64?w6k=?="),
        ];
        assert_eq!(of(&call, Some("2025-11-25")), expected);
        let list = r#"{"id":1,"method":"tools/list"}"#;
        assert_eq!(
            of(list, Some("2025-11-25")),
            [some("2025-11-25"), None, None]
        );
        assert_eq!(of(list, None), [None, None, None]);
        let initialize = r#"{"id":1,"method":"initialize","params":{}}"#;
        assert_eq!(of(initialize, Some("2025-11-25")), [None, None, None]);
        // A name with a line break cannot add a header.
        let hostile = call.replace('é', "a\\r\\nx: y");
        assert!(
            of(&hostile, None)[2]
                .as_ref()
                .expect("a header")
                .starts_with("=?base64?")
        );
    }

    #[test]
    fn calls_are_never_repeated() {
        for (method, expected) in [("tools/call", false), ("tools/list", true), ("x", false)] {
            let line = format!(r#"{{"id":1,"method":"{method}"}}"#);
            let message = read(&line).expect("valid").expect("a request");
            assert_eq!(message.may_repeat(), expected, "{method}");
        }
        let batch = read(r#"[{"id":1,"method":"ping"}]"#)
            .expect("valid")
            .expect("a batch");
        assert!(!batch.may_repeat());
    }
}
