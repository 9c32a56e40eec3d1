//! The columns that a text takes on a terminal.
//!
//! A Japanese character or an emoji takes two columns, a combining character none. So the number of
//! characters of a text is not its width.

use unicode_width::UnicodeWidthStr;

/// The number of columns of a text that is one line without control characters.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text with spaces at its end, so that it takes at least this number of columns.
pub fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

/// The text, or its beginning and `…` if it takes more than this number of columns. A combining
/// character stays with the character before it.
pub fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    // The ends of all characters. A longer beginning takes as many columns as a shorter one, or more.
    let ends: Vec<usize> = text
        .char_indices()
        .map(|(start, character)| start + character.len_utf8())
        .collect();
    let fitting = ends.partition_point(|&end| width(&text[..end]) < columns);
    let end = fitting.checked_sub(1).map_or(0, |last| ends[last]);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILY: &str = "👩\u{200d}👩\u{200d}👧";

    #[test]
    fn wide_characters_take_two_columns_and_combining_characters_none() {
        for (text, expected) in [
            ("", 0),
            ("lab", 3),
            ("büro", 4),
            // The same word with a combining diaeresis.
            ("bu\u{308}ro", 4),
            ("研究室", 6),
            ("ｶﾞ", 2),
            ("🚀", 2),
            // Several characters that are shown as one emoji.
            (FAMILY, 2),
            ("a\u{200b}b", 2),
        ] {
            assert_eq!(width(text), expected, "{text}");
        }
    }

    #[test]
    fn a_cut_text_never_takes_more_columns() {
        for (text, columns, expected) in [
            ("研究室", 6, "研究室"),
            ("研究室", 5, "研究…"),
            ("研究室", 4, "研…"),
            ("研究室", 1, "…"),
            ("研究室", 0, ""),
            ("bu\u{308}ro", 4, "bu\u{308}ro"),
            ("bu\u{308}ro", 3, "bu\u{308}…"),
            ("a👩\u{200d}👩\u{200d}👧bc", 4, "a👩\u{200d}👩\u{200d}👧…"),
            ("a👩\u{200d}👩\u{200d}👧bc", 3, "a…"),
        ] {
            assert_eq!(cut(text, columns), expected, "{text} in {columns}");
            assert!(width(&cut(text, columns)) <= columns, "{text} in {columns}");
        }
    }

    #[test]
    fn a_padded_text_takes_all_columns() {
        for text in ["lab", "研究室", "bu\u{308}ro", FAMILY] {
            assert_eq!(width(&padded(text, 8)), 8, "{text}");
        }
        assert_eq!(padded("研究室", 4), "研究室");
    }
}
