//! The two protocol eras: finds the era of a request, and checks the headers of modern requests.
//!
//! A modern (2026-07-28) request names the protocol version and the capabilities of the client, and
//! repeats some members in headers for proxies; header and body must agree. A legacy client
//! (2025-11-25 and before) starts with `initialize`; this server has no sessions and stores nothing
//! of that request.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use http::{HeaderMap, HeaderValue, StatusCode};
use svc_protocol::mcp::Message;

use super::{
    legacy,
    refusal::{Refusal, echo},
};

pub const MODERN: &str = "2026-07-28";
/// Every supported version, newest first.
pub const SUPPORTED: &[&str] = &[
    MODERN,
    "2025-11-25",
    "2025-06-18",
    "2025-03-26",
    "2024-11-05",
];

pub const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Era {
    Legacy,
    Modern,
}

/// A header that must occur at most once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header<'a> {
    Absent,
    One(&'a str),
    /// More than once, or not visible ASCII.
    Malformed,
}

impl<'a> Header<'a> {
    pub fn find(headers: &'a HeaderMap, name: &str) -> Self {
        let mut values = headers.get_all(name).iter();
        match (values.next().map(HeaderValue::to_str), values.next()) {
            (None, _) => Self::Absent,
            (Some(Ok(value)), None) => Self::One(value.trim()),
            _ => Self::Malformed,
        }
    }
}

impl Era {
    pub fn of(headers: &HeaderMap, message: &Message<'_>) -> Self {
        let is_modern = message.meta.has_version()
            || message.method == "server/discover"
            || Self::of_headers(headers) == Self::Modern;
        if is_modern {
            Self::Modern
        } else {
            Self::Legacy
        }
    }

    /// Finds the era from the headers alone. An unknown version counts as modern, because it may be
    /// a future version.
    pub fn of_headers(headers: &HeaderMap) -> Self {
        match Header::find(headers, VERSION_HEADER) {
            Header::Absent => Self::Legacy,
            Header::One(version) if legacy::VERSIONS.contains(&version) => Self::Legacy,
            Header::One(_) | Header::Malformed => Self::Modern,
        }
    }
}

/// Checks version, `_meta` and headers of a modern request.
pub fn check_modern(headers: &HeaderMap, message: &Message<'_>) -> Result<(), Refusal> {
    check_version(headers, message)?;
    let bad_params = |why: &str| Refusal::invalid_params(why).with_status(StatusCode::BAD_REQUEST);
    let params = message.params.as_ref().map_err(|why| bad_params(why))?;
    if message.meta.version().is_none() {
        return Err(bad_params(
            "`_meta` must contain `io.modelcontextprotocol/protocolVersion`",
        ));
    }
    if !message.meta.has_capabilities() {
        return Err(bad_params(
            "`_meta` must contain `io.modelcontextprotocol/clientCapabilities`, an object",
        ));
    }
    check_header(headers, METHOD_HEADER, "Mcp-Method", &message.method)?;
    if message.method == "tools/call" {
        check_header(
            headers,
            NAME_HEADER,
            "Mcp-Name",
            &params.name().unwrap_or_default(),
        )?;
    }
    Ok(())
}

fn check_version(headers: &HeaderMap, message: &Message<'_>) -> Result<(), Refusal> {
    let version = get_header(headers, VERSION_HEADER, "MCP-Protocol-Version")?;
    if let Some(body_version) = message.meta.version()
        && body_version != version
    {
        return Err(Refusal::header_mismatch(format!(
            "MCP-Protocol-Version is '{}', but `_meta` says '{}'",
            echo(version),
            echo(&body_version)
        )));
    }
    if version != MODERN {
        return Err(Refusal::unsupported_version(version));
    }
    Ok(())
}

/// Rejects a request if the header is missing or differs from the value in the body.
fn check_header(headers: &HeaderMap, name: &str, shown: &str, body: &str) -> Result<(), Refusal> {
    let value = get_header(headers, name, shown)?;
    match decode(value) {
        Some(decoded) if decoded == body => Ok(()),
        _ => Err(Refusal::header_mismatch(format!(
            "{shown} header value '{}' does not match body value '{}'",
            echo(value),
            echo(body)
        ))),
    }
}

/// `shown` is the name in messages.
fn get_header<'a>(headers: &'a HeaderMap, name: &str, shown: &str) -> Result<&'a str, Refusal> {
    let why = match Header::find(headers, name) {
        Header::One(value) => return Ok(value),
        Header::Absent => "is required",
        Header::Malformed => "must occur once and be plain text",
    };
    Err(Refusal::header_mismatch(format!(
        "the header {shown} {why}"
    )))
}

/// Decodes a header value that may be written as `=?base64?…?=`; `None` if it is malformed.
pub fn decode(value: &str) -> Option<Cow<'_, str>> {
    let encoded = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        None => Some(Cow::Borrowed(value)),
        Some(encoded) => {
            let bytes = BASE64_STANDARD.decode(encoded).ok()?;
            String::from_utf8(bytes).ok().map(Cow::Owned)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_only_in_the_exact_wrapper() {
        let check = |value, expected: Option<&str>| {
            assert_eq!(decode(value).as_deref(), expected, "{value}");
        };
        check("us-west1", Some("us-west1"));
        check("=?base64?SGVsbG8sIOS4lueVjA==?=", Some("Hello, 世界"));
        check("=?BASE64?SGVsbG8=?=", Some("=?BASE64?SGVsbG8=?="));
        check("=?base64?!!!?=", None);
        check("=?base64?/w==?=", None);
        check("=?base64??=", Some(""));
    }

    #[test]
    fn only_known_legacy_versions_are_legacy() {
        let check = |values: &[&str], expected| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(VERSION_HEADER, value.parse().expect("a header value"));
            }
            assert_eq!(Era::of_headers(&headers), expected, "{values:?}");
        };
        check(&[], Era::Legacy);
        check(&["2025-11-25"], Era::Legacy);
        check(&["2024-11-05"], Era::Legacy);
        check(&[MODERN], Era::Modern);
        check(&["2099-01-01"], Era::Modern);
        check(&["2025-11-25", "2025-11-25"], Era::Modern);
    }
}
