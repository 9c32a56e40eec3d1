//! Reads many bytes at a time into a buffer that all links of a thread share, so that an idle link
//! needs no large buffer of its own.

use std::{
    cell::RefCell,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The maximum size of one read.
const BUFFER_BYTES: usize = 64 * 1024;

thread_local! {
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; BUFFER_BYTES].into_boxed_slice());
}

/// A connection that is read through the shared buffer.
pub struct SharedBuffer<S> {
    io: S,
    /// Bytes that were read from the connection and not yet returned.
    unread: Bytes,
}

impl<S> SharedBuffer<S> {
    pub fn new(io: S) -> Self {
        let unread = Bytes::new();
        Self { io, unread }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for SharedBuffer<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        wanted: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.unread.is_empty() {
            let length = this.unread.len().min(wanted.remaining());
            wanted.put_slice(&this.unread[..length]);
            this.unread.advance(length);
            if this.unread.is_empty() {
                // Free the memory: `advance` would keep it.
                this.unread = Bytes::new();
            }
            return Poll::Ready(Ok(()));
        }
        BUFFER.with_borrow_mut(|buffer| {
            let mut buffer = ReadBuf::new(buffer);
            ready!(Pin::new(&mut this.io).poll_read(context, &mut buffer))?;
            let length = buffer.filled().len().min(wanted.remaining());
            let (now, later) = buffer.filled().split_at(length);
            wanted.put_slice(now);
            // At the end of the stream nothing was added to `wanted`, so the caller sees the end.
            this.unread = Bytes::copy_from_slice(later);
            Poll::Ready(Ok(()))
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for SharedBuffer<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn all_bytes_arrive_in_order_for_reads_of_every_size() {
        let sent: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
        let (mut writing, reading) = tokio::io::duplex(150_000);
        let mut other = SharedBuffer::new(tokio::io::empty());
        let mut reading = SharedBuffer::new(reading);
        let all = sent.clone();
        tokio::spawn(async move { writing.write_all(&all).await });
        let mut got = Vec::new();
        for wanted in (1..2_000).cycle() {
            let mut part = vec![0; wanted];
            let length = reading.read(&mut part).await.expect("a pipe is read");
            if length == 0 {
                break;
            }
            got.extend_from_slice(&part[..length]);
            // Reads of another link on this thread do not change the bytes of this link.
            assert_eq!(other.read(&mut part).await.expect("nothing to read"), 0);
        }
        assert!(got == sent, "{} of {} bytes", got.len(), sent.len());
    }
}
