//! The answer of a receiver: reads it, keeps its start, and decides whether the event was delivered.

use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderMap, Response, StatusCode, header::RETRY_AFTER};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use svc_client::transport::find_answer_error;
use svc_core::{Timestamp, delivery_policy::WAIT_LIMIT};

/// Limit of the bytes of an answer; a longer answer is a failure.
const READ_BYTES_MAX: usize = 1024 * 1024;

/// An answer, filled while it is read.
#[derive(Default)]
pub(super) struct WebhookAnswer {
    pub(super) status: Option<StatusCode>,
    pub(super) headers: HeaderMap,
    /// From the start of the request to the head of the answer.
    pub(super) first_byte: Option<Duration>,
    body: Vec<u8>,
}

impl WebhookAnswer {
    /// Reads the answer to its end and keeps its first `bytes_max` bytes. Stops with an error after
    /// [`READ_BYTES_MAX`] bytes.
    pub(super) async fn read(
        &mut self,
        response: Response<Incoming>,
        bytes_max: usize,
    ) -> Result<(), String> {
        let (head, mut body) = response.into_parts();
        self.status = Some(head.status);
        self.headers = head.headers;
        let mut read = 0;
        loop {
            let Some(frame) = body.frame().await else {
                return Ok(());
            };
            let frame = frame.map_err(|error| match find_answer_error(&error) {
                Some(refused) => format!("the answer is not valid HTTP/1.1: {refused}"),
                None => format!("the answer broke off: {}", super::innermost_cause(&error)),
            })?;
            if let Some(bytes) = frame.data_ref() {
                read += bytes.len();
                if read > READ_BYTES_MAX {
                    return Err(format!("the answer has more than {READ_BYTES_MAX} bytes"));
                }
                let room = bytes_max - self.body.len();
                self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        }
    }

    /// The start of the body.
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    pub(super) fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// Decides from a complete answer whether the event was delivered.
    pub(super) fn judge(&self) -> Result<(), String> {
        let status = self.status.ok_or("there is no answer")?;
        if status.is_success() {
            Ok(())
        } else if status.is_redirection() {
            Err(format!(
                "the receiver answered {}, a redirect; redirects are never followed, use the final URL",
                status.as_u16()
            ))
        } else {
            Err(format!("the receiver answered {}", status.as_u16()))
        }
    }

    /// The wait that the receiver asks for: seconds, or a date. At most seven days.
    pub(super) fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        let text = self.headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
        let longest = Duration::from_secs(WAIT_LIMIT.into());
        let wait = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            // A number that does not fit into a `u64` is also longer than the longest wait.
            text.parse().map_or(longest, Duration::from_secs)
        } else {
            let until = httpdate::parse_http_date(text).ok()?;
            let now = Duration::from_millis(u64::try_from(now.0).ok()?);
            until.duration_since(UNIX_EPOCH + now).unwrap_or_default()
        };
        Some(wait.min(longest))
    }

    /// The start of the body as text. NUL is replaced, because PostgreSQL does not store it.
    pub(super) fn excerpt(&self, bytes_max: usize) -> Option<String> {
        if self.body.is_empty() {
            return None;
        }
        let mut text = String::from_utf8_lossy(&self.body).replace('\0', "\u{fffd}");
        // The replacement character is longer than the byte that it replaces.
        text.truncate(text.floor_char_boundary(bytes_max));
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_never_longer_than_allowed() {
        assert_eq!(WebhookAnswer::default().excerpt(10), None);
        let answer = WebhookAnswer {
            body: vec![0xff; 10],
            ..WebhookAnswer::default()
        };
        assert_eq!(
            answer.excerpt(10).as_deref(),
            Some("\u{fffd}\u{fffd}\u{fffd}")
        );
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_at_most_seven_days() {
        let wait = |value: &'static str| {
            let mut answer = WebhookAnswer::default();
            answer
                .headers
                .insert(RETRY_AFTER, value.parse().expect("a header value"));
            let now = Timestamp::parse("2026-11-16T07:00:00Z").expect("a time");
            answer.retry_after(now).map(|wait| wait.as_secs())
        };
        let week = Some(7 * 24 * 60 * 60);
        assert_eq!(wait("0"), Some(0));
        assert_eq!(wait(" 120 "), Some(120));
        assert_eq!(wait("604801"), week);
        assert_eq!(wait("99999999999999999999999999"), week);
        assert_eq!(wait("Mon, 16 Nov 2026 07:01:30 GMT"), Some(90));
        assert_eq!(wait("Mon, 16 Nov 2026 06:00:00 GMT"), Some(0));
        assert_eq!(wait("Mon, 16 Nov 2099 06:00:00 GMT"), week);
        for bad in ["", "-1", "1.5", "soon", "+5", "2026-11-16T07:01:30Z"] {
            assert_eq!(wait(bad), None, "{bad}");
        }
    }
}
