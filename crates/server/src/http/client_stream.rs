//! A client's socket and its entry in the table of connections.
//!
//! The entry is kept when a connection becomes an agent's link, so the table always counts the open
//! sockets.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::connections::{PROGRESS_BYTES, Registration, Slot};

/// If the head and the body of an answer have at most this many bytes together, they are copied
/// into one buffer before the write: for the operating system, writing several slices costs more
/// than the copy.
const JOINED_BYTES_MAX: usize = 1_024;

pub struct ClientStream {
    // Dropped in this order: the socket is closed before its entry is released.
    tcp: TcpStream,
    registration: Registration,
    /// A write was blocked, and bytes still wait for the client.
    is_stalled: bool,
    /// The bytes that the client accepted since its last progress.
    accepted: usize,
}

impl ClientStream {
    pub fn new(tcp: TcpStream, registration: Registration) -> Self {
        Self {
            tcp,
            registration,
            is_stalled: false,
            accepted: 0,
        }
    }

    pub fn slot(&self) -> &Arc<Slot> {
        self.registration.slot()
    }

    pub fn set_nodelay(&self) {
        let _ = self.tcp.set_nodelay(true);
    }

    /// Notes a write. Single bytes that a client accepts do not count as progress.
    fn note(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Pending if !self.is_stalled => {
                self.is_stalled = true;
                self.accepted = 0;
                self.slot().note_stalled();
            }
            Poll::Ready(Ok(bytes)) if self.is_stalled => {
                self.accepted += bytes;
                if self.accepted >= PROGRESS_BYTES {
                    self.accepted = 0;
                    self.slot().note_stalled();
                }
            }
            _ => {}
        }
        written
    }

    /// Notes that no bytes wait: a connection flushes only after it has written everything.
    fn note_flushed(&mut self) {
        if self.is_stalled {
            self.is_stalled = false;
            self.slot().note_unstalled();
        }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(context, buffer)
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write(context, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut joined = [0; JOINED_BYTES_MAX];
        let written = match join(slices, &mut joined) {
            Some(bytes) => Pin::new(&mut self.tcp).poll_write(context, bytes),
            None => Pin::new(&mut self.tcp).poll_write_vectored(context, slices),
        };
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.note_flushed();
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}

/// Copies the slices into `joined`; `None` if they do not fit.
fn join<'a>(slices: &[IoSlice<'_>], joined: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut end = 0;
    for slice in slices {
        let start = end;
        end += slice.len();
        joined.get_mut(start..end)?.copy_from_slice(slice);
    }
    Some(&joined[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_slices_are_joined() {
        let mut joined = [0; 8];
        let slices = [b"head".as_slice(), b"", b"body"].map(IoSlice::new);
        assert_eq!(join(&slices, &mut joined), Some(b"headbody".as_slice()));
        let slices = [b"head".as_slice(), b"and body"].map(IoSlice::new);
        assert_eq!(join(&slices, &mut joined), None);
    }
}
