//! Syntax of the regular expressions in schemas.

use regex_syntax::{
    Error,
    ast::{ErrorKind, parse::Parser},
};

/// Checks a regular expression's syntax without compiling it: an expression of a few bytes can
/// compile to gigabytes. The parser does not know look-around and back-references. JSON Schema
/// permits them, because it uses the syntax of ECMA 262. After the first of them, the rest of the
/// expression is not checked.
pub(super) fn check(pattern: &str) -> Result<(), &'static str> {
    let error = match Parser::new().parse(pattern).map_err(Error::from) {
        Err(Error::Parse(error)) => error,
        _ => return Ok(()),
    };
    Err(match error.kind() {
        ErrorKind::UnsupportedLookAround | ErrorKind::UnsupportedBackreference => return Ok(()),
        ErrorKind::GroupUnclosed => "a group is not closed; write `\\(` for a parenthesis",
        ErrorKind::GroupUnopened => "`)` closes no group; write `\\)` for a parenthesis",
        ErrorKind::ClassUnclosed => "a character class is not closed; write `\\[` for a bracket",
        ErrorKind::ClassRangeInvalid => "a range of characters ends before it begins",
        ErrorKind::RepetitionMissing => {
            "there is nothing to repeat before `*`, `+`, `?` or `{`; write a `\\` before it for the character itself"
        }
        ErrorKind::RepetitionCountInvalid => "a repetition ends before it begins",
        ErrorKind::RepetitionCountUnclosed | ErrorKind::RepetitionCountDecimalEmpty => {
            "a repetition must be like `{2}`, `{2,}` or `{2,5}`; write `\\{` for a brace"
        }
        ErrorKind::EscapeUnexpectedEof => "it ends with a `\\`; write `\\\\` for a backslash",
        ErrorKind::EscapeUnrecognized => "an escape such as `\\y` does not exist",
        ErrorKind::NestLimitExceeded { .. } => "its groups are nested too deeply",
        _ => "a part of it has no meaning",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_syntax_error_has_its_own_explanation() {
        let group = "a group is not closed; write `\\(` for a parenthesis";
        let nothing = "there is nothing to repeat before `*`, `+`, `?` or `{`; write a `\\` before it for the character itself";
        let repetition =
            "a repetition must be like `{2}`, `{2,}` or `{2,5}`; write `\\{` for a brace";
        let deep = format!("{}a{}", "(".repeat(300), ")".repeat(300));
        for (pattern, reason) in [
            ("(a", group),
            ("a(b|(c)", group),
            ("a)", "`)` closes no group; write `\\)` for a parenthesis"),
            (
                "[a",
                "a character class is not closed; write `\\[` for a bracket",
            ),
            ("[z-a]", "a range of characters ends before it begins"),
            ("*a", nothing),
            ("a|+", nothing),
            ("a{3,2}", "a repetition ends before it begins"),
            ("a{2", repetition),
            ("a{}", repetition),
            ("a\\", "it ends with a `\\`; write `\\\\` for a backslash"),
            ("\\y", "an escape such as `\\y` does not exist"),
            (&deep, "its groups are nested too deeply"),
            ("(?y)a", "a part of it has no meaning"),
        ] {
            assert_eq!(check(pattern), Err(reason), "{pattern}");
        }
    }

    #[test]
    fn look_around_and_back_references_are_permitted() {
        for pattern in [
            "",
            "^[a-z]+$",
            "a{2}b{2,}c{2,5}",
            "(?=a)b",
            "(?!a)b",
            "(?<=a)b",
            "(?<!a)b",
            "(a)\\1",
        ] {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
        }
    }
}
