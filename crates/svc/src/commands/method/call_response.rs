//! Reads the parts of JSON-RPC responses that the exit code and `--result` need.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::exit::{Exit, Failure};

/// A response; `"result": null` counts as a result.
#[derive(Deserialize)]
pub struct Response<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
}

fn present<'de: 'a, 'a, D: Deserializer<'de>>(value: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

/// An error object; a method server may omit members.
#[derive(Deserialize, Default)]
struct ErrorMembers {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: serde_json::Value,
}

pub fn parse(body: &[u8]) -> Result<Response<'_>, Failure> {
    serde_json::from_slice(body).map_err(no_response)
}

/// The responses to a batch, each as unchanged JSON. A server may answer a whole batch with one
/// error.
pub fn parse_batch(body: &[u8]) -> Result<Vec<&RawValue>, Failure> {
    match body.trim_ascii_start().starts_with(b"[") {
        true => serde_json::from_slice(body),
        false => serde_json::from_slice(body).map(|one| vec![one]),
    }
    .map_err(no_response)
}

fn no_response(_: serde_json::Error) -> Failure {
    Failure::failed("the answer is not a JSON-RPC response")
        .why("does the URL lead to an svc server, without a proxy that changes answers?")
}

impl Response<'_> {
    pub fn exit(&self) -> Exit {
        let Some(error) = self.error else {
            return Exit::Ok;
        };
        let members = read_error(error);
        let reason = members.data.get("reason");
        Exit::of_rpc_error(members.code, reason.and_then(|reason| reason.as_str()))
    }

    /// The error as one line for people.
    pub fn error_text(&self) -> Option<String> {
        let members = read_error(self.error?);
        let mut text = format!("{} ({})", members.message, members.code);
        if !members.data.is_null() {
            text.push_str(&format!(" {}", members.data));
        }
        Some(text)
    }
}

fn read_error(error: &RawValue) -> ErrorMembers {
    serde_json::from_str(error.get()).unwrap_or_else(|_| ErrorMembers {
        message: error.get().to_owned(),
        ..ErrorMembers::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_has_its_exit_code() {
        let check = |body: &str, exit| {
            assert_eq!(parse(body.as_bytes()).expect(body).exit(), exit, "{body}");
        };
        check(r#"{"jsonrpc":"2.0","result":null,"id":1}"#, Exit::Ok);
        check(
            r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}"#,
            Exit::NotFound,
        );
        check(
            r#"{"error":{"code":-32000,"message":"m","data":{"reason":"unavailable"}},"id":1}"#,
            Exit::Unreachable,
        );
        check(
            r#"{"error":{"code":-32001,"message":"m","data":{"reason":"timeout"}},"id":1}"#,
            Exit::Timeout,
        );
        check(
            r#"{"error":{"code":-32002,"message":"m","data":{"reason":"interrupted"}},"id":1}"#,
            Exit::Unreachable,
        );
        check(
            r#"{"error":{"code":-32000,"message":"mine","data":[1]},"id":1}"#,
            Exit::MethodError,
        );
        check(r#"{"error":"odd","id":1}"#, Exit::MethodError);
    }

    #[test]
    fn results_keep_their_bytes() {
        let response =
            parse(br#"{"jsonrpc":"2.0","result":{"b":1.50, "a":9007199254740993},"id":1}"#);
        let response = response.expect("a response");
        let result = response.result.expect("a result");
        assert_eq!(result.get(), r#"{"b":1.50, "a":9007199254740993}"#);
        let null = parse(br#"{"result":null,"id":1}"#).expect("a response");
        assert_eq!(null.result.expect("null is a result").get(), "null");
    }
}
