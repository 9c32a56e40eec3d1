//! Writes responses to callers, and parses the responses of method servers.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ErrorObject, present, scan};

/// Appends `{"jsonrpc":"2.0","result":…,"id":…}`, with the bytes of the result unchanged.
pub fn result_response(out: &mut Vec<u8>, result: &[u8], id: &str) {
    out.reserve(result.len() + id.len() + 40);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","result":"#);
    out.extend_from_slice(result);
    end(out, id);
}

/// Appends `{"jsonrpc":"2.0","error":…,"id":…}`, with the bytes of the error object unchanged.
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

/// Appends raw JSON as one line, because stdio has one message per line. A literal LF or CR in JSON
/// can only be white space between tokens.
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

/// The JSON value without the white space around it; `None` if the bytes are not exactly one JSON
/// value.
pub fn one_value(json: &[u8]) -> Option<&str> {
    scan::value(json).or_else(|| {
        let value = serde_json::from_slice::<&RawValue>(json).ok()?;
        Some(value.get())
    })
}

/// A response that a method server wrote.
#[derive(Debug, PartialEq, Eq)]
pub enum ChildMessage<'a> {
    Result {
        id: u64,
        result: &'a str,
    },
    Error {
        id: u64,
        error: &'a str,
    },
    /// A response that JSON-RPC does not allow.
    Invalid {
        id: u64,
        fault: ResponseFault,
    },
}

/// What is wrong with a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResponseFault {
    NoOutcome,
    TwoOutcomes,
    ErrorNotObject,
    TextId,
}

impl ResponseFault {
    /// A description for the user who published the method.
    pub fn message(self) -> &'static str {
        match self {
            Self::NoOutcome => "the method server's response has neither `result` nor `error`",
            Self::TwoOutcomes => "the method server's response has both `result` and `error`",
            Self::ErrorNotObject => "`error` in the method server's response is not an object",
            Self::TextId => {
                "the method server's response has the `id` as text; it must be the number of the request"
            }
        }
    }
}

#[derive(Deserialize)]
struct Members<'a> {
    #[serde(borrow, default)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    /// Some method servers write `"error": null` beside a result.
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Parses a line of a method server's stdout; `None` if the line is not a response with an id of
/// the agent.
pub fn parse_child_line(line: &[u8]) -> Option<ChildMessage<'_>> {
    // serde also accepts an array of the members.
    if !super::is_object(line) {
        return None;
    }
    let response = match scan::members(line, ["jsonrpc", "id", "result", "error"]) {
        Some([_, id, result, error]) => Response {
            id: id?,
            result,
            error: error.filter(|error| *error != "null"),
            is_certain: true,
        },
        None => {
            let raw: Members<'_> = serde_json::from_slice(line).ok()?;
            Response {
                id: raw.id.get(),
                result: raw.result.map(RawValue::get),
                error: raw.error.map(RawValue::get),
                // A line with `method` is a request or a notification. A line with unknown members
                // and without `jsonrpc` may be other JSON, such as a log entry.
                is_certain: raw.jsonrpc.is_some() && raw.method.is_none(),
            }
        }
    };
    response.read()
}

/// The raw members of a response. An `error` of null counts as absent.
struct Response<'a> {
    id: &'a str,
    result: Option<&'a str>,
    error: Option<&'a str>,
    /// Whether the line is certainly meant as a response. Otherwise no fault is reported.
    is_certain: bool,
}

impl<'a> Response<'a> {
    fn read(self) -> Option<ChildMessage<'a>> {
        let Some(id) = read_id(self.id) else {
            let id = read_text_id(self.id)?;
            return self.invalid(id, ResponseFault::TextId);
        };
        match (self.error, self.result) {
            (None, Some(result)) => Some(ChildMessage::Result { id, result }),
            // JSON-RPC 1 also writes `"result": null` beside an error.
            (Some(error), None | Some("null")) if error.starts_with('{') => {
                Some(ChildMessage::Error { id, error })
            }
            (None, None) => self.invalid(id, ResponseFault::NoOutcome),
            (Some(_), Some(result)) if result != "null" => {
                self.invalid(id, ResponseFault::TwoOutcomes)
            }
            (Some(_), _) => self.invalid(id, ResponseFault::ErrorNotObject),
        }
    }

    fn invalid(&self, id: u64, fault: ResponseFault) -> Option<ChildMessage<'a>> {
        self.is_certain
            .then_some(ChildMessage::Invalid { id, fault })
    }
}

