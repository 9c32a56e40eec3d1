//! Checks the bytes of HTTP/1.1 answers before the HTTP library reads them.
//!
//! The library accepts a bare LF as the end of a line, white space after the size of a chunk, and
//! `Content-Length` beside `Transfer-Encoding`. A proxy may read such bytes differently, and would then
//! find another answer in them, such as an answer to the next request (response smuggling). The
//! library has no setting for this, so the check finds the heads and the bodies itself, and refuses
//! every answer that two programs can read differently.

mod head;

use memchr::memchr;
use thiserror::Error;

use self::head::{Head, check_header, parse_size};

/// The maximum number of bytes of all chunk extensions of an answer. No program needs them.
pub const EXTENSION_BYTES_MAX: usize = 4 * 1024;
/// The maximum number of digits of the size of a chunk, with zeros at its start.
const SIZE_BYTES_MAX: usize = 32;
/// The maximum number of bytes of a line. The library limits whole heads, so this limit matters only
/// for a library without a limit.
const LINE_BYTES_MAX: usize = 512 * 1024;

/// Why an answer is refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum AnswerError {
    #[error("it does not begin with a status line such as `HTTP/1.1 200 OK`")]
    StatusLine,
    #[error("a line ends with LF alone; lines must end with CR LF")]
    BareLf,
    #[error("a line contains CR that is not followed by LF")]
    BareCr,
    #[error("a line has more than {LINE_BYTES_MAX} bytes")]
    LongLine,
    #[error("a header continues on the next line")]
    FoldedHeader,
    #[error("the line `{0}` is not a header such as `name: value`")]
    NoHeader(String),
    #[error("the header `{0}` has white space before its colon")]
    SpaceBeforeColon(String),
    #[error("`Content-Length: {0}` is not a number of bytes")]
    Length(String),
    #[error("it has two different values of `Content-Length`: {0} and {1}")]
    TwoLengths(u64, u64),
    #[error("`Transfer-Encoding: {0}` is not supported; only `chunked`, once and in HTTP/1.1, is")]
    TransferEncoding(String),
    #[error("it has both `Content-Length` and `Transfer-Encoding`")]
    LengthAndEncoding,
    #[error("the chunk size `{0}` is not a hexadecimal number")]
    ChunkSize(String),
    #[error("the chunk size `{0}` has white space")]
    SpaceInChunkSize(String),
    #[error("its chunk extensions have more than {EXTENSION_BYTES_MAX} bytes")]
    Extensions,
    #[error("a chunk has more bytes than its size says")]
    LongChunk,
}

/// An answer that is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    pub error: AnswerError,
    /// How many of the checked bytes belong to complete answers before the refused answer.
    pub valid: usize,
}

/// What the request means for the body of its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RequestKind {
    #[default]
    Usual,
    /// The answer has no body.
    Head,
    /// After a success, the connection is a tunnel.
    Connect,
}

/// The check of one connection. Its requests are all of one kind, and are sent one after the other.
#[derive(Debug)]
pub struct AnswerCheck {
    request: RequestKind,
    next: Next,
    /// The beginning of a line of which the end has not arrived.
    line: Vec<u8>,
    head: Head,
    extension_bytes: usize,
}

/// The meaning of the next bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    StatusLine,
    Header,
    /// So many bytes of a body.
    Body(u64),
    ChunkSize,
    /// So many bytes of a chunk.
    Chunk(u64),
    ChunkEnd,
    Trailer,
    /// Not checked: a body that ends with the connection, or another protocol.
    Unchecked,
}

impl AnswerCheck {
    pub fn new(request: RequestKind) -> Self {
        Self {
            request,
            next: Next::StatusLine,
            line: Vec::new(),
            head: Head::default(),
            extension_bytes: 0,
        }
    }

    /// Checks the next bytes of the connection. After an error, no further bytes can be checked.
    pub fn check(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        let (mut rest, mut valid) = (bytes, 0);
        while !rest.is_empty() {
            let advanced = self.advance(rest);
            rest = advanced.map_err(|error| Refused { error, valid })?;
            if self.next == Next::StatusLine && self.line.is_empty() {
                valid = bytes.len() - rest.len();
            }
        }
        Ok(())
    }

