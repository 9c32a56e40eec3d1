//! Tool results: text blocks for people and models. An object is usually also returned as
//! structured data. The bytes of a method's result are copied and not serialised again, except its
//! `_meta`. Text blocks are escaped.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use svc_protocol::{
    jsonrpc::RpcError,
    mcp::{is_object, text},
};

use super::{era::Era, tools::OutputSchema};
use crate::methods::calls::Reply;

pub struct ToolResult {
    /// The members of the result object as JSON, without the braces and without `_meta`.
    pub members: Vec<u8>,
    pub is_error: bool,
    /// The method's own `_meta`, an object.
    pub meta: Option<String>,
}

/// A method's result that already has the form of an MCP tool result.
#[derive(Deserialize)]
struct McpResult<'a> {
    #[serde(borrow)]
    content: &'a RawValue,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(default, rename = "isError")]
    is_error: Option<bool>,
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

/// A content block; only its type is read.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
}

/// The block types that clients know. Clients drop a whole answer if one block has any other type.
const BLOCKS: [&str; 5] = ["text", "image", "audio", "resource", "resource_link"];

/// The error object of a method server, which may be malformed.
#[derive(Deserialize)]
struct ErrorMembers<'a> {
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

impl ToolResult {
    pub fn of(reply: &Reply, output: OutputSchema, era: Era) -> Self {
        match reply {
            // The link passes only JSON, which is UTF-8.
            Reply::Result(bytes) => match std::str::from_utf8(bytes) {
                Ok(result) => Self::success(result.trim(), output, era),
                Err(_) => Self::error("the method's result is not valid UTF-8"),
            },
            Reply::Error(bytes) => Self::method_error(&String::from_utf8_lossy(bytes)),
        }
    }

    /// A failed call. The error is a text in the tool result, so that the model can decide what to
    /// do.
    pub fn of_failure(error: &RpcError) -> Self {
        let message = match error {
            RpcError::TimedOut {
                timeout_seconds, ..
            } => format!("Method timed out after {timeout_seconds} seconds"),
            RpcError::Unavailable => {
                "Method unavailable: the space that offers it is not running or not connected"
                    .to_owned()
            }
            RpcError::Interrupted => {
                "Method interrupted: its method server or link ended during the call; the call may have had an effect"
                    .to_owned()
            }
            RpcError::UnreadAnswers { limit_bytes, sent } => format!(
                "{}: your unread answers have reached the limit of {limit_bytes} bytes; read each answer, or make fewer calls at a time",
                match sent {
                    true => "Result dropped",
                    false => "Method not called",
                }
            ),
            RpcError::UnfinishedBodies { limit_bytes } => format!(
                "Method not called: the bodies of your requests have reached the limit of {limit_bytes} bytes; wait for earlier calls, or make fewer calls at a time"
            ),
            error => error.message().to_owned(),
        };
        Self::error(&message)
    }

    /// A tool result with an error message.
    pub fn error(message: &str) -> Self {
        Self::finish(text_content(&[message]), true)
    }

    /// Adds `isError`, the last member.
    fn finish(mut members: Vec<u8>, is_error: bool) -> Self {
        members.extend_from_slice(if is_error {
            br#","isError":true"#
        } else {
            br#","isError":false"#
        });
        Self {
            members,
            is_error,
            meta: None,
        }
    }

