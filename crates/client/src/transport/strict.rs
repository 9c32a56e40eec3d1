//! Streams that refuse ambiguous HTTP/1.1 answers, before the HTTP library reads them.

use std::{error::Error, io};

use svc_protocol::http_answer::{AnswerCheck, AnswerError, RequestKind};
use tokio::io::ReadBuf;

use super::filter::{FilteredStream, ReadFilter};

/// A connection to an HTTP/1.1 server. Reading fails with an [`AnswerError`] if an answer is
/// ambiguous.
pub type StrictStream<S> = FilteredStream<S, AnswerFilter>;

pub struct AnswerFilter {
    check: AnswerCheck,
    /// Found behind complete answers, which are read first.
    refused: Option<AnswerError>,
}

impl<S> StrictStream<S> {
    /// All requests of the connection must be of this kind.
    pub fn new(stream: S, request: RequestKind) -> Self {
        let filter = AnswerFilter {
            check: AnswerCheck::new(request),
            refused: None,
        };
        Self::with_filter(stream, filter)
    }
}

/// Why the answer was refused, if an error of the HTTP library comes from [`StrictStream`].
pub fn find_answer_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e AnswerError> {
    let mut errors = std::iter::successors(Some(error), |&error| error.source());
    errors.find_map(|error| {
        // The source of an `io::Error` is not the error inside of it, but the source of that error.
        let inner = error.downcast_ref::<io::Error>()?.get_ref()?;
        inner.downcast_ref()
    })
}

impl ReadFilter for AnswerFilter {
    fn before_read(&mut self) -> io::Result<()> {
        self.refused
            .clone()
            .map_or(Ok(()), |error| Err(invalid(error)))
    }

    fn check(&mut self, buffer: &mut ReadBuf<'_>, before: usize) -> io::Result<()> {
        let Err(refused) = self.check.check(&buffer.filled()[before..]) else {
            return Ok(());
        };
        if refused.valid == 0 {
            return Err(invalid(refused.error));
        }
        // Whether the bytes of two answers arrive together must not matter.
        buffer.set_filled(before + refused.valid);
        self.refused = Some(refused.error);
        Ok(())
    }
}

fn invalid(error: AnswerError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
