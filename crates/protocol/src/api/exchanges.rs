//! What an attempt of a webhook sent and received.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A webhook's request as it was sent, and the head of the response. The body of the response is the
/// attempt's `output`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(example = json!({
    "request": {
        "url": "https://example.com/hook", "line": "POST /hook HTTP/1.1",
        "headers": [{"name": "authorization", "value": "********"}],
        "body": "{}", "body_bytes": 2,
    },
    "response": {"status": 200, "headers": [{"name": "content-length", "value": "0"}]},
    "timing": {"dns": 0.4, "connect": 11.2, "tls": 24.0, "first_byte": 31.5, "total": 67.9},
    "remote_address": "192.0.2.1:443",
}))]
pub struct Exchange {
    pub request: SentRequest,
    /// `None` if no response arrived.
    pub response: Option<ResponseHead>,
    pub timing: ExchangeTiming,
    /// The address that the request was sent to. Only callers with `view_audit` see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_address: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SentRequest {
    pub url: String,
    /// The request line: `POST /path HTTP/1.1`.
    pub line: String,
    /// Signatures and the values of custom headers are masked.
    pub headers: Vec<HeaderField>,
    /// The beginning of the body.
    pub body: String,
    /// The length of the whole body.
    pub body_bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ResponseHead {
    pub status: u16,
    /// Only the first headers are kept.
    pub headers: Vec<HeaderField>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HeaderField {
    pub name: String,
    pub value: String,
}

/// Parts of an attempt's time, in milliseconds. `dns`, `connect` and `tls` are absent if an open
/// connection was reused.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ExchangeTiming {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<f64>,
    /// From the start of the request to the head of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<f64>,
    pub total: f64,
}
