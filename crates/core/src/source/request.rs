//! Turns a verified request into the type and the data of an event.

use std::collections::{BTreeMap, HashMap};

use base64::Engine;
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use thiserror::Error;

use super::{
    SOURCE_EVENTS,
    rules::{places, proof_header},
    settings::{Deduplicate, TypeRule, Verification, VerifyType},
    verify::{Headers, Verified},
};
use crate::{
    event::PAYLOAD_BYTES_MAX,
    id::Id,
    json_text::{JsonText, JsonTextError},
    timestamp::Timestamp,
    webhook_secret::BASE64,
};

/// Largest body of a request, in bytes.
pub const BODY_BYTES_MAX: usize = PAYLOAD_BYTES_MAX;
/// Bytes that `_source` and the wrapping of a body may add to the data of an event.
pub const ADDED_BYTES_MAX: usize = 16 * 1024;
/// The member of the data that describes where the event comes from.
pub const SOURCE_MEMBER: &str = "_source";
/// The maximum length of the last part of an event's type. With this limit, the whole type is not
/// longer than a pattern may be.
const TYPE_MAX: usize = 64;
/// The last part of the type if the request has none.
const TYPE_DEFAULT: &str = "event";
/// The maximum number of characters of a header's value in `_source`.
const HEADER_VALUE_MAX: usize = 512;
/// The maximum number of characters of a challenge in an answer.
const CHALLENGE_MAX: usize = 1_024;

/// The settings of a source that decide about its events.
#[derive(Clone, Copy, Debug)]
pub struct EventRule<'a> {
    pub id: Id,
    pub name: &'a str,
    pub verify: &'a Verification,
    pub event_type: &'a TypeRule,
    /// Headers that are copied into `_source`, in addition to the provider's.
    pub headers: &'a [String],
}

