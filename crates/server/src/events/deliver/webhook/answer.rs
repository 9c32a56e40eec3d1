//! The answer of a receiver: reads it, keeps its start, and decides whether the event was delivered.

use http::{Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;

/// Bytes of an answer that are read; a longer answer is a failure.
const READ_BYTES_MAX: usize = 1024 * 1024;

/// An answer, filled while it is read.
#[derive(Default)]
pub(super) struct WebhookAnswer {
    pub(super) status: Option<StatusCode>,
    body: Vec<u8>,
}

impl WebhookAnswer {
    /// Reads the answer to its end and keeps its first `bytes_max` bytes. An answer of more than
    /// [`READ_BYTES_MAX`] is a failure and not read to its end.
    pub(super) async fn read(
        &mut self,
        response: Response<Incoming>,
        bytes_max: usize,
    ) -> Result<(), String> {
        self.status = Some(response.status());
        let mut body = response.into_body();
        let mut read = 0;
        loop {
            let Some(frame) = body.frame().await else {
                return Ok(());
            };
            let frame = frame.map_err(|error| {
                format!("the answer broke off: {}", super::innermost_cause(&error))
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
            status: None,
            body: vec![0xff; 10],
        };
        assert_eq!(
            answer.excerpt(10).as_deref(),
            Some("\u{fffd}\u{fffd}\u{fffd}")
        );
    }
}
