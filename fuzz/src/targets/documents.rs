//! Documents of users: the registration file, bodies of the HTTP API, schemas, payloads.

use serde_json::{Value, value::RawValue};
use svc_core::{
    event::check_payload,
    json_text::JsonText,
    name::{SpaceName, UserName},
    schema,
};
use svc_protocol::{
    api::{NewSchedule, NewSink, NewSource},
    document,
    registration_file::{read_file, read_json, read_request},
};

use super::text;

pub fn registration(data: &[u8]) {
    let _ = read_request(data);
    let Some(text) = text(data) else { return };
    let _ = read_json(text);
    let space = SpaceName::parse("lab").expect("a name");
    let owner = UserName::parse("ann").expect("a name");
    if let Err(error) = read_file("methods.toml", text, &space, &owner) {
        assert!(!error.to_string().is_empty(), "an error without a text");
    }
}

/// Creating the error message must not fail.
pub fn api_document(data: &[u8]) {
    let [kind, rest] = match data.split_first() {
        Some((kind, rest)) => [std::slice::from_ref(kind), rest],
        None => return,
    };
    let error = match kind[0] % 3 {
        0 => document::read_json::<NewSink>(rest).err(),
        1 => document::read_json::<NewSource>(rest).err(),
        _ => document::read_json::<NewSchedule>(rest).err(),
    };
    if let Some(error) = error {
        assert!(!error.to_string().is_empty(), "an error without a text");
    }
}

pub fn schema(data: &[u8]) {
    let Ok(value) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    if let Err(error) = schema::check(&value) {
        assert!(!error.to_string().is_empty());
        error.steps().for_each(drop);
    }
    let _ = schema::check_tool_root(&value);
}

/// Parsing must remove the white space outside strings and keep everything else.
pub fn json_text(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Ok(raw) = serde_json::from_str::<&RawValue>(text) {
        let _ = check_payload(raw);
    }
    let Ok(compact) = JsonText::parse(text) else {
        return;
    };
    let again = JsonText::parse(compact.as_str()).expect("compact JSON is JSON");
    assert_eq!(again.as_str(), compact.as_str());
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    assert_eq!(read(text), read(compact.as_str()));
}
