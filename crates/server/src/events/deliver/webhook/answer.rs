//! Decides from the answer of a receiver whether the event was delivered, and when to try again.

use std::time::{Duration, UNIX_EPOCH};

use http::{HeaderMap, StatusCode, header::RETRY_AFTER};
use svc_core::{Timestamp, delivery_policy::WAIT_LIMIT};

/// Decides from a complete answer whether the event was delivered.
pub(super) fn judge(status: Option<StatusCode>) -> Result<(), String> {
    let status = status.ok_or("there is no answer")?;
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
pub(super) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
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
pub(super) fn excerpt(body: &[u8], bytes_max: usize) -> Option<String> {
    if body.is_empty() {
        return None;
    }
    let mut text = String::from_utf8_lossy(body).replace('\0', "\u{fffd}");
    // The replacement character is longer than the byte that it replaces.
    text.truncate(text.floor_char_boundary(bytes_max));
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_never_longer_than_allowed() {
        assert_eq!(excerpt(&[], 10), None);
        assert_eq!(
            excerpt(&[0xff; 10], 10).as_deref(),
            Some("\u{fffd}\u{fffd}\u{fffd}")
        );
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_at_most_seven_days() {
        let wait = |value: &'static str| {
            let value = value.parse().expect("a header value");
            let headers = HeaderMap::from_iter([(RETRY_AFTER, value)]);
            let now = Timestamp::parse("2026-11-16T07:00:00Z").expect("a time");
            retry_after(&headers, now).map(|wait| wait.as_secs())
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
