//! The answer to a request: reads it, and keeps its start.

use std::time::Duration;

use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use svc_client::transport::find_answer_error;

use super::error::{OutboundError, innermost_cause};

/// Limit of the bytes of an answer; a longer answer is a failure.
const READ_BYTES_MAX: usize = 1024 * 1024;

/// An answer, filled while it is read.
#[derive(Default)]
pub struct Answer {
    pub status: Option<StatusCode>,
    pub headers: HeaderMap,
    /// From the start of the request to the head of the answer.
    pub first_byte: Option<Duration>,
    /// The start of the body.
    pub body: Vec<u8>,
}

impl Answer {
    /// Reads the answer to its end and keeps its first `bytes_max` bytes. Stops with an error after
    /// [`READ_BYTES_MAX`] bytes.
    pub(super) async fn read(
        &mut self,
        response: Response<Incoming>,
        bytes_max: usize,
    ) -> Result<(), OutboundError> {
        let (head, mut body) = response.into_parts();
        self.status = Some(head.status);
        self.headers = head.headers;
        let mut read = 0;
        loop {
            let Some(frame) = body.frame().await else {
                return Ok(());
            };
            let frame = frame.map_err(|error| match find_answer_error(&error) {
                Some(refused) => OutboundError::InvalidAnswer(refused.clone()),
                None => OutboundError::BrokenAnswer(innermost_cause(&error)),
            })?;
            if let Some(bytes) = frame.data_ref() {
                read += bytes.len();
                if read > READ_BYTES_MAX {
                    return Err(OutboundError::LongAnswer(READ_BYTES_MAX));
                }
                let room = bytes_max - self.body.len();
                self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        }
    }
}
