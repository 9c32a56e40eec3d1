//! Bodies of callers and lines of method servers. The fast scanner behind both must read every text
//! in the same way as serde.

use serde_json::{Value, value::RawValue};
use svc_protocol::{
    http_head::{Tail, find_in_head, has_bare_lf},
    jsonrpc::{
        Body, ChildMessage, Invalid, Request, RpcError, is_ready_line, parse_body,
        parse_child_line, parse_progress_line,
    },
};

pub fn body(data: &[u8]) {
    let is_json = serde_json::from_slice::<&RawValue>(data).is_ok();
    match parse_body(data) {
        Ok(Body::Single(request)) => {
            assert!(is_json, "a body that is not JSON was accepted");
            compare(data, &request);
        }
        Ok(Body::Batch(requests)) => {
            let items: Vec<&RawValue> = serde_json::from_slice(data).expect("a batch is JSON");
            assert_eq!(items.len(), requests.len());
            for (item, request) in items.iter().zip(&requests) {
                compare(item.get().as_bytes(), request);
            }
        }
        Err(RpcError::Parse) => assert!(!is_json, "JSON was refused as a parse error"),
        Err(error) => assert!(!error.message().is_empty()),
    }
}

/// Compares an accepted request with serde's reading of the same bytes.
fn compare(data: &[u8], request: &Result<Request<'_>, Invalid<'_>>) {
    let Ok(request) = request else { return };
    // Serde's `Value` accepts less than the tested parser: numbers must fit a float, and nesting is
    // limited.
    let Ok(value) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    assert_eq!(value["jsonrpc"], "2.0");
    assert_eq!(value["method"], *request.method);
    let read = |text: &str| serde_json::from_str::<Value>(text).expect("a part of JSON is JSON");
    match request.params {
        Some(params) => assert_eq!(value["params"], read(params)),
        None => assert_eq!(value["params"], Value::Null),
    }
    assert_eq!(value.get("id").cloned(), request.id.map(read));
}

pub fn child_line(data: &[u8]) {
    let _ = is_ready_line(data);
    if let Some((_, progress)) = parse_progress_line(data) {
        let again = svc_protocol::jsonrpc::Progress::parse(&progress.to_bytes());
        assert!(again.is_some(), "a progress report cannot be read again");
    }
    let Some(message) = parse_child_line(data) else {
        return;
    };
    let Ok(value) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let read = |text: &str| serde_json::from_str::<Value>(text).expect("a part of JSON is JSON");
    match message {
        ChildMessage::Result { id, result } => {
            compare_id(&value["id"], id);
            assert_eq!(value["result"], read(result));
        }
        ChildMessage::Error { id, error } => {
            compare_id(&value["id"], id);
            assert_eq!(value["error"], read(error));
        }
        ChildMessage::Invalid { fault, .. } => assert!(!fault.message().is_empty()),
    }
}

/// Some languages write an id back as `7.0`, which the agent accepts.
fn compare_id(written: &Value, id: u64) {
    match written.as_u64() {
        Some(number) => assert_eq!(number, id),
        None => assert_eq!(written.as_f64(), Some(id as f64)),
    }
}

/// The guard against bare LFs: the quick check must never accept a head that the slow check
/// rejects, and the slow check must return the position of a bare LF.
pub fn http_head(data: &[u8]) {
    let found = find_in_head(Tail::default(), Some(0), data);
    if let Some(at) = found {
        assert_eq!(data[at], b'\n');
        assert!(at == 0 || data[at - 1] != b'\r', "the LF has its CR");
        assert!(has_bare_lf(0, data), "the quick check misses a bare LF");
    }
    // If the first LF is bare, it is in the first head, so the slow check must find it.
    if let Some(first) = data.iter().position(|byte| *byte == b'\n')
        && (first == 0 || data[first - 1] != b'\r')
    {
        assert_eq!(found, Some(first));
    }
    // A head may arrive in two reads. The check of the second read gets the last bytes of the
    // first.
    for cut in [data.len() / 2, data.len().saturating_sub(1)] {
        let (first, rest) = data.split_at(cut);
        let mut tail = Tail::default();
        for &byte in first {
            tail = [tail[1], tail[2], byte];
        }
        if let Some(at) = find_in_head(tail, None, rest) {
            let before = if at == 0 { tail[2] } else { rest[at - 1] };
            assert!(rest[at] == b'\n' && before != b'\r');
        }
    }
}
