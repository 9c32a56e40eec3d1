//! What a request carries, read only as far as it is needed: ids and arguments stay the bytes
//! they were.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use svc_protocol::jsonrpc::Request;

/// A request; notifications are not answered, so nothing is kept of them.
pub struct Message<'a> {
    /// A string or a number, as it was written.
    pub id: &'a str,
    pub method: Cow<'a, str>,
    /// The members of `params`, or why there are none to read.
    pub params: Result<Params<'a>, String>,
    /// What the request says of itself; nothing where it does not say it properly.
    pub meta: Meta<'a>,
}

/// The members of `params` that any method has; `null` counts as absent.
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
}

/// What a modern request says of itself.
#[derive(Deserialize, Default)]
pub struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
    /// Of either era: the client wants to hear how far a call is.
    #[serde(borrow, default, rename = "progressToken")]
    progress_token: Option<&'a RawValue>,
}

/// Bytes of a token that is repeated with each report.
const TOKEN_BYTES_MAX: usize = 1_024;

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Wanted {
    tools_list_changed: bool,
}

impl<'a> Message<'a> {
    /// `None` for an id that MCP does not allow.
    pub fn read(id: &'a str, request: Request<'a>) -> Option<Self> {
        if id == "null" {
            return None;
        }
        let params = Params::read(request.params);
        let meta = params.as_ref().ok().and_then(|params| params.meta);
        let meta = meta
            .filter(|meta| is_object(meta.get()))
            .and_then(|meta| serde_json::from_str(meta.get()).ok());
        Some(Self {
            id,
            method: request.method,
            params,
            meta: meta.unwrap_or_default(),
        })
    }

    /// What to name in reports on this request, as it was written: a string or a number.
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
                serde_json::from_str(text).map_err(|error| error.to_string())
            }
            Some(_) => Err("params must be an object".to_owned()),
        }
    }

    /// The tool to call; `None` where there is no name, or none that is a text.
    pub fn name(&self) -> Option<Cow<'a, str>> {
        text(self.name?)
    }

    /// The arguments as they were written; an error if they are no object.
    pub fn arguments(&self) -> Result<&'a str, NotAnObject> {
        match self.arguments.map(RawValue::get) {
            None => Ok("{}"),
            Some(text) if is_object(text) => Ok(text),
            Some(_) => Err(NotAnObject),
        }
    }

    /// The cursor, and whether it is a text at all.
    pub fn cursor(&self) -> Option<Option<Cow<'a, str>>> {
        self.cursor.map(text)
    }

    /// The version that `initialize` asks for.
    pub fn protocol_version(&self) -> Option<Cow<'a, str>> {
        text(self.protocol_version?)
    }

    /// Whether `subscriptions/listen` asks for changes of the list of tools.
    pub fn wants_tools_list_changed(&self) -> Result<bool, NotAnObject> {
        match self.notifications.map(RawValue::get) {
            None => Ok(false),
            Some(text) if is_object(text) => serde_json::from_str::<Wanted>(text)
                .map(|wanted| wanted.tools_list_changed)
                .map_err(|_| NotAnObject),
            Some(_) => Err(NotAnObject),
        }
    }
}

/// A member that must be an object, and is none.
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

/// The string a raw value holds, if it holds one.
pub fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str(raw.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// Whether JSON text without leading space is an object.
pub fn is_object(text: &str) -> bool {
    text.starts_with('{')
}
