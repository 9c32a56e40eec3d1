//! Writes responses to callers, and reads what a method server says.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ErrorObject, scan};

/// `{"jsonrpc":"2.0","result":…,"id":…}` around a result's own bytes.
pub fn result_response(out: &mut Vec<u8>, result: &[u8], id: &str) {
    out.reserve(result.len() + id.len() + 40);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","result":"#);
    out.extend_from_slice(result);
    end(out, id);
}

/// `{"jsonrpc":"2.0","error":…,"id":…}` around an error object's own bytes.
pub fn error_response(out: &mut Vec<u8>, error: &[u8], id: Option<&str>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","error":"#);
    out.extend_from_slice(error);
    end(out, id.unwrap_or("null"));
}

fn end(out: &mut Vec<u8>, id: &str) {
    out.extend_from_slice(br#","id":"#);
    out.extend_from_slice(id.as_bytes());
    out.push(b'}');
}

impl ErrorObject {
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an error object is always JSON")
    }
}

/// Appends raw JSON as one line: stdio is line-framed, and a literal LF or CR in JSON can only
/// be white space between tokens.
pub fn fold_lines(out: &mut Vec<u8>, raw: &[u8]) {
    let start = out.len();
    out.extend_from_slice(raw);
    if memchr::memchr2(b'\n', b'\r', raw).is_some() {
        for byte in &mut out[start..] {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

/// The one JSON value that the bytes are, without the white space around it; `None` if they are
/// anything else.
pub fn one_value(json: &[u8]) -> Option<&str> {
    scan::value(json).or_else(|| {
        let value = serde_json::from_slice::<&RawValue>(json).ok()?;
        Some(value.get())
    })
}

/// A line a method server wrote, as far as it concerns us.
#[derive(Debug, PartialEq, Eq)]
pub enum ChildMessage<'a> {
    Result { id: u64, result: &'a str },
    Error { id: u64, error: &'a str },
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    /// Some servers write `"error": null` beside a result.
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

fn present<'de: 'a, 'a, D: serde::Deserializer<'de>>(
    value: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

/// Reads a line from a method server's stdout; `None` if it is no response to one of our ids.
pub fn parse_child_line(line: &[u8]) -> Option<ChildMessage<'_>> {
    // serde would read an array as the members in their order.
    if !super::is_object(line) {
        return None;
    }
    let (id, result, error) = match scan::members(line, ["jsonrpc", "id", "result", "error"]) {
        Some([_, id, result, error]) => (id?, result, error.filter(|error| *error != "null")),
        None => {
            let raw: Members<'_> = serde_json::from_slice(line).ok()?;
            let [result, error] = [raw.result, raw.error].map(|value| value.map(RawValue::get));
            (raw.id.get(), result, error)
        }
    };
    let id = read_id(id)?;
    match (error, result) {
        (Some(error), _) if error.starts_with('{') => Some(ChildMessage::Error { id, error }),
        (None, Some(result)) => Some(ChildMessage::Result { id, result }),
        _ => None,
    }
}

/// Our ids are integers; some languages write them back as `7.0`.
pub(super) fn read_id(raw: &str) -> Option<u64> {
    raw.parse()
        .ok()
        .or_else(|| raw.strip_suffix(".0")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_wrap_raw_bytes() {
        let mut out = Vec::new();
        result_response(&mut out, br#"{"b":1,"a":null}"#, "\"x\"");
        assert_eq!(
            out,
            br#"{"jsonrpc":"2.0","result":{"b":1,"a":null},"id":"x"}"#
        );
        out.clear();
        error_response(&mut out, br#"{"code":1,"message":"m"}"#, None);
        assert_eq!(
            out,
            br#"{"jsonrpc":"2.0","error":{"code":1,"message":"m"},"id":null}"#
        );
    }

    #[test]
    fn line_breaks_between_tokens_become_spaces() {
        let mut out = b"x".to_vec();
        fold_lines(&mut out, b"{\r\n \"a\": \"b\\n\"\n}");
        assert_eq!(out, b"x{   \"a\": \"b\\n\" }");
    }

    #[test]
    fn child_lines() {
        let check = |line: &str, expected| {
            assert_eq!(parse_child_line(line.as_bytes()), expected, "{line}")
        };
        check(
            r#"{"jsonrpc":"2.0","id":7,"result":null}"#,
            Some(ChildMessage::Result {
                id: 7,
                result: "null",
            }),
        );
        check(
            r#"{"id":7.0,"result":[1]}"#,
            Some(ChildMessage::Result {
                id: 7,
                result: "[1]",
            }),
        );
        check(
            r#"{"id":7,"result":1,"error":null}"#,
            Some(ChildMessage::Result { id: 7, result: "1" }),
        );
        check(
            r#"{"id":7,"error":{"code":5,"message":"m","data":[]}}"#,
            Some(ChildMessage::Error {
                id: 7,
                error: r#"{"code":5,"message":"m","data":[]}"#,
            }),
        );
        for noise in [
            "",
            "hello",
            "{}",
            "[]",
            "[7,1]",
            r#"{"id":7}"#,
            r#"{"id":"7","result":1}"#,
            r#"{"id":null,"error":{}}"#,
            r#"{"id":7,"error":"text"}"#,
            r#"{"method":"log","params":{}}"#,
        ] {
            check(noise, None);
        }
    }
}
