//! The options of traces.

use std::{path::PathBuf, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue};
use thiserror::Error;

#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// The address of an OTLP receiver over HTTP; `None` records nothing.
    pub otlp_url: Option<String>,
    /// The share of traces that are recorded, from 0 to 1.
    pub sample: f64,
    /// The maximum number of calls, emits and attempts per second and user that are recorded only
    /// because the sender of the request records the trace.
    pub parents_per_second: u32,
    /// Headers of each export, such as a credential. Their values are marked as sensitive.
    pub headers: HeaderMap,
    /// Certificate authorities to trust in addition to the machine's own.
    pub ca_file: Option<PathBuf>,
    pub policy: ExportPolicy,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            otlp_url: None,
            sample: 0.01,
            parents_per_second: 10,
            headers: HeaderMap::new(),
            ca_file: None,
            policy: ExportPolicy::default(),
        }
    }
}

/// The limits of the export.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExportPolicy {
    /// The maximum number of spans that wait to be sent.
    pub queue_spans: usize,
    /// The maximum number of spans in one request.
    pub batch_spans: usize,
    /// The time between exports while few spans wait.
    pub interval: Duration,
    /// The time limit of one request.
    pub timeout: Duration,
    /// The wait before the first retry. The wait doubles with each retry, up to `retry_max`.
    pub retry_first: Duration,
    pub retry_max: Duration,
    /// Spans are dropped if their export has failed for this time.
    pub give_up: Duration,
    /// The time limit of all requests together that are sent after the server begins to stop.
    pub last_timeout: Duration,
}

impl Default for ExportPolicy {
    fn default() -> Self {
        Self {
            queue_spans: 8_192,
            batch_spans: 1_024,
            interval: Duration::from_secs(1),
            timeout: Duration::from_secs(10),
            retry_first: Duration::from_secs(1),
            retry_max: Duration::from_secs(16),
            give_up: Duration::from_secs(60),
            last_timeout: Duration::from_secs(2),
        }
    }
}

/// A line that is not a header. The error has only the number of the line, because its text may be
/// a secret.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {0} is not `Name: value`")]
pub struct HeadersError(pub usize);

/// Reads a file of headers: one line `Name: value` for each. Empty lines and lines that begin with
/// `#` are ignored.
pub fn parse_headers(text: &str) -> Result<HeaderMap, HeadersError> {
    let mut headers = HeaderMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let header = line.split_once(':').and_then(|(name, value)| {
            let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
            let mut value = HeaderValue::from_str(value.trim()).ok()?;
            value.set_sensitive(true);
            Some((name, value))
        });
        let (name, value) = header.ok_or(HeadersError(number))?;
        headers.insert(name, value);
    }
    Ok(headers)
}
