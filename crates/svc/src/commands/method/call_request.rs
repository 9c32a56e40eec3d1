//! Builds the JSON-RPC bodies of a call. Params are never parsed into values: numbers and the
//! order of keys stay as written.

use std::borrow::Cow;

use serde_json::value::RawValue;
use svc_protocol::{document::not_json, jsonrpc::BATCH_MAX};

use crate::{exit::Failure, prompt};

/// The size at which a batch is split into several bodies. Servers accept bodies of 8 MiB by
/// default.
const BODY_BYTES_TARGET: usize = 6 * 1024 * 1024;

/// One HTTP body and the number of its requests.
#[derive(Debug, PartialEq, Eq)]
pub struct CallBody {
    pub bytes: Vec<u8>,
    pub requests: usize,
}

/// The body of one call, with id 1 unless it is a notification.
pub fn single(method: &str, params: &str, notify: bool) -> Result<CallBody, Failure> {
    let params = check_params(params, "params")?;
    let mut bytes = Vec::with_capacity(params.len() + method.len() + 64);
    put_request(&mut bytes, method, &params, (!notify).then_some(1));
    Ok(CallBody { bytes, requests: 1 })
}

/// The bodies of a batch with one call per element of `params`. The calls have the ids 1 to n,
/// unless they are notifications. A body has at most [`BATCH_MAX`] calls and, if it has more than
/// one call, about [`BODY_BYTES_TARGET`] bytes or fewer.
pub fn batch(method: &str, params: &str, notify: bool) -> Result<Vec<CallBody>, Failure> {
    let items: Vec<&RawValue> = serde_json::from_str(params).map_err(|error| {
        Failure::usage("with --batch the params must be a JSON array, one element per call")
            .why(not_an_array(params, &error))
    })?;
    let mut bodies = Vec::new();
    let mut bytes = Vec::new();
    let mut requests = 0;
    for (index, item) in items.into_iter().enumerate() {
        let params = check_params(item.get(), &format!("the params of call {}", index + 1))?;
        if requests == BATCH_MAX
            || requests > 0 && bytes.len() + params.len() + method.len() > BODY_BYTES_TARGET
        {
            bodies.push(close(&mut bytes, &mut requests));
        }
        bytes.push(if requests == 0 { b'[' } else { b',' });
        put_request(&mut bytes, method, &params, (!notify).then_some(index + 1));
        requests += 1;
    }
    if requests > 0 {
        bodies.push(close(&mut bytes, &mut requests));
    }
    Ok(bodies)
}

fn not_an_array(text: &str, error: &serde_json::Error) -> String {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(_) => "for one call, omit --batch".to_owned(),
        Err(_) => not_json(text.as_bytes(), error),
    }
}

fn close(bytes: &mut Vec<u8>, requests: &mut usize) -> CallBody {
    bytes.push(b']');
    CallBody {
        bytes: std::mem::take(bytes),
        requests: std::mem::take(requests),
    }
}

/// Params must be an object, an array or `null`; an empty text means `{}`.
fn check_params<'a>(text: &'a str, what: &str) -> Result<Cow<'a, str>, Failure> {
    if text.trim().is_empty() {
        return Ok(Cow::Borrowed("{}"));
    }
    match prompt::check_json(what, text, "svc method call <name>")?.get() {
        "null" => Ok(Cow::Borrowed("null")),
        params if params.starts_with(['{', '[']) => Ok(Cow::Borrowed(params)),
        other => {
            let shown: String = other.chars().take(40).collect();
            Err(Failure::usage(format!(
                "{what} are `{shown}`; they must be a JSON object or array"
            )))
        }
    }
}

fn put_request(out: &mut Vec<u8>, method: &str, params: &str, id: Option<usize>) {
    let method = serde_json::to_string(method).expect("a string is always JSON");
    out.extend_from_slice(br#"{"jsonrpc":"2.0","method":"#);
    out.extend_from_slice(method.as_bytes());
    out.extend_from_slice(br#","params":"#);
    out.extend_from_slice(params.as_bytes());
    if let Some(id) = id {
        out.extend_from_slice(format!(r#","id":{id}"#).as_bytes());
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    fn text(body: &CallBody) -> &str {
        std::str::from_utf8(&body.bytes).expect("UTF-8")
    }

    #[test]
    fn params_are_sent_unchanged() {
        let body = single("a.b", r#"{"z":1.50, "a":12345678901234567890}"#, false).expect("ok");
        assert_eq!(
            text(&body),
            r#"{"jsonrpc":"2.0","method":"a.b","params":{"z":1.50, "a":12345678901234567890},"id":1}"#
        );
        let body = single("a\"b", " ", true).expect("ok");
        assert_eq!(
            text(&body),
            r#"{"jsonrpc":"2.0","method":"a\"b","params":{}}"#
        );
    }

    #[test]
    fn params_that_cannot_be_sent_are_usage_errors() {
        for params in ["{", "nope", "{} x", "5", "\"x\"", "true"] {
            let failure = single("m", params, false).expect_err(params);
            assert_eq!(failure.exit, Exit::Usage, "{params}");
        }
        for params in ["{}", "5", "[1]", "[{}, \"x\"]", ""] {
            let failure = batch("m", params, false).expect_err(params);
            assert_eq!(failure.exit, Exit::Usage, "{params}");
        }
    }

    #[test]
    fn a_batch_is_one_request_per_element_and_splits_over_a_thousand() {
        let bodies = batch("m", r#"[{"a":1}, [2], null]"#, false).expect("ok");
        assert_eq!(
            text(&bodies[0]),
            r#"[{"jsonrpc":"2.0","method":"m","params":{"a":1},"id":1},{"jsonrpc":"2.0","method":"m","params":[2],"id":2},{"jsonrpc":"2.0","method":"m","params":null,"id":3}]"#
        );
        assert!(batch("m", "[]", false).expect("ok").is_empty());

        let params = format!("[{}]", vec!["{}"; 2500].join(","));
        let bodies = batch("m", &params, false).expect("ok");
        let sizes: Vec<usize> = bodies.iter().map(|body| body.requests).collect();
        assert_eq!(sizes, [1000, 1000, 500]);
        assert!(text(&bodies[2]).ends_with(r#""id":2500}]"#));
        assert!(
            text(&bodies[1])
                .starts_with(r#"[{"jsonrpc":"2.0","method":"m","params":{},"id":1001}"#)
        );
    }

    #[test]
    fn a_batch_of_large_params_splits_by_size_too() {
        let large = format!("[\"{}\"]", "x".repeat(4 * 1024 * 1024));
        let bodies = batch("m", &format!("[{large},{large},{{}}]"), false).expect("ok");
        let sizes: Vec<usize> = bodies.iter().map(|body| body.requests).collect();
        assert_eq!(sizes, [1, 2]);
    }
}
