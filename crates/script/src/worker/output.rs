//! What a script prints, on its way to the parent: in whole lines or large pieces, and only so
//! much of it that a flood costs nothing.

use super::protocol::FromWorker;
use crate::Stream;

/// Bytes one run may print, each message counted with what it costs to send.
pub(super) const OUTPUT_BYTES_MAX: usize = 1024 * 1024;
/// Text that waits for the end of its line at most.
const PIECE_BYTES_MAX: usize = 4 * 1024;
/// What a message costs beyond its text.
const MESSAGE_BYTES: usize = 128;
/// Said once, where the output was cut.
const CUT: &str = "\n[further output is not shown]\n";

/// The output of one run.
#[derive(Debug)]
pub(super) struct Output {
    stream: Stream,
    waiting: String,
    left: usize,
    cut: bool,
}

impl Output {
    pub(super) fn new() -> Self {
        Self {
            stream: Stream::Stdout,
            waiting: String::new(),
            left: OUTPUT_BYTES_MAX,
            cut: false,
        }
    }

    /// Takes a text; what is to be sent now comes back.
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
        let whole = self.cut || text.ends_with('\n') || self.waiting.len() >= PIECE_BYTES_MAX;
        [before, if whole { self.take() } else { None }]
    }

    /// What waits, to be sent now.
    #[must_use]
    pub(super) fn take(&mut self) -> Option<FromWorker> {
        if self.waiting.is_empty() {
            return None;
        }
        let text = std::mem::take(&mut self.waiting);
        self.left = self.left.saturating_sub(text.len() + MESSAGE_BYTES);
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
    fn lines_go_whole_and_streams_keep_their_order() {
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
    fn a_flood_is_cut_once_and_then_costs_nothing() {
        for piece in ["\n".to_owned(), "é".repeat(OUTPUT_BYTES_MAX)] {
            let mut output = Output::new();
            let mut sent = Vec::new();
            for _ in 0..20_000 {
                sent.extend(texts(output.print(Stream::Stdout, &piece)));
            }
            assert!(sent.len() < OUTPUT_BYTES_MAX / MESSAGE_BYTES + 2);
            let all: String = sent.into_iter().map(|(_, text)| text).collect();
            assert!(all.len() <= OUTPUT_BYTES_MAX + CUT.len());
            assert!(all.ends_with(CUT));
            assert_eq!(all.matches(CUT.trim()).count(), 1);
        }
    }
}