/// Ids of the agent are integers below 2^53. Some languages write them back as `7.0` or `7e0`.
pub(super) fn read_id(raw: &str) -> Option<u64> {
    raw.parse().ok().or_else(|| read_float_id(raw))
}

fn read_float_id(raw: &str) -> Option<u64> {
    const ID_MAX: f64 = (1_u64 << 53) as f64;
    if !raw.contains(['.', 'e', 'E']) {
        return None;
    }
    let number: f64 = raw.parse().ok()?;
    (number.fract() == 0.0 && (0.0..ID_MAX).contains(&number)).then_some(number as u64)
}

fn read_text_id(raw: &str) -> Option<u64> {
    let text = raw.strip_prefix('"')?.strip_suffix('"')?;
    read_id(text.trim())
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
    fn results_and_errors_of_method_servers_are_parsed_and_other_lines_are_not() {
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
            r#"{"id":null,"error":{}}"#,
            r#"{"id":7.5,"result":1}"#,
            r#"{"id":-7,"result":1}"#,
            r#"{"id":1e300,"result":1}"#,
            r#"{"id":"x7","result":1}"#,
            r#"{"method":"log","params":{}}"#,
            // An echoed request, and log entries.
            r#"{"jsonrpc":"2.0","method":"m","id":7}"#,
            r#"{"id":7,"level":"info","message":"m"}"#,
            r#"{"id":"7","level":"info","result":1}"#,
        ] {
            check(noise, None);
        }
    }

    #[test]
    fn invalid_responses_are_recognised() {
        use ResponseFault::{ErrorNotObject, NoOutcome, TextId, TwoOutcomes};
        for (line, fault) in [
            (r#"{"id":7}"#, NoOutcome),
            (r#"{"jsonrpc":"2.0","id":7}"#, NoOutcome),
            (r#"{"jsonrpc":"2.0","id":7,"error":null}"#, NoOutcome),
            (r#"{"jsonrpc":"2.0","id":7,"resutl":1}"#, NoOutcome),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":1,"error":{}}"#,
                TwoOutcomes,
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":1,"error":"x"}"#,
                TwoOutcomes,
            ),
            (r#"{"id":7,"error":"text"}"#, ErrorNotObject),
            (
                r#"{"jsonrpc":"2.0","id":7,"error":["x"],"more":1}"#,
                ErrorNotObject,
            ),
            (r#"{"id":7,"result":null,"error":1}"#, ErrorNotObject),
            (r#"{"id":"7","result":1}"#, TextId),
            (r#"{"jsonrpc":"2.0","id":"7.0","result":1}"#, TextId),
            (r#"{"jsonrpc":"2.0","id":"7","more":1}"#, TextId),
        ] {
            let expected = ChildMessage::Invalid { id: 7, fault };
            assert_eq!(parse_child_line(line.as_bytes()), Some(expected), "{line}");
        }
    }

    #[test]
    fn responses_with_harmless_deviations_are_accepted() {
        for (line, result) in [
            (r#"{"id":7.00,"result":1}"#, Some("1")),
            (r#"{"id":7e0,"result":1}"#, Some("1")),
            (r#"{"jsonrpc":"1.0","id":7,"result":1}"#, Some("1")),
            (r#"{"id":7,"result":null,"error":null}"#, Some("null")),
            (r#"{"id":7,"result":1,"more":2}"#, Some("1")),
            (r#"{"id":7,"result":null,"error":{"code":1}}"#, None),
        ] {
            let expected = match result {
                Some(result) => ChildMessage::Result { id: 7, result },
                None => ChildMessage::Error {
                    id: 7,
                    error: r#"{"code":1}"#,
                },
            };
            assert_eq!(parse_child_line(line.as_bytes()), Some(expected), "{line}");
        }
    }
}
