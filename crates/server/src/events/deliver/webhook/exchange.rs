//! The record of an exchange: the request, the head of the answer, and how long each part took.
//! Signatures, cookies of the answer and the values of custom headers are masked. Long request
//! bodies are cut, and headers of the answer that do not fit are left out, because an owner may
//! store many exchanges.

use std::time::Duration;

use http::{HeaderMap, header::SET_COOKIE};
use svc_outbound::{Location, Progress};
use svc_protocol::api::{Exchange, ExchangeTiming, HeaderField, ResponseHead, SentRequest};

use super::WebhookRequest;
use crate::events::sealed_headers::MASK;

/// At most this many bytes of a request's body are kept.
const BODY_BYTES_MAX: usize = 16 * 1024;
/// At most this many bytes of an answer's headers (names and values) are kept.
const ANSWER_HEADER_BYTES_MAX: usize = 8 * 1024;

/// The record of an exchange, as far as it came.
pub(super) fn record(mut request: SentRequest, progress: &Progress, total: Duration) -> Exchange {
    let answer = &progress.answer;
    let response = answer.status.map(|status| ResponseHead {
        status: status.as_u16(),
        headers: fields(&answer.headers, ANSWER_HEADER_BYTES_MAX, |name| {
            (name == SET_COOKIE.as_str()).then(|| MASK.to_owned())
        }),
    });
    request.line += if progress.is_http2 {
        "HTTP/2"
    } else {
        "HTTP/1.1"
    };
    Exchange {
        request,
        response,
        timing: ExchangeTiming {
            dns: progress.dns.map(milliseconds),
            connect: progress.connect.map(milliseconds),
            tls: progress.tls.map(milliseconds),
            first_byte: answer.first_byte.map(milliseconds),
            total: milliseconds(total),
        },
        remote_address: progress.address.map(|address| address.to_string()),
    }
}

/// The record of a request. Signatures and the values of custom headers are masked, and a long body
/// is cut.
pub(super) fn describe(
    request: &WebhookRequest<'_>,
    location: &Location,
    headers: &HeaderMap,
) -> SentRequest {
    let is_custom = |name: &str| {
        let mut custom = request.headers.keys();
        custom.any(|custom| custom.eq_ignore_ascii_case(name))
    };
    let mask = |name: &str| match name {
        "x-service-signature" => Some(format!("sha256={MASK}")),
        "webhook-signature" => Some(format!("v1,{MASK}")),
        name => is_custom(name).then(|| MASK.to_owned()),
    };
    let body = &request.body;
    SentRequest {
        url: request.url.to_owned(),
        // `record` appends the HTTP version, which depends on the connection.
        line: format!("POST {} ", location.path),
        headers: fields(headers, usize::MAX, mask),
        body: body[..body.floor_char_boundary(BODY_BYTES_MAX)].to_owned(),
        body_bytes: body.len() as u64,
    }
}

/// As many headers as fit into `bytes_max`, as text. `mask` returns the text that replaces a secret
/// value.
fn fields(
    headers: &HeaderMap,
    bytes_max: usize,
    mask: impl Fn(&str) -> Option<String>,
) -> Vec<HeaderField> {
    let mut left = bytes_max;
    let mut fields = Vec::new();
    for (name, value) in headers {
        let name = name.as_str();
        let value =
            mask(name).unwrap_or_else(|| String::from_utf8_lossy(value.as_bytes()).into_owned());
        match left.checked_sub(name.len() + value.len()) {
            Some(rest) => left = rest,
            None => break,
        }
        let name = name.to_owned();
        fields.push(HeaderField { name, value });
    }
    fields
}

/// Milliseconds, rounded to one decimal place.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}
