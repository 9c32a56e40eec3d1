//! Makes users' text safe for a terminal or a log.

use std::{
    borrow::Cow,
    fmt::{self, Write},
};

/// Whether a terminal or a line reader interprets a character instead of showing it: control
/// characters, line and paragraph separators, marks that change the direction of text, the byte
/// order mark.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
        )
}

/// The maximum number of bytes of a text of a user in a log line. Escaped, the text may be six times as
/// long.
pub const LOGGED_BYTES_MAX: usize = 500;

/// The start of a text that is longer than `bytes_max` with `…`, or the whole text.
pub fn shorten(text: &str, bytes_max: usize) -> Cow<'_, str> {
    match text.len() <= bytes_max {
        true => Cow::Borrowed(text),
        false => format!("{}…", &text[..text.floor_char_boundary(bytes_max)]).into(),
    }
}

/// Writes text with its unsafe characters escaped, as `\n` or `\u{1b}`.
pub struct EscapingWriter<W>(pub W);

impl<W: Write> Write for EscapingWriter<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, found)) = rest.char_indices().find(|(_, it)| is_unsafe(*it)) {
            self.0.write_str(&rest[..at])?;
            write!(self.0, "{}", found.escape_default())?;
            rest = &rest[at + found.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_texts_are_shortened() {
        for (text, expected) in [
            ("", ""),
            ("four", "four"),
            ("fives", "five…"),
            ("abcä", "abc…"),
        ] {
            assert_eq!(shorten(text, 4), expected);
        }
    }

    #[test]
    fn unsafe_characters_are_escaped_and_nothing_else() {
        for (text, expected) in [
            ("", ""),
            ("a\u{2028}b", "a\\u{2028}b"),
            (
                "plain, with ä and 漢 and \"quotes\"",
                "plain, with ä and 漢 and \"quotes\"",
            ),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\u{1b}[31mred\u{7}", "\\u{1b}[31mred\\u{7}"),
            ("\0\u{7f}\u{9b}x", "\\u{0}\\u{7f}\\u{9b}x"),
            (
                "a\u{202e}b\u{2066}c\u{2028}d\u{2029}",
                "a\\u{202e}b\\u{2066}c\\u{2028}d\\u{2029}",
            ),
            ("\u{200f}\u{61c}\u{feff}", "\\u{200f}\\u{61c}\\u{feff}"),
        ] {
            let mut escaped = String::new();
            write!(EscapingWriter(&mut escaped), "{text}").expect("a string takes text");
            assert_eq!(escaped, expected);
        }
    }
}
