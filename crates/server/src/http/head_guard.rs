//! Rejects HTTP/1 request heads in which a line ends with a bare LF.
//!
//! The HTTP library accepts a bare LF as the end of a line. A proxy in front of the server may not,
//! and would then see other headers in the same bytes (request smuggling). The library has no
//! setting for this, so the guard checks the bytes first, while the connection waits for a head: it
//! replaces a bare LF by a byte that is invalid in a head, and the library answers 400.
//!
//! Not covered: a pipelined request after a body that is chunked or arrived in several reads.

use std::{io, sync::Arc};

use svc_client::transport::{FilteredStream, ReadFilter};
use svc_protocol::http_head::{Tail, find_in_head, has_bare_lf};
use tokio::io::ReadBuf;

use super::connections::Slot;

/// The first bytes of every HTTP/2 connection.
const HTTP2_START: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// A byte that is not allowed in a head.
const INVALID: u8 = 0;

pub struct HeadGuard {
    slot: Arc<Slot>,
    /// How many bytes of `HTTP2_START` the connection began with.
    http2_seen: usize,
    protocol: Protocol,
    /// The number of complete heads at the last check. If it has changed, a new head begins.
    heads: u64,
    /// The bytes of the first read of the current head, if there were at most [`FIRST_READ`].
    first: [u8; FIRST_READ],
    first_len: usize,
    /// Whether bytes of the current head were read that are not in `first`.
    has_more: bool,
    /// The last bytes of the current head.
    tail: Tail,
}

/// Bytes of the library's first read, with which it distinguishes HTTP/1 from HTTP/2.
const FIRST_READ: usize = 24;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Unknown,
    Http1,
    Http2,
}

impl HeadGuard {
    /// The stream, guarded.
    pub fn around<S>(stream: S, slot: Arc<Slot>) -> FilteredStream<S, Self> {
        FilteredStream::with_filter(stream, Self::new(slot))
    }

    fn new(slot: Arc<Slot>) -> Self {
        Self {
            slot,
            http2_seen: 0,
            protocol: Protocol::Unknown,
            heads: 0,
            first: [0; FIRST_READ],
            first_len: 0,
            has_more: false,
            tail: Tail::default(),
        }
    }

    fn check_bytes(&mut self, bytes: &mut [u8]) {
        if self.protocol == Protocol::Unknown {
            self.recognise(bytes);
        }
        if self.protocol == Protocol::Http2 {
            return;
        }
        if !self.slot.awaits_head() {
            return;
        }
        let heads = self.slot.heads();
        if heads != self.heads {
            self.heads = heads;
            self.first_len = 0;
            self.has_more = false;
            self.tail = Tail::default();
        }
        if has_bare_lf(self.tail[2], bytes)
            && let Some(at) = self.find_bare_lf(bytes)
        {
            bytes[at] = INVALID;
        }
        if self.first_len == 0 && !self.has_more && bytes.len() <= FIRST_READ {
            self.first[..bytes.len()].copy_from_slice(bytes);
            self.first_len = bytes.len();
        } else {
            self.has_more = true;
        }
        for &byte in &bytes[bytes.len().saturating_sub(self.tail.len())..] {
            self.tail = [self.tail[1], self.tail[2], byte];
        }
    }

    fn find_bare_lf(&self, bytes: &[u8]) -> Option<usize> {
        if self.has_more {
            return find_in_head(self.tail, None, bytes);
        }
        let head = [&self.first[..self.first_len], bytes].concat();
        let found = find_in_head(Tail::default(), Some(0), &head)?;
        found.checked_sub(self.first_len)
    }

    fn recognise(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte != HTTP2_START[self.http2_seen] {
                self.protocol = Protocol::Http1;
                return;
            }
            self.http2_seen += 1;
            if self.http2_seen == HTTP2_START.len() {
                self.protocol = Protocol::Http2;
                return;
            }
        }
    }
}

impl ReadFilter for HeadGuard {
    fn check(&mut self, buffer: &mut ReadBuf<'_>, before: usize) -> io::Result<()> {
        self.check_bytes(&mut buffer.filled_mut()[before..]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::connections::testing::admit_one;

    /// Whether the guard changes none of these reads. The connection waits for a head.
    async fn is_unchanged(reads: &[&str]) -> bool {
        let registration = admit_one().await;
        let mut guard = HeadGuard::new(Arc::clone(registration.slot()));
        let check = |read: &&str| {
            let mut bytes = read.as_bytes().to_vec();
            guard.check_bytes(&mut bytes);
            bytes == read.as_bytes()
        };
        reads
            .iter()
            .map(check)
            .fold(true, |all, unchanged| all & unchanged)
    }

    #[tokio::test]
    async fn only_a_bare_lf_in_a_head_is_replaced() {
        for (reads, expected) in [
            (&["GET / HTTP/1.1\r\nHost: a\r\n\r\n"][..], true),
            (&["GET / HTTP/1.1\nHost: a\n\n"], false),
            (&["GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"], false),
            (&["GET / HTTP/1.1\r\nHost: a\r\n\n"], false),
            (&["\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"], false),
            // Split between CR and LF, and within the end of the head.
            (&["GET / HTTP/1.1\r", "\nHost: a\r\n", "\r\n"], true),
            (
                &["POST / HTTP/1.1\r\ncontent-length: 2\r\n", "\r\n\n\n"],
                true,
            ),
            (&["GET / HTTP/1.1", "\nHost: a\r\n\r\n"], false),
            (
                &[
                    "POST / HTTP/1.1\r\ncontent-length: 3\r\n",
                    "X: y\r\n\r\n{\n}",
                ],
                true,
            ),
            (
                &["POST / HTTP/1.1\r\nconten", "t-length: 3\r\n\r\n{\n}"],
                true,
            ),
            (
                &[
                    "POST / HTTP/1.1\r\nconten",
                    "t-length: 3\r\n\r\n{\n}GET / HTTP/1.1\n\n",
                ],
                false,
            ),
            (
                &["GET / HTTP/1.1", "\r\nA: b\r\n\r\nGET / HTTP/1.1\n\n"],
                false,
            ),
            // A body may contain a bare LF.
            (&["POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n{\n}"], true),
            (&["POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n{\n}"], true),
            (
                &["POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{\n"],
                true,
            ),
            // A pipelined request.
            (
                &["POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n{\n}GET / HTTP/1.1\r\n\r\n"],
                true,
            ),
            (
                &["POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n{\n}GET / HTTP/1.1\n\n"],
                false,
            ),
            (&["GET / HTTP/1.1\r\nA: b\r\n\r\nGET / HTTP/1.1\n\n"], false),
            // HTTP/2 has no lines.
            (&["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\n\n\n"], true),
            (&["P", "RI * HTTP/2.0\r\n\r\nSM\r\n\r\n\n"], true),
            (&["P", "OST / HTTP/1.1\n"], false),
            (&["PRIX / HTTP/1.1\n"], false),
            (&["PRI * HTTP/2.0\r\n\r\n", "GET / HTTP/1.1\n"], false),
        ] {
            assert_eq!(is_unchanged(reads).await, expected, "{reads:?}");
        }
    }

    #[tokio::test]
    async fn bytes_are_not_checked_while_a_request_is_in_progress() {
        let registration = admit_one().await;
        registration.slot().note_busy();
        let mut guard = HeadGuard::new(Arc::clone(registration.slot()));
        let mut bytes = b"G\n".to_vec();
        guard.check_bytes(&mut bytes);
        assert_eq!(bytes, b"G\n");
    }
}
