//! Reads requests of the Model Context Protocol, of the version 2026-07-28 and of older versions.

use serde_json::Value;
use svc_protocol::{
    jsonrpc::{Body, Request, parse_body},
    mcp::{Message, Params, text},
};

pub fn message(data: &[u8]) {
    match parse_body(data) {
        Ok(Body::Single(Ok(request))) => read(request),
        Ok(Body::Batch(requests)) => requests.into_iter().flatten().for_each(read),
        _ => {}
    }
}

fn read(request: Request<'_>) {
    let Some(id) = request.id else { return };
    let params = request
        .params
        .and_then(|text| serde_json::from_str(text).ok());
    let Some(message) = Message::read(id, request) else {
        return;
    };
    let _ = (message.meta.has_version(), message.meta.version());
    let _ = message.meta.has_capabilities();
    if let Some(token) = message.progress_token() {
        let token: Value = serde_json::from_str(token).expect("a token is JSON");
        assert!(token.is_string() || token.is_number());
    }
    if let Ok(read) = &message.params {
        compare(read, params.as_ref().unwrap_or(&Value::Null));
    }
}

/// Compares the members with serde's reading of the same params.
fn compare(read: &Params<'_>, params: &Value) {
    let as_text = |name: &str| params.get(name).and_then(Value::as_str).map(str::to_owned);
    if params.is_object() {
        assert_eq!(read.name().map(|it| it.into_owned()), as_text("name"));
        let version = read.protocol_version().map(|it| it.into_owned());
        assert_eq!(version, as_text("protocolVersion"));
        let cursor = read.cursor().flatten().map(|it| it.into_owned());
        assert_eq!(cursor, as_text("cursor"));
    }
    if let Ok(arguments) = read.arguments() {
        assert!(arguments.starts_with('{'));
    }
    let _ = read.wants_tools_list_changed();
    if let Ok(raw) = serde_json::value::to_raw_value(params) {
        let _ = text(&raw);
    }
}