impl EventRule<'_> {
    /// The value of a header, unless the header proves who sent the request.
    fn find<'h>(&self, headers: &'h impl Headers, name: &str) -> Option<&'h str> {
        let is_proof = proof_header(self.verify).is_some_and(|it| it.eq_ignore_ascii_case(name));
        match is_proof {
            true => None,
            false => headers.find(&name.to_ascii_lowercase()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    #[error("the body is not valid: {0}")]
    Json(#[from] JsonTextError),
    #[error("the body is not UTF-8 text, but its type is JSON")]
    NotText,
    #[error("the event would have {0} bytes; at most {max} are allowed", max = PAYLOAD_BYTES_MAX + ADDED_BYTES_MAX)]
    TooLarge(usize),
}

/// What a verified request means.
#[derive(Clone, Debug)]
pub enum Request {
    Event(SourceEvent),
    /// Slack asks whether this server owns the URL. The answer is this text.
    Challenge(String),
}

/// The event of a request.
#[derive(Clone, Debug)]
pub struct SourceEvent {
    pub event_type: String,
    pub data: JsonText,
    pub delivery: DeliveryKey,
}

/// How a repeated delivery is recognised.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeliveryKey {
    /// By the sender's id.
    Id(String),
    /// By everything that the sender signed: this text and the body. The text contains the signed
    /// time, if the sender signs one. For a request without an id that can be trusted.
    Signed(String),
    /// Not at all: every request is a new delivery. For a request without an id, if the source has
    /// the verification `basic` or `none`, which checks no signature, or `deduplicate: "none"`.
    None,
}

/// Reads a verified request.
pub fn read(
    rule: &EventRule<'_>,
    verified: &Verified,
    headers: &impl Headers,
    body: &[u8],
    now: Timestamp,
) -> Result<Request, RequestError> {
    let content = read_body(headers.find("content-type"), body)?;
    if rule.verify.r#type == VerifyType::Slack
        && find_text(&content, "type").as_deref() == Some("url_verification")
        && let Some(challenge) = find_text(&content, "challenge")
    {
        return Ok(Request::Challenge(
            challenge.chars().take(CHALLENGE_MAX).collect(),
        ));
    }
    let delivery = delivery_of(rule, verified, headers, &content);
    let last = type_of(rule, headers, &content);
    let about = about(rule, headers, &delivery, now);
    let data = with_source(content, &about)?;
    let bytes = data.as_str().len();
    if bytes > PAYLOAD_BYTES_MAX + ADDED_BYTES_MAX {
        return Err(RequestError::TooLarge(bytes));
    }
    Ok(Request::Event(SourceEvent {
        event_type: format!("{SOURCE_EVENTS}{}.{last}", rule.name),
        data,
        delivery,
    }))
}

/// The body as a JSON object. A form becomes an object of its fields. JSON that is not an object,
/// and other text, is wrapped as `{"body": …}`. Bytes that are not text are wrapped as
/// `{"body_base64": …}`.
fn read_body(content_type: Option<&str>, body: &[u8]) -> Result<JsonText, RequestError> {
    let essence = content_type.and_then(|text| text.split(';').next());
    let essence = essence.unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = essence == "application/json" || essence.ends_with("+json");
    if essence == "application/x-www-form-urlencoded" {
        return Ok(read_form(body)?);
    }
    let Ok(text) = str::from_utf8(body) else {
        return match is_json {
            true => Err(RequestError::NotText),
            false => Ok(JsonText::from(&json!({"body_base64": BASE64.encode(body)}))),
        };
    };
    if text.trim().is_empty() {
        return Ok(JsonText::from(&json!({})));
    }
    match JsonText::parse(text) {
        Ok(object) if object.is_object() => Ok(object),
        Ok(other) => Ok(wrap(&other)),
        Err(error) if is_json => Err(error.into()),
        Err(_) => Ok(JsonText::from(&json!({ "body": text }))),
    }
}

fn wrap(body: &JsonText) -> JsonText {
    let text = format!("{{\"body\":{}}}", body.as_str());
    JsonText::parse(&text).unwrap_or_else(|_| JsonText::from(&json!({"body": body.as_str()})))
}

/// The fields of a form as an object. A repeated field becomes a list. The field `payload` is copied
/// as it is if it is a JSON object, because Slack and GitHub send JSON in it.
fn read_form(body: &[u8]) -> Result<JsonText, JsonTextError> {
    let mut fields: Vec<(String, Vec<JsonText>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (name, value) in form_urlencoded::parse(body) {
        let parsed = match name == "payload" {
            true => JsonText::parse(&value).ok(),
            false => None,
        };
        let value = parsed
            .filter(JsonText::is_object)
            .unwrap_or_else(|| JsonText::from(&Value::from(&*value)));
        let place = *places.entry(name.to_string()).or_insert(fields.len());
        match fields.get_mut(place) {
            Some((_, values)) => values.push(value),
            None => fields.push((name.into_owned(), vec![value])),
        }
    }
    let members = fields.iter().map(|(name, values)| {
        let name = Value::from(name.as_str());
        match values.as_slice() {
            [one] => format!("{name}:{}", one.as_str()),
            all => {
                let all: Vec<_> = all.iter().map(JsonText::as_str).collect();
                format!("{name}:[{}]", all.join(","))
            }
        }
    });
    let members: Vec<_> = members.collect();
    JsonText::parse(&format!("{{{}}}", members.join(",")))
}

/// The text at a path such as `event.type`.
fn find_text(content: &JsonText, path: &str) -> Option<String> {
    let mut raw = content.as_str();
    for name in path.split('.') {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(raw).ok()?;
        raw = members.get(name)?.get();
    }
    serde_json::from_str::<String>(raw).ok()
}

fn type_of(rule: &EventRule<'_>, headers: &impl Headers, content: &JsonText) -> String {
    let settings = rule.event_type;
    let places = places(rule.verify.r#type);
    let given = if let Some(fixed) = &settings.fixed {
        Some(fixed.clone())
    } else if let Some(header) = &settings.header {
        rule.find(headers, header).map(str::to_owned)
    } else if let Some(path) = &settings.body {
        find_text(content, path)
    } else {
        let header = places.type_header.and_then(|name| headers.find(name));
        let mut paths = places.type_paths.iter();
        header
            .map(str::to_owned)
            .or_else(|| paths.find_map(|path| find_text(content, path)))
    };
    event_type_part(&given.unwrap_or_default())
}

/// The last part of an event's type. Letters become lower case, `/` and `:` become dots, and any
/// other character that an event type cannot have becomes `_`.
fn event_type_part(given: &str) -> String {
    let character = |c: char| match c.to_ascii_lowercase() {
        '/' | ':' | '.' => '.',
        c if c.is_ascii_alphanumeric() || c == '_' || c == '-' => c,
        _ => '_',
    };
    let text: String = given.trim().chars().take(TYPE_MAX).map(character).collect();
    let segments: Vec<&str> = text.split('.').filter(|part| !part.is_empty()).collect();
    match segments.is_empty() {
        true => TYPE_DEFAULT.to_owned(),
        false => segments.join("."),
    }
}

fn delivery_of(
    rule: &EventRule<'_>,
    verified: &Verified,
    headers: &impl Headers,
    content: &JsonText,
) -> DeliveryKey {
    let places = places(rule.verify.r#type);
    let in_body = || find_text(content, places.id_path?);
    let in_header = || headers.find(places.id_header?).map(str::to_owned);
    let id = verified
        .signed_id
        .clone()
        .or_else(in_body)
        .or_else(in_header);
    match (id, rule.verify.r#type) {
        (Some(id), _) if !id.is_empty() => DeliveryKey::Id(id),
        (_, VerifyType::Basic | VerifyType::None) => DeliveryKey::None,
        _ if rule.verify.deduplicate == Some(Deduplicate::None) => DeliveryKey::None,
        _ => DeliveryKey::Signed(verified.signed_head.clone()),
    }
}

/// The member `_source`.
#[derive(Serialize)]
struct About<'a> {
    id: Id,
    name: &'a str,
    verify: VerifyType,
    received_at: Timestamp,
    delivery_id: Option<&'a str>,
    headers: BTreeMap<String, String>,
}

fn about<'a>(
    rule: &EventRule<'a>,
    headers: &impl Headers,
    delivery: &'a DeliveryKey,
    now: Timestamp,
) -> About<'a> {
    let usual = ["content-type", "user-agent"].into_iter();
    let provider = places(rule.verify.r#type).headers.iter().copied();
    let selected = rule.headers.iter().map(String::as_str);
    let copied = usual.chain(provider).chain(selected).filter_map(|name| {
        let value = rule.find(headers, name)?.chars();
        let name = name.to_ascii_lowercase();
        Some((name, value.take(HEADER_VALUE_MAX).collect()))
    });
    About {
        id: rule.id,
        name: rule.name,
        verify: rule.verify.r#type,
        received_at: now,
        delivery_id: match delivery {
            DeliveryKey::Id(id) => Some(id),
            DeliveryKey::Signed(_) | DeliveryKey::None => None,
        },
        headers: copied.collect(),
    }
}

/// Adds `_source` to an object. A member of this name that the sender wrote is removed.
fn with_source(content: JsonText, about: &About<'_>) -> Result<JsonText, RequestError> {
    let about = serde_json::to_string(about).expect("texts and times are JSON");
    let mut text = content.as_str().to_owned();
    if let Ok(mut members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(content.as_str())
        && members.remove(SOURCE_MEMBER).is_some()
    {
        text = serde_json::to_string(&members).expect("members of JSON are JSON");
    }
    text.pop();
    let comma = if text == "{" { "" } else { "," };
    let text = format!("{text}{comma}\"{SOURCE_MEMBER}\":{about}}}");
    // Fails if a form contains JSON that nests too deep.
    Ok(JsonText::parse(&text)?)
}

#[cfg(test)]
mod tests;
