//! The level of a log line, found in its text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The number of bytes at the beginning of a line that are searched for a level.
const SEARCHED_BYTES: usize = 160;

#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    Trace,
    Debug,
    Info,
    Warning,
    Error,
}

impl LogLevel {
    /// The level that a line names: the first word near its beginning that is a level, as in
    /// `ERROR: no ink`, `[warn] slow` or `{"level":"info"}`. `None` if there is no such word.
    pub fn of(line: &str) -> Option<Self> {
        let searched = &line[..line.floor_char_boundary(SEARCHED_BYTES)];
        let mut words = searched.split(|c: char| !c.is_ascii_alphanumeric());
        words.find_map(Self::of_word)
    }

    fn of_word(word: &str) -> Option<Self> {
        const WORDS: [(&str, LogLevel); 12] = [
            ("trace", LogLevel::Trace),
            ("debug", LogLevel::Debug),
            ("info", LogLevel::Info),
            ("notice", LogLevel::Info),
            ("warn", LogLevel::Warning),
            ("warning", LogLevel::Warning),
            ("error", LogLevel::Error),
            ("err", LogLevel::Error),
            ("fatal", LogLevel::Error),
            ("critical", LogLevel::Error),
            ("panic", LogLevel::Error),
            ("traceback", LogLevel::Error),
        ];
        let found = WORDS
            .iter()
            .find(|(name, _)| word.eq_ignore_ascii_case(name));
        found.map(|(_, level)| *level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_level_near_the_beginning_counts() {
        for (line, expected) in [
            ("ERROR: no ink", Some(LogLevel::Error)),
            (
                "2026-11-17T01:00:00Z  WARN svc_agent: slow",
                Some(LogLevel::Warning),
            ),
            (
                r#"{"ts":1,"level":"info","msg":"an error occurred"}"#,
                Some(LogLevel::Info),
            ),
            ("[debug] error count 0", Some(LogLevel::Debug)),
            ("Traceback (most recent call last):", Some(LogLevel::Error)),
            ("KeyError: 'a'", None),
            ("informal", None),
            ("", None),
        ] {
            assert_eq!(LogLevel::of(line), expected, "{line}");
        }
    }

    #[test]
    fn every_word_for_a_level_is_known() {
        for (words, expected) in [
            (&["trace"][..], LogLevel::Trace),
            (&["debug"], LogLevel::Debug),
            (&["info", "notice"], LogLevel::Info),
            (&["warn", "warning"], LogLevel::Warning),
            (
                &["error", "err", "fatal", "critical", "panic", "traceback"],
                LogLevel::Error,
            ),
        ] {
            for word in words {
                assert_eq!(LogLevel::of(word), Some(expected), "{word}");
                assert_eq!(LogLevel::of(&word.to_uppercase()), Some(expected), "{word}");
            }
        }
    }

    #[test]
    fn only_the_first_160_bytes_are_searched() {
        let found = |bytes_before: usize| {
            let line = format!("{} error", "x".repeat(bytes_before));
            LogLevel::of(&line)
        };
        assert_eq!(found(154), Some(LogLevel::Error));
        assert_eq!(found(155), None);
        let within_a_character = format!("{}é error", "x".repeat(159));
        assert_eq!(LogLevel::of(&within_a_character), None);
    }
}
