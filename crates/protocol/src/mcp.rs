//! Requests of the Model Context Protocol. Its versions form two eras: modern (2026-07-28) and
//! legacy (all earlier versions). Only the needed members are parsed; ids and arguments keep the
//! bytes that the client sent.

use std::borrow::Cow;

use crate::jsonrpc::Request;
use serde::Deserialize;
use serde_json::value::RawValue;
use svc_core::{TraceContext, json_string::string_text};

/// A request. Notifications are not answered and have no `Message`.
pub struct Message<'a> {
    /// A string or a number, as JSON.
    pub id: &'a str,
    pub method: Cow<'a, str>,
    /// The members of `params`, or why they cannot be read.
    pub params: Result<Params<'a>, String>,
    /// Empty if `_meta` is absent or malformed.
    pub meta: Meta<'a>,
}

/// The members of `params` that any method uses. A member that is `null` counts as absent.
#[derive(Deserialize, Default)]
pub struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cursor: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "protocolVersion")]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default)]
    notifications: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "requestId")]
    request_id: Option<&'a RawValue>,
}

/// `_meta` of a request; version and capabilities exist in modern requests only.
#[derive(Deserialize, Default)]
pub struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
    /// In both eras: the client asks for progress reports.
    #[serde(borrow, default, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
}

/// The maximum size of a progress token, in bytes. Every report repeats the token.
const TOKEN_BYTES_MAX: usize = 1_024;

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct NotificationFilter {
    tools_list_changed: bool,
}

impl<'a> Message<'a> {
    /// `None` for an id that MCP does not allow.
    pub fn read(id: &'a str, request: Request<'a>) -> Option<Self> {
        if id == "null" {
            return None;
        }
        let params = Params::read(request.params);
        let meta = params.as_ref().map(Params::meta).unwrap_or_default();
        Some(Self {
            id,
            method: request.method,
            params,
            meta,
        })
    }

    /// The token for progress reports on this request, as JSON: a string or a number.
    pub fn progress_token(&self) -> Option<&'a str> {
        let token = self.meta.progress_token?.get();
        let is_token = token.starts_with(|first: char| matches!(first, '"' | '-' | '0'..='9'));
        (is_token && token.len() <= TOKEN_BYTES_MAX).then_some(token)
    }
}

impl<'a> Params<'a> {
    pub fn read(params: Option<&'a str>) -> Result<Self, String> {
        match params {
            None => Ok(Self::default()),
            Some(text) if is_object(text) => {
                serde_json::from_str(text).map_err(|_| "a member of params occurs twice".to_owned())
            }
            Some(_) => Err("params must be an object".to_owned()),
        }
    }

    /// Empty if `_meta` is absent or malformed.
    pub fn meta(&self) -> Meta<'a> {
        let meta = self.meta.filter(|meta| is_object(meta.get()));
        meta.and_then(|meta| serde_json::from_str(meta.get()).ok())
            .unwrap_or_default()
    }

    /// The id of the request that `notifications/cancelled` names, as JSON.
    pub fn request_id(&self) -> Option<&'a RawValue> {
        self.request_id
    }

    /// The tool to call; `None` if the name is missing or not a string.
    pub fn name(&self) -> Option<Cow<'a, str>> {
        text(self.name?)
    }

    /// The arguments as JSON.
    pub fn arguments(&self) -> Result<&'a str, NotAnObject> {
        match self.arguments.map(RawValue::get) {
            None => Ok("{}"),
            Some(text) if is_object(text) => Ok(text),
            Some(_) => Err(NotAnObject),
        }
    }

    /// The `traceparent` and the `tracestate` of W3C Trace Context in `_meta`.
    pub fn trace(&self) -> Option<TraceContext> {
        #[derive(Deserialize)]
        struct Trace<'a> {
            #[serde(borrow, default)]
            traceparent: Option<&'a RawValue>,
            #[serde(borrow, default)]
            tracestate: Option<&'a RawValue>,
        }
        let meta = self.meta.filter(|meta| is_object(meta.get()))?;
        let trace: Trace<'a> = serde_json::from_str(meta.get()).ok()?;
        let state = trace.tracestate.and_then(text);
        TraceContext::parse(&text(trace.traceparent?)?, state.as_deref())
    }

    /// The cursor, if there is one; `Some(None)` if it is not a string.
    pub fn cursor(&self) -> Option<Option<Cow<'a, str>>> {
        self.cursor.map(text)
    }

    /// The version that `initialize` requests.
    pub fn protocol_version(&self) -> Option<Cow<'a, str>> {
        text(self.protocol_version?)
    }

    /// Whether `subscriptions/listen` asks for changes of the list of tools.
    pub fn wants_tools_list_changed(&self) -> Result<bool, NotAnObject> {
        match self.notifications.map(RawValue::get) {
            None => Ok(false),
            Some(text) if is_object(text) => serde_json::from_str::<NotificationFilter>(text)
                .map(|filter| filter.tools_list_changed)
                .map_err(|_| NotAnObject),
            Some(_) => Err(NotAnObject),
        }
    }
}

/// A member that must be an object is something else, or has a member of the wrong type.
#[derive(Debug)]
pub struct NotAnObject;

impl<'a> Meta<'a> {
    pub fn has_version(&self) -> bool {
        self.version.is_some()
    }

    pub fn version(&self) -> Option<Cow<'a, str>> {
        text(self.version?)
    }

    pub fn has_capabilities(&self) -> bool {
        self.capabilities.is_some_and(|raw| is_object(raw.get()))
    }
}

/// The string in a raw value; `None` for any other type.
pub fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    string_text(raw.get())
}

/// Whether a JSON text, which must not start with whitespace, is an object.
pub fn is_object(text: &str) -> bool {
    text.starts_with('{')
}
