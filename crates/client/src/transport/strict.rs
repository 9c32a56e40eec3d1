//! Streams that refuse ambiguous HTTP/1.1 answers, before the HTTP library reads them.

use std::{
    error::Error,
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use svc_protocol::http_answer::{AnswerCheck, AnswerError, RequestKind};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection to an HTTP/1.1 server. Reading fails with an [`AnswerError`] if an answer is
/// ambiguous.
pub struct StrictStream<S> {
    stream: S,
    check: AnswerCheck,
    /// Found behind complete answers, which are read first.
    refused: Option<AnswerError>,
}

impl<S> StrictStream<S> {
    /// All requests of the connection must be of this kind.
    pub fn new(stream: S, request: RequestKind) -> Self {
        Self {
            stream,
            check: AnswerCheck::new(request),
            refused: None,
        }
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

impl<S: AsyncRead + Unpin> AsyncRead for StrictStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let invalid = |error| Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        if let Some(error) = &self.refused {
            return invalid(error.clone());
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let Err(refused) = self.check.check(&buffer.filled()[before..]) else {
            return Poll::Ready(Ok(()));
        };
        if refused.valid == 0 {
            return invalid(refused.error);
        }
        // Whether the bytes of two answers arrive together must not matter.
        buffer.set_filled(before + refused.valid);
        self.refused = Some(refused.error);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StrictStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
