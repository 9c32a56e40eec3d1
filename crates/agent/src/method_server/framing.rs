//! Reads a child's output line by line, with a limit on the size of a line.
//!
//! A line over the limit is discarded while it is read: memory never holds more of it than the
//! limit and one read. Reading continues after the next line break.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Buffer space reserved for one read.
const READ_BYTES: usize = 64 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub enum ChildLine {
    /// Without its line break.
    Whole(Bytes),
    /// A discarded line of this many bytes.
    TooLong(usize),
}

pub struct LineReader<R> {
    source: R,
    buffer: BytesMut,
    /// Bytes at the front of `buffer` that hold no line break.
    searched: usize,
    /// Bytes discarded from a line that is too long.
    discarded: Option<usize>,
    line_bytes_max: usize,
    at_end: bool,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(source: R, line_bytes_max: usize) -> Self {
        Self {
            source,
            buffer: BytesMut::new(),
            searched: 0,
            discarded: None,
            line_bytes_max,
            at_end: false,
        }
    }

    /// The next line; `None` at the end. Text after the last line break is a line too.
    pub async fn next(&mut self) -> io::Result<Option<ChildLine>> {
        loop {
            if let Some(line) = self.take_buffered() {
                return Ok(Some(line));
            }
            if self.at_end {
                return Ok(None);
            }
            self.buffer.reserve(READ_BYTES);
            self.at_end = self.source.read_buf(&mut self.buffer).await? == 0;
        }
    }

    fn take_buffered(&mut self) -> Option<ChildLine> {
        match memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            Some(at) => {
                let mut line = self.buffer.split_to(self.searched + at + 1);
                self.searched = 0;
                line.truncate(line.len() - 1);
                Some(self.finish(line.freeze()))
            }
            None if self.at_end => self.take_rest(),
            None => {
                self.searched = self.buffer.len();
                if self.discarded.is_some() || self.searched > self.line_bytes_max {
                    *self.discarded.get_or_insert(0) += self.searched;
                    // A new buffer: the old buffer may have grown to more than the limit.
                    self.buffer = BytesMut::new();
                    self.searched = 0;
                }
                None
            }
        }
    }

    fn take_rest(&mut self) -> Option<ChildLine> {
        self.searched = 0;
        if self.buffer.is_empty() && self.discarded.is_none() {
            return None;
        }
        let rest = self.buffer.split().freeze();
        Some(self.finish(rest))
    }

    fn finish(&mut self, line: Bytes) -> ChildLine {
        match self.discarded.take() {
            Some(discarded) => ChildLine::TooLong(discarded + line.len()),
            None if line.len() > self.line_bytes_max => ChildLine::TooLong(line.len()),
            None => ChildLine::Whole(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, prop, prop_assert_eq, proptest};
    use tokio::io::{AsyncWriteExt, duplex};

    use super::*;

    /// Reads all lines of an input that arrives in pieces of `piece` bytes.
    fn read(input: &[u8], piece: usize, max: usize) -> Vec<ChildLine> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let (mut writer, reader) = duplex(piece.max(1));
            let input = input.to_vec();
            let writing = tokio::spawn(async move { writer.write_all(&input).await });
            let mut lines = LineReader::new(reader, max);
            let mut out = Vec::new();
            while let Some(line) = lines.next().await.expect("reads") {
                out.push(line);
            }
            writing.await.expect("ends").expect("writes");
            out
        })
    }

    fn whole(text: &str) -> ChildLine {
        ChildLine::Whole(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn lines_end_at_line_breaks_and_at_the_end() {
        assert_eq!(
            read(b"a\n\nbc\nrest", 2, 10),
            [whole("a"), whole(""), whole("bc"), whole("rest")]
        );
        assert_eq!(read(b"", 1, 10), []);
    }

    #[test]
    fn reading_continues_after_a_line_that_is_too_long() {
        for piece in [1, 3, 64, 100_000] {
            let mut input = b"ok\n".to_vec();
            input.extend(std::iter::repeat_n(b'x', 5_000));
            input.extend(b"\nnext\n");
            assert_eq!(
                read(&input, piece, 100),
                [whole("ok"), ChildLine::TooLong(5_000), whole("next")],
                "{piece}"
            );
            assert_eq!(
                read(&vec![b'x'; 5_000], piece, 100),
                [ChildLine::TooLong(5_000)]
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn lines_do_not_depend_on_how_the_input_is_split(
            input in prop::collection::vec(prop::sample::select(b"ab\n".to_vec()), 0..200),
            piece in 1usize..50,
            max in 1usize..20,
        ) {
            prop_assert_eq!(read(&input, piece, max), read(&input, 10_000, max));
        }
    }
}
