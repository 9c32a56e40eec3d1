//! Parses the body of `POST /api/methods/call`.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use svc_core::json_string::string_text;

use super::{BATCH_MAX, PARAMS_DEPTH_MAX, RpcError, nests_deeper_than, present, scan};

/// A well-formed request. Params and id are the bytes that the caller sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'a> {
    pub method: Cow<'a, str>,
    /// An object or an array; `null` counts as absent.
    pub params: Option<&'a str>,
    /// `None` for a notification; `Some("null")` for a request with a null id.
    pub id: Option<&'a str>,
}

/// A malformed request: the error to return, and the id of the request (`None` means null).
#[derive(Debug, PartialEq, Eq)]
pub struct Invalid<'a> {
    pub error: RpcError,
    pub id: Option<&'a str>,
}

impl Invalid<'_> {
    /// Whether this is a notification whose params are nested too deeply. Notifications get no
    /// answer, not even an error.
    pub fn is_notification(&self) -> bool {
        self.error == RpcError::TooDeep && self.id.is_none()
    }
}

#[derive(Debug)]
pub enum Body<'a> {
    Single(Result<Request<'a>, Invalid<'a>>),
    Batch(Vec<Result<Request<'a>, Invalid<'a>>>),
}

/// Parses a whole body. An error is the answer to the whole body, with a null id.
pub fn parse_body(body: &[u8]) -> Result<Body<'_>, RpcError> {
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'[') {
        return match parse_bytes(body) {
            Ok(parsed) => Ok(Body::Single(parsed)),
            Err(NotJson) => Err(RpcError::Parse),
        };
    }
    let items: Vec<&RawValue> = serde_json::from_slice(body).map_err(|_| RpcError::Parse)?;
    match items.len() {
        0 => Err(RpcError::InvalidRequest("the batch is empty".into())),
        n if n > BATCH_MAX => Err(RpcError::InvalidRequest(format!(
            "the batch has {n} items; at most {BATCH_MAX} are allowed"
        ))),
        _ => Ok(Body::Batch(
            items
                .into_iter()
                .map(|item| parse_request(item.get()))
                .collect(),
        )),
    }
}

/// Parses one item that is known to be JSON.
pub fn parse_request(text: &str) -> Result<Request<'_>, Invalid<'_>> {
    parse_bytes(text.as_bytes()).unwrap_or_else(|NotJson| Err(invalid(None, "not JSON")))
}

struct NotJson;

const MEMBERS: [&str; 4] = ["jsonrpc", "method", "params", "id"];

/// The raw members of a request. `None` means absent; `null` is `Some("null")`.
struct Members<'a> {
    /// An upper bound for the nesting of the params, so that shallow params need not be scanned
    /// again.
    depth_max: usize,
    jsonrpc: Option<&'a str>,
    method: Option<&'a str>,
    params: Option<&'a str>,
    id: Option<&'a str>,
}

/// The same members, as serde parses them.
#[derive(Deserialize)]
struct RawMembers<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
}

fn parse_bytes(body: &[u8]) -> Result<Result<Request<'_>, Invalid<'_>>, NotJson> {
    if let Some(members) = scan::members(body, MEMBERS) {
        let [jsonrpc, method, params, id] = members;
        return Ok(check(&Members {
            depth_max: scan::DEPTH_MAX,
            jsonrpc,
            method,
            params,
            id,
        }));
    }
    // serde does not check the encoding of unknown members.
    let text = str::from_utf8(body).map_err(|_| NotJson)?;
    match serde_json::from_str::<RawMembers<'_>>(text) {
        // serde also accepts an array of the members; JSON-RPC does not.
        Ok(raw) if super::is_object(body) => Ok(check(&Members {
            depth_max: usize::MAX,
            jsonrpc: raw.jsonrpc.map(RawValue::get),
            method: raw.method.map(RawValue::get),
            params: raw.params.map(RawValue::get),
            id: raw.id.map(RawValue::get),
        })),
        Ok(_) => Ok(Err(invalid(None, "a request must be an object"))),
        // The body is parsed a second time only after a failure, to distinguish "not JSON" from
        // "not a request".
        Err(_) if serde_json::from_str::<&RawValue>(text).is_err() => Err(NotJson),
        Err(_) => Ok(Err(match serde_json::from_str::<Repeated<'_>>(text) {
            Ok(Repeated { member, id }) => invalid(
                id.filter(|id| is_id(id)),
                &format!("member `{member}` occurs twice"),
            ),
            Err(_) => invalid(None, "a request must be an object"),
        })),
    }
}

/// A request with a repeated member. `id` is set only if it occurs once in the request.
struct Repeated<'a> {
    member: &'static str,
    id: Option<&'a str>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Repeated<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RepeatedVisitor)
    }
}

struct RepeatedVisitor;

impl<'de> Visitor<'de> for RepeatedVisitor {
    type Value = Repeated<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request with a repeated member")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut counts = MEMBERS.map(|member| (member, 0_usize));
        let mut id = None;
        while let Some((key, value)) = members.next_entry::<Cow<'_, str>, &RawValue>()? {
            if let Some((_, count)) = counts.iter_mut().find(|(member, _)| *member == key) {
                *count += 1;
            }
            if key == "id" {
                id = Some(value.get());
            }
        }
        let repeated = counts.iter().find(|(_, count)| *count > 1);
        let (member, _) = repeated.ok_or_else(|| A::Error::custom("no member is repeated"))?;
        let has_one_id = counts.contains(&("id", 1));
        Ok(Repeated {
            member,
            id: id.filter(|_| has_one_id),
        })
    }
}

fn check<'a>(members: &Members<'a>) -> Result<Request<'a>, Invalid<'a>> {
    let id = match members.id {
        None => None,
        Some(id) if is_id(id) => Some(id),
        Some(_) => {
            return Err(invalid(None, "`id` must be a string, a number or null"));
        }
    };
    let version = members.jsonrpc;
    if version != Some("\"2.0\"") && version.and_then(string_text).as_deref() != Some("2.0") {
        return Err(invalid(id, "`jsonrpc` must be \"2.0\""));
    }
    let Some(method) = members.method.and_then(string_text) else {
        return Err(invalid(id, "`method` must be a string"));
    };
    let params = match members.params {
        None | Some("null") => None,
        Some(params) if params.starts_with(['{', '[']) => Some(params),
        Some(_) => return Err(invalid(id, "`params` must be an object or an array")),
    };
    if members.depth_max > PARAMS_DEPTH_MAX
        && params.is_some_and(|params| nests_deeper_than(params, PARAMS_DEPTH_MAX))
    {
        let error = RpcError::TooDeep;
        return Err(Invalid { error, id });
    }
    Ok(Request { method, params, id })
}

fn invalid<'a>(id: Option<&'a str>, why: &str) -> Invalid<'a> {
    Invalid {
        error: RpcError::InvalidRequest(why.to_owned()),
        id,
    }
}

fn is_id(raw: &str) -> bool {
    matches!(raw.as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9')) || raw == "null"
}

#[cfg(test)]
mod tests;
