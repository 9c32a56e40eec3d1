//! A stream that checks the bytes it receives. The bytes that it sends pass unchanged.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Sees the bytes of a connection before the HTTP library reads them.
pub trait ReadFilter: Unpin {
    /// Called before each read. After an error, the connection has no more bytes.
    fn before_read(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Checks the bytes that one read has added to `buffer`: those from `before` on.
    fn check(&mut self, buffer: &mut ReadBuf<'_>, before: usize) -> io::Result<()>;
}

pub struct FilteredStream<S, F> {
    stream: S,
    filter: F,
}

impl<S, F> FilteredStream<S, F> {
    pub fn with_filter(stream: S, filter: F) -> Self {
        Self { stream, filter }
    }
}

impl<S: AsyncRead + Unpin, F: ReadFilter> AsyncRead for FilteredStream<S, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.filter.before_read()?;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.filter.check(buffer, before))
    }
}

impl<S: AsyncWrite + Unpin, F: Unpin> AsyncWrite for FilteredStream<S, F> {
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
