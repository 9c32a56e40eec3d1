//! Repeats the arguments of a tool in headers, if the tool's schema requires that (`x-mcp-header`).

use base64::prelude::{BASE64_STANDARD, Engine as _};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// The headers that repeat these arguments.
pub fn mirror(input_schema: &Value, arguments: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    collect(input_schema, arguments, &mut headers);
    headers
}

fn collect(schema: &Value, value: &Value, headers: &mut HeaderMap) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        let Some(value) = value.get(name) else {
            continue;
        };
        let header = schema.get("x-mcp-header").and_then(Value::as_str);
        let header = header.and_then(|name| format!("mcp-param-{name}").parse::<HeaderName>().ok());
        if let (Some(header), Some(text)) = (header, written(value))
            && let Ok(text) = HeaderValue::from_str(&text)
        {
            headers.insert(header, text);
        }
        collect(schema, value, headers);
    }
}

fn written(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(encode(text)),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The text unchanged, or in base64 if a header could not carry it unchanged.
pub fn encode(text: &str) -> String {
    let is_plain = text.bytes().all(|b| matches!(b, b'\t' | b' '..=b'~'))
        && text.trim() == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if is_plain {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn annotated_arguments_become_headers() {
        let schema = json!({"properties": {
            "region": {"x-mcp-header": "Region"},
            "options": {"properties": {"limit": {"x-mcp-header": "Limit"}}},
            "absent": {"x-mcp-header": "Absent"},
            "plain": {},
        }});
        let arguments = json!({"region": " Hello, 世界", "options": {"limit": 42}, "plain": 1});
        let headers = mirror(&schema, &arguments);
        assert_eq!(headers.len(), 2);
        assert_eq!(
            headers["mcp-param-region"],
            "=?base64?IEhlbGxvLCDkuJbnlYw=?="
        );
        assert_eq!(headers["mcp-param-limit"], "42");
    }
}