    /// Checks one line, or bytes of a body. Returns the rest of the bytes.
    fn advance<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], AnswerError> {
        match self.next {
            Next::Unchecked => Ok(&[]),
            Next::Body(left) => {
                let (rest, left) = skip(bytes, left);
                self.next = match left {
                    0 => Next::StatusLine,
                    left => Next::Body(left),
                };
                Ok(rest)
            }
            Next::Chunk(left) => {
                let (rest, left) = skip(bytes, left);
                self.next = match left {
                    0 => Next::ChunkEnd,
                    left => Next::Chunk(left),
                };
                Ok(rest)
            }
            _ => {
                let Some(end) = memchr(b'\n', bytes) else {
                    self.hold(bytes)?;
                    return Ok(&[]);
                };
                let (line, rest) = bytes.split_at(end + 1);
                match std::mem::take(&mut self.line) {
                    held if held.is_empty() => self.read_line(line)?,
                    held => self.read_line(&[&held, line].concat())?,
                }
                Ok(rest)
            }
        }
    }

    /// Keeps the beginning of a line, if it can be the beginning of a valid line.
    fn hold(&mut self, bytes: &[u8]) -> Result<(), AnswerError> {
        // The last held byte may be a CR whose LF should have followed.
        let unchecked = self.line.len().saturating_sub(1);
        self.line.extend_from_slice(bytes);
        let before_last = &self.line[unchecked..self.line.len() - 1];
        if memchr(b'\r', before_last).is_some() {
            return Err(AnswerError::BareCr);
        }
        if self.next == Next::ChunkEnd && self.line != b"\r" {
            return Err(AnswerError::LongChunk);
        }
        self.check_length(self.line.strip_suffix(b"\r").unwrap_or(&self.line))
    }

    /// Checks the length of a line, or of its beginning.
    fn check_length(&self, text: &[u8]) -> Result<(), AnswerError> {
        let (bytes_max, error) = match self.next {
            Next::ChunkSize => (
                SIZE_BYTES_MAX + EXTENSION_BYTES_MAX,
                AnswerError::Extensions,
            ),
            _ => (LINE_BYTES_MAX, AnswerError::LongLine),
        };
        match text.len() <= bytes_max {
            true => Ok(()),
            false => Err(error),
        }
    }

    fn read_line(&mut self, line: &[u8]) -> Result<(), AnswerError> {
        let text = line.strip_suffix(b"\r\n").ok_or(AnswerError::BareLf)?;
        if memchr(b'\r', text).is_some() {
            return Err(AnswerError::BareCr);
        }
        self.check_length(text)?;
        self.next = match self.next {
            Next::StatusLine => {
                self.head = Head::parse(text)?;
                Next::Header
            }
            Next::Header if text.is_empty() => self.after_head()?,
            Next::Header => {
                self.head.read_header(text)?;
                Next::Header
            }
            Next::ChunkSize => self.read_chunk_size(text)?,
            Next::ChunkEnd if text.is_empty() => Next::ChunkSize,
            Next::ChunkEnd => return Err(AnswerError::LongChunk),
            Next::Trailer if text.is_empty() => Next::StatusLine,
            Next::Trailer => {
                check_header(text)?;
                Next::Trailer
            }
            not_a_line @ (Next::Body(_) | Next::Chunk(_) | Next::Unchecked) => not_a_line,
        };
        Ok(())
    }

    fn after_head(&mut self) -> Result<Next, AnswerError> {
        self.extension_bytes = 0;
        let head = &self.head;
        let is_tunnel = self.request == RequestKind::Connect && head.status / 100 == 2;
        if head.status == 101 || is_tunnel {
            return Ok(Next::Unchecked);
        }
        let has_body = !matches!(head.status, 100..=199 | 204 | 304);
        Ok(match (head.is_chunked, head.length) {
            (true, Some(_)) => return Err(AnswerError::LengthAndEncoding),
            _ if !has_body || self.request == RequestKind::Head => Next::StatusLine,
            (true, None) => Next::ChunkSize,
            (false, Some(0)) => Next::StatusLine,
            (false, Some(length)) => Next::Body(length),
            (false, None) => Next::Unchecked,
        })
    }

    fn read_chunk_size(&mut self, line: &[u8]) -> Result<Next, AnswerError> {
        let (size, extensions) = line.split_at(memchr(b';', line).unwrap_or(line.len()));
        self.extension_bytes += extensions.len();
        if self.extension_bytes > EXTENSION_BYTES_MAX {
            return Err(AnswerError::Extensions);
        }
        Ok(match parse_size(size)? {
            0 => Next::Trailer,
            size => Next::Chunk(size),
        })
    }
}

/// Skips up to `count` bytes. Returns the rest of the bytes, and how many bytes are still to skip.
fn skip(bytes: &[u8], count: u64) -> (&[u8], u64) {
    let skipped = usize::try_from(count).map_or(bytes.len(), |count| count.min(bytes.len()));
    (&bytes[skipped..], count - skipped as u64)
}

#[cfg(test)]
mod tests;
