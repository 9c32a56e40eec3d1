//! A request and its only correct response. Both contain a number that is different each time, so
//! that a response to another request is detected.

use anyhow::{Context, bail, ensure};
use serde_json::Value;

/// The number of digits of such a number.
const DIGITS: usize = 12;
/// The smallest number. It does not begin with 0, because JSON allows no leading zeros.
pub const FIRST: u64 = 100_000_000_000;

/// A request or a response that contains the number, and the positions of the number.
#[derive(Clone)]
pub struct Template {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

impl Template {
    /// The bytes must contain [`FIRST`] at each position of the number.
    pub fn new(bytes: Vec<u8>) -> Self {
        let places = memchr::memmem::find_iter(&bytes, FIRST.to_string().as_bytes()).collect();
        Self { bytes, places }
    }

    /// Writes `FIRST + number` at each position.
    pub fn with(&mut self, number: u64) -> &[u8] {
        let digits = (FIRST + number).to_string();
        for &place in &self.places {
            self.bytes[place..place + DIGITS].copy_from_slice(digits.as_bytes());
        }
        &self.bytes
    }
}

#[derive(Clone)]
pub struct Exchange {
    pub request: Template,
    pub answer: Template,
    /// Calls in one request.
    pub calls: usize,
}

/// The JSON body of a request, with params of about `size` bytes.
pub fn body(method: &str, size: usize, batch: usize) -> String {
    let padding = "x".repeat(size.saturating_sub(36));
    let one = |id: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"n":{FIRST},"text":"{padding}"}},"id":{id}}}"#
        )
    };
    match batch {
        1 => one(1),
        _ => format!("[{}]", (0..batch).map(one).collect::<Vec<_>>().join(",")),
    }
}

/// The whole HTTP request.
pub fn request(token: &str, body: &str) -> Vec<u8> {
    format!(
        "POST /api/methods/call HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

impl Exchange {
    /// Learns the correct response from the first response, after checking that response in full.
    pub fn learn(request: Vec<u8>, body: &str, answer: &[u8]) -> anyhow::Result<Self> {
        let asked: Value = serde_json::from_str(body)?;
        let answered: Value = serde_json::from_slice(answer).context("the answer is not JSON")?;
        // The bare echo returns the request itself.
        let echo = asked == answered;
        let (asked, answered) = (listed(asked), listed(answered));
        ensure!(asked.len() == answered.len(), "{} answers", answered.len());
        for (asked, answered) in asked.iter().zip(&answered) {
            let is_right = answered["result"] == asked["params"] && answered["id"] == asked["id"];
            if !echo && !is_right {
                bail!("{answered} is not the answer to {asked}");
            }
        }
        Ok(Self {
            request: Template::new(request),
            answer: Template::new(answer.to_vec()),
            calls: asked.len(),
        })
    }
}

fn listed(value: Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values,
        value => vec![value],
    }
}
