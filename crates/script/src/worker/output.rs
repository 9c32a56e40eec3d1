//! Collects a script's output into messages for the parent: whole lines or large pieces, up to a
//! limit.

use super::protocol::FromWorker;
use crate::Stream;

/// The maximum size of the output of one run.
pub(super) const OUTPUT_BYTES_MAX: usize = 1024 * 1024;
/// Text of at least this size is sent, even if its line is not finished.
const PIECE_BYTES_MAX: usize = 4 * 1024;
/// Up to this number of messages in one run, each line is sent at once. Later lines are collected
/// into pieces, so that a million short lines are not a million messages.
const MESSAGES_FREE: usize = 8 * 1024;
/// After the first [`MESSAGES_FREE`] messages, every message below [`PIECE_BYTES_MAX`] counts this
/// many additional bytes toward the limit. Output that alternates between the streams cannot be
/// collected: without the additional bytes, each of its bytes could be a message.
const MESSAGE_BYTES: usize = 128;
/// Printed once, where the output was cut.
const CUT: &str = "\n[further output is not shown]\n";

/// The output of one run.
#[derive(Debug)]
pub(super) struct Output {
    stream: Stream,
    waiting: String,
    left: usize,
    /// The number of further messages for which [`MESSAGE_BYTES`] is not counted.
    free: usize,
    cut: bool,
}

impl Output {
    pub(super) fn new() -> Self {
        Self {
            stream: Stream::Stdout,
            waiting: String::new(),
            left: OUTPUT_BYTES_MAX,
            free: MESSAGES_FREE,
            cut: false,
        }
    }

    /// Adds a text. Returns the messages to send now.
    #[must_use]
    pub(super) fn print(&mut self, stream: Stream, text: &str) -> [Option<FromWorker>; 2] {
        if self.cut {
            return [None, None];
        }
        let before = if stream == self.stream {
            None
        } else {
            self.take()
        };
        self.stream = stream;
        let room = self.left.saturating_sub(self.waiting.len());
        self.cut = text.len() > room;
        if self.cut {
            let part = &text[..text.floor_char_boundary(room)];
            self.waiting.push_str(part);
            self.waiting.push_str(CUT);
        } else {
            self.waiting.push_str(text);
        }
        let is_line = self.free > 0 && text.ends_with('\n');
        let whole = self.cut || is_line || self.waiting.len() >= PIECE_BYTES_MAX;
        [before, if whole { self.take() } else { None }]
    }

    /// Returns the waiting text as a message.
    #[must_use]
    pub(super) fn take(&mut self) -> Option<FromWorker> {
        if self.waiting.is_empty() {
            return None;
        }
        let text = std::mem::take(&mut self.waiting);
        let extra = if self.free > 0 || text.len() >= PIECE_BYTES_MAX {
            0
        } else {
            MESSAGE_BYTES
        };
        self.free = self.free.saturating_sub(1);
        self.left = self.left.saturating_sub(text.len() + extra);
        Some(FromWorker::Print {
            stream: self.stream,
            text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(messages: impl IntoIterator<Item = Option<FromWorker>>) -> Vec<(Stream, String)> {
        let print = |message| match message {
            FromWorker::Print { stream, text } => (stream, text),
            other => panic!("{other:?}"),
        };
        messages.into_iter().flatten().map(print).collect()
    }

    #[test]
    fn lines_are_sent_whole_and_streams_keep_their_order() {
        let mut output = Output::new();
        assert_eq!(texts(output.print(Stream::Stdout, "a")), []);
        assert_eq!(
            texts(output.print(Stream::Stdout, "b\n")),
            [(Stream::Stdout, "ab\n".to_owned())]
        );
        assert_eq!(texts(output.print(Stream::Stdout, "c")), []);
        assert_eq!(
            texts(output.print(Stream::Stderr, "d\n")),
            [
                (Stream::Stdout, "c".to_owned()),
                (Stream::Stderr, "d\n".to_owned())
            ]
        );
        assert_eq!(texts([output.take()]), []);
        let long = "x".repeat(PIECE_BYTES_MAX);
        assert_eq!(texts(output.print(Stream::Stderr, &long)).len(), 1);
    }

    #[test]
    fn lines_of_any_length_are_kept_up_to_the_limit() {
        for line in ["\n", "ten bytes\n"] {
            let mut output = Output::new();
            let mut sent = Vec::new();
            for _ in 0..OUTPUT_BYTES_MAX / line.len() {
                sent.extend(texts(output.print(Stream::Stdout, line)));
            }
            sent.extend(texts([output.take()]));
            let all: String = sent.into_iter().map(|(_, text)| text).collect();
            assert!(!all.contains(CUT.trim()), "{line:?}: {} bytes", all.len());
            assert!(all.len() > OUTPUT_BYTES_MAX - line.len(), "{line:?}");
        }
    }

    #[test]
    fn output_over_the_limit_is_cut_once_and_then_sends_no_messages() {
        use Stream::{Stderr, Stdout};
        for (piece, second) in [
            ("\n".to_owned(), Stdout),
            ("é".repeat(OUTPUT_BYTES_MAX), Stdout),
            ("\n".to_owned(), Stderr),
        ] {
            let mut output = Output::new();
            let mut sent = Vec::new();
            for _ in 0..OUTPUT_BYTES_MAX {
                sent.extend(texts(output.print(Stdout, &piece)));
                sent.extend(texts(output.print(second, &piece)));
            }
            assert!(sent.len() < MESSAGES_FREE + OUTPUT_BYTES_MAX / MESSAGE_BYTES + 2);
            let all: String = sent.into_iter().map(|(_, text)| text).collect();
            assert!(all.len() <= OUTPUT_BYTES_MAX + CUT.len());
            assert!(all.ends_with(CUT));
            assert_eq!(all.matches(CUT.trim()).count(), 1);
        }
    }
}