    /// A JSON value, as text and as structured data.
    pub fn object(json: &str) -> Self {
        let mut members = text_content(&[json]);
        members.extend_from_slice(br#","structuredContent":"#);
        members.extend_from_slice(json.as_bytes());
        Self::finish(members, false)
    }

    fn success(result: &str, output: OutputSchema, era: Era) -> Self {
        if is_object(result) {
            return match parse_mcp_result(result) {
                Some(ready) => Self::pass_through(&ready, result, output, era),
                None => Self::object(result),
            };
        }
        match output {
            OutputSchema::Object => {
                return Self::error(&format!(
                    "the method's schema requires an object, but its result is: {result}"
                ));
            }
            // A modern client that got a schema expects structured data, which may have any type.
            OutputSchema::AnyValue if era == Era::Modern => return Self::object(result),
            OutputSchema::AnyValue | OutputSchema::Absent => {}
        }
        let members = match result.starts_with('"') {
            // A JSON string is already escaped.
            true => format!(r#""content":[{{"type":"text","text":{result}}}]"#).into_bytes(),
            false => text_content(&[result]),
        };
        Self::finish(members, false)
    }

    /// Passes a ready-made result on, without members that MCP does not define.
    fn pass_through(ready: &McpResult<'_>, whole: &str, output: OutputSchema, era: Era) -> Self {
        let is_error = ready.is_error.unwrap_or(false);
        let promised = match output {
            OutputSchema::Absent => false,
            OutputSchema::Object => true,
            OutputSchema::AnyValue => era == Era::Modern,
        };
        let allows_any = era == Era::Modern;
        let structured = ready
            .structured
            .map(RawValue::get)
            .filter(|structured| allows_any || is_object(structured))
            // If the result has no usable structured data, the whole result is sent as structured
            // data: the schema of the method describes the whole result.
            .or_else(|| (promised && !is_error).then_some(whole));
        let mut members = Vec::with_capacity(whole.len() + 40);
        members.extend_from_slice(br#""content":"#);
        members.extend_from_slice(ready.content.get().as_bytes());
        if let Some(structured) = structured {
            members.extend_from_slice(br#","structuredContent":"#);
            members.extend_from_slice(structured.as_bytes());
        }
        let meta = ready.meta.map(RawValue::get).filter(|meta| is_object(meta));
        Self {
            meta: meta.map(str::to_owned),
            ..Self::finish(members, is_error)
        }
    }

    /// A method's own error: its message, and its data as a second block.
    fn method_error(error: &str) -> Self {
        let read: Option<ErrorMembers<'_>> = serde_json::from_str(error).ok();
        let message = read.as_ref().and_then(|read| read.message.and_then(text));
        let data = read.as_ref().and_then(|read| read.data);
        let Some(message) = message else {
            return Self::error(error.trim());
        };
        let members = match data {
            Some(data) => text_content(&[&message, data.get()]),
            None => text_content(&[&message]),
        };
        Self::finish(members, true)
    }
}

/// Reads `{"content":[…]}`; `None` if the result is something else or has an unknown block.
fn parse_mcp_result(result: &str) -> Option<McpResult<'_>> {
    // A cheap check first: most results have no such member.
    if !result.contains(r#""content""#) {
        return None;
    }
    let ready: McpResult<'_> = serde_json::from_str(result).ok()?;
    if !ready.content.get().starts_with('[') {
        return None;
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(ready.content.get()).ok()?;
    blocks.iter().all(|block| is_block(block)).then_some(ready)
}

fn is_block(raw: &RawValue) -> bool {
    // Serde would also accept an array.
    is_object(raw.get())
        && serde_json::from_str::<Block<'_>>(raw.get())
            .is_ok_and(|block| BLOCKS.contains(&&*block.r#type))
}

/// The member `content`, with a text block for each text.
fn text_content(texts: &[&str]) -> Vec<u8> {
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    // Room for escapes, and for the same text as structured data.
    let mut content = Vec::with_capacity(bytes * 2 + bytes / 4 + 80);
    content.extend_from_slice(br#""content":["#);
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            content.push(b',');
        }
        content.extend_from_slice(br#"{"type":"text","text":"#);
        serde_json::to_writer(&mut content, text).expect("a text is always JSON");
        content.push(b'}');
    }
    content.push(b']');
    content
}

/// Adds one member to the object `extra`; returns JSON.
pub fn merge_meta(extra: &str, name: &str, value: Value) -> String {
    let mut meta: serde_json::Map<String, Value> = serde_json::from_str(extra).unwrap_or_default();
    meta.insert(name.to_owned(), value);
    Value::Object(meta).to_string()
}

#[cfg(test)]
mod tests;
