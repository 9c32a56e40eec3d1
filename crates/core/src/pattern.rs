//! Event patterns and event types (spec 6.3).

use std::fmt;

use serde::{Serialize, Serializer};
use thiserror::Error;

use crate::name::is_segment;

/// Longest event type that can be emitted, and longest pattern, in characters.
pub const EVENT_TYPE_MAX: usize = 128;
/// What [`is_event_type`] accepts, as a regular expression. It does not limit the length.
pub const EVENT_TYPE_PATTERN: &str = r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$";

/// One pattern: everything, a prefix, or one exact type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Pattern {
    Prefix(String),
    Exact(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PatternError {
    #[error("pattern {entry} is empty")]
    Empty { entry: usize },
    #[error(
        "pattern `{pattern}` has a `*` at character {at}; a `*` is allowed only once, at the end"
    )]
    Wildcard { pattern: String, at: usize },
    #[error(
        "pattern `{pattern}` has `{found}` at character {at}; allowed are letters, digits, `_`, `-`, `.` and a final `*`"
    )]
    Character {
        pattern: String,
        found: char,
        at: usize,
    },
    #[error("pattern `{pattern}` has {length} characters; at most {EVENT_TYPE_MAX} are allowed")]
    TooLong { pattern: String, length: usize },
}

impl Pattern {
    /// Parses one pattern. `entry` is its position in the list, from 1, for error messages.
    pub fn parse(text: &str, entry: usize) -> Result<Self, PatternError> {
        let pattern = text.trim();
        if pattern.is_empty() {
            return Err(PatternError::Empty { entry });
        }
        let length = pattern.chars().count();
        if length > EVENT_TYPE_MAX {
            let pattern = pattern.chars().take(40).collect::<String>() + "…";
            return Err(PatternError::TooLong { pattern, length });
        }
        for (index, found) in pattern.chars().enumerate() {
            let at = index + 1;
            if found == '*' && at < length {
                return Err(PatternError::Wildcard {
                    pattern: pattern.to_owned(),
                    at,
                });
            }
            if !(found.is_ascii_alphanumeric() || matches!(found, '_' | '-' | '.' | '*')) {
                return Err(PatternError::Character {
                    pattern: pattern.to_owned(),
                    found,
                    at,
                });
            }
        }
        Ok(match pattern.strip_suffix('*') {
            Some(prefix) => Self::Prefix(prefix.to_owned()),
            None => Self::Exact(pattern.to_owned()),
        })
    }

    /// Parses a comma-separated list; white space around entries is ignored.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, PatternError> {
        text.split(',')
            .enumerate()
            .map(|(index, entry)| Self::parse(entry, index + 1))
            .collect()
    }

    pub fn matches(&self, event_type: &str) -> bool {
        match self {
            Self::Prefix(prefix) => event_type.starts_with(prefix.as_str()),
            Self::Exact(exact) => event_type == exact,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
            Self::Exact(exact) => f.write_str(exact),
        }
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Whether an event of this type can be emitted.
pub fn is_event_type(text: &str) -> bool {
    (1..=EVENT_TYPE_MAX).contains(&text.len()) && text.split('.').all(is_segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_3_patterns_match_exactly_or_by_prefix() {
        let check = |pattern, event_type, expected| {
            let pattern = Pattern::parse(pattern, 1).expect("valid pattern");
            assert_eq!(
                pattern.matches(event_type),
                expected,
                "{pattern} {event_type}"
            );
        };
        check("*", "anything.at.all", true);
        check("space.*", "space.created", true);
        check("space.*", "spaceship.landed", false);
        check("space.*", "space", false);
        check("custom.app.*", "custom.app.a.b", true);
        check("custom.app*", "custom.apples", true);
        check("space.created", "space.created", true);
        check("space.created", "space.created.x", false);
    }

    #[test]
    fn s6_3_s9_invalid_patterns_are_refused_with_their_position() {
        let check = |text, expected: &str| {
            assert_eq!(
                Pattern::parse_list(text).expect_err(text).to_string(),
                expected
            );
        };
        check("", "pattern 1 is empty");
        check("space.*, ,x", "pattern 2 is empty");
        check(
            "*.created",
            "pattern `*.created` has a `*` at character 1; a `*` is allowed only once, at the end",
        );
        check(
            "a, b.*.c",
            "pattern `b.*.c` has a `*` at character 3; a `*` is allowed only once, at the end",
        );
        check(
            "a**",
            "pattern `a**` has a `*` at character 2; a `*` is allowed only once, at the end",
        );
        check(
            "a b",
            "pattern `a b` has ` ` at character 2; allowed are letters, digits, `_`, `-`, `.` and a final `*`",
        );
    }

    #[test]
    fn s6_3_patterns_have_at_most_128_characters() {
        let exact = "a".repeat(128);
        assert_eq!(Pattern::parse(&exact, 1), Ok(Pattern::Exact(exact.clone())));
        let prefix = "a".repeat(127);
        assert_eq!(
            Pattern::parse(&format!("{prefix}*"), 1),
            Ok(Pattern::Prefix(prefix))
        );
        assert_eq!(
            Pattern::parse(&format!("{exact}a"), 1),
            Err(PatternError::TooLong {
                pattern: format!("{}…", "a".repeat(40)),
                length: 129,
            })
        );
        let characters = "é".repeat(128);
        assert_eq!(
            Pattern::parse(&characters, 1),
            Err(PatternError::Character {
                pattern: characters.clone(),
                found: 'é',
                at: 1,
            }),
            "the limit counts characters, not bytes"
        );
    }

    #[test]
    fn s6_3_pattern_lists_are_trimmed() {
        let list = Pattern::parse_list(" space.* ,\tcustom.x ").expect("valid");
        assert_eq!(
            list.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["space.*", "custom.x"]
        );
        assert_eq!(
            serde_json::to_string(&list).expect("JSON"),
            r#"["space.*","custom.x"]"#
        );
    }

    #[test]
    fn s6_2_event_types_are_dotted_segments() {
        for good in ["build.done", "a", "A-1_b.c", &"x".repeat(128)] {
            assert!(is_event_type(good), "{good}");
        }
        for bad in ["", ".", "a..b", "a b", "a*", &"x".repeat(129)] {
            assert!(!is_event_type(bad), "{bad}");
        }
    }
}
