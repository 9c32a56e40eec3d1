//! Headers of a request: the custom headers of a sink, then the headers that the service sets.

use std::collections::BTreeMap;

use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONNECTION, HOST, USER_AGENT},
};
use svc_outbound::Location;
use svc_protocol::api::WebhookFormat;
use thiserror::Error;

use super::{
    WebhookRequest,
    format::{ATTRIBUTE_PREFIX, headers_of},
    signature,
};
use crate::traces::put_trace;

/// The maximum number of custom headers of a sink.
const HEADERS_MAX: usize = 20;
const NAME_BYTES_MAX: usize = 128;
const VALUE_BYTES_MAX: usize = 4_096;
/// Headers that a sink may not set: the service sets them, or they describe the connection or the
/// encoding of the body.
const RESERVED: [&str; 13] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];
const RESERVED_PREFIXES: [&str; 3] = ["proxy-", "webhook-", "x-service-"];

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HeaderError {
    #[error("{0} headers; at most {HEADERS_MAX} are allowed")]
    TooMany(usize),
    #[error("`{0}` is not a header name of at most {NAME_BYTES_MAX} bytes")]
    Name(String),
    #[error("header `{0}` is reserved; choose another name")]
    Reserved(String),
    #[error("header `{0}` is given twice")]
    Twice(String),
    /// Does not show the value, which may be a secret.
    #[error(
        "the value of header `{0}` must be printable ASCII of at most {VALUE_BYTES_MAX} characters"
    )]
    Value(String),
}

/// Checks the custom headers of a sink.
pub fn check_headers(
    headers: &BTreeMap<String, String>,
    format: WebhookFormat,
) -> Result<(), HeaderError> {
    if headers.len() > HEADERS_MAX {
        return Err(HeaderError::TooMany(headers.len()));
    }
    let custom = parse_custom(headers)?;
    // A receiver of CloudEvents reads any header with this prefix as an attribute of the event.
    let attribute = custom
        .keys()
        .find(|name| name.as_str().starts_with(ATTRIBUTE_PREFIX));
    match attribute {
        Some(name) if !format.is_default() => Err(HeaderError::Reserved(name.to_string())),
        _ => Ok(()),
    }
}

fn parse_custom(headers: &BTreeMap<String, String>) -> Result<HeaderMap, HeaderError> {
    let mut map = HeaderMap::new();
    for (given, value) in headers {
        let name = HeaderName::from_bytes(given.as_bytes())
            .ok()
            .filter(|name| name.as_str().len() <= NAME_BYTES_MAX)
            .ok_or_else(|| HeaderError::Name(given.chars().take(NAME_BYTES_MAX).collect()))?;
        if is_reserved(name.as_str()) {
            return Err(HeaderError::Reserved(given.clone()));
        }
        let value = HeaderValue::from_str(value)
            .ok()
            // `from_str` accepts non-ASCII bytes, which receivers interpret in different ways.
            .filter(|value| value.len() <= VALUE_BYTES_MAX && value.to_str().is_ok())
            .ok_or_else(|| HeaderError::Value(given.clone()))?;
        if map.insert(name, value).is_some() {
            return Err(HeaderError::Twice(given.clone()));
        }
    }
    Ok(map)
}

fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
        || RESERVED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
}

/// The headers of one request. The service's headers are set last, so that they replace custom
/// ones.
pub(super) fn request_headers(
    location: &Location,
    WebhookRequest {
        headers,
        format,
        body,
        event,
        secrets,
        now,
        lane,
        ..
    }: &WebhookRequest<'_>,
) -> Result<HeaderMap, HeaderError> {
    let mut map = parse_custom(headers)?;
    if let Some(trace) = &event.trace {
        put_trace(&mut map, trace);
    }
    let id = event.id.to_string();
    let timestamp = now.0.div_euclid(1_000).to_string();
    let mut set = |name: HeaderName, value: &str| {
        let value =
            HeaderValue::from_str(value).map_err(|_| HeaderError::Value(name.to_string()))?;
        map.insert(name, value);
        Ok(())
    };
    set(HOST, &location.authority)?;
    if lane.is_none() {
        set(CONNECTION, "close")?;
    }
    set(USER_AGENT, concat!("svc/", env!("CARGO_PKG_VERSION")))?;
    let ours = HeaderName::from_static;
    set(ours("x-service-event-id"), &id)?;
    set(ours("x-service-event-type"), &event.r#type)?;
    set(ours("x-service-event-ts"), &event.ts.to_string())?;
    for (name, value) in headers_of(*format, event) {
        let header = HeaderName::try_from(&name).map_err(|_| HeaderError::Name(name))?;
        set(header, &value)?;
    }
    set(ours("webhook-id"), &id)?;
    set(ours("webhook-timestamp"), &timestamp)?;
    if let Some(current) = secrets.first() {
        set(
            ours("x-service-signature"),
            &signature::sign_body(current, body),
        )?;
        let standard = signature::sign_standard(secrets, &id, &timestamp, body);
        set(ours("webhook-signature"), &standard)?;
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, value: &str) -> Result<(), HeaderError> {
        let headers = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        check_headers(&headers, WebhookFormat::Default)
    }

    #[test]
    fn custom_headers_must_be_valid_and_not_reserved() {
        assert_eq!(check("Authorization", "Bearer secret"), Ok(()));
        assert_eq!(check("x-team", "blue"), Ok(()));
        for reserved in [
            "Host",
            "content-length",
            "Content-Type",
            "Transfer-Encoding",
            "connection",
            "TE",
            "trailer",
            "Upgrade",
            "Expect",
            "User-Agent",
            "Proxy-Authorization",
            "X-Service-Signature",
            "X-SERVICE-EVENT-ID",
            "webhook-signature",
            "Webhook-Id",
        ] {
            assert!(
                matches!(check(reserved, "x"), Err(HeaderError::Reserved(_))),
                "{reserved}"
            );
        }
        for bad in ["", "a b", "a:", "ä", &"x".repeat(200)] {
            assert!(
                matches!(check(bad, "x"), Err(HeaderError::Name(_))),
                "{bad}"
            );
        }
        for bad in ["a\r\nHost: x", "a\nb", "\0", "ä", &"x".repeat(5_000)] {
            let error = check("x-a", bad).expect_err("refused");
            assert!(matches!(error, HeaderError::Value(_)), "{error}");
        }
    }

    #[test]
    fn custom_headers_are_limited_and_unique() {
        let many = (0..21).map(|n| (format!("x-{n}"), String::new())).collect();
        let default = WebhookFormat::Default;
        assert_eq!(check_headers(&many, default), Err(HeaderError::TooMany(21)));
        let twice = BTreeMap::from(["X-A", "x-a"].map(|name| (name.to_owned(), String::new())));
        let error = check_headers(&twice, default).expect_err("twice");
        assert!(matches!(error, HeaderError::Twice(_)));
    }

    #[test]
    fn attribute_headers_are_reserved_in_cloudevents_formats() {
        let headers = BTreeMap::from([("Ce-Subject".to_owned(), "x".to_owned())]);
        assert_eq!(check_headers(&headers, WebhookFormat::Default), Ok(()));
        for format in [
            WebhookFormat::CloudeventsStructured,
            WebhookFormat::CloudeventsBinary,
        ] {
            let error = check_headers(&headers, format).expect_err("reserved");
            assert!(matches!(error, HeaderError::Reserved(_)), "{error}");
        }
    }
}
