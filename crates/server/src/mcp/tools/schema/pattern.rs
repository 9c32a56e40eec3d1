//! Recognises regular expressions that common engines accept and read in the same way.

/// The kind of the last element before the current position of an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Previous {
    /// Something that a quantifier can repeat.
    Atom,
    Quantifier,
    /// The start of an alternative, or an assertion such as `^`: nothing to repeat.
    Nothing,
}

/// Whether common engines accept a regular expression and read it in the same way. Accepts only
/// common classes, escapes of special punctuation, plain groups and single quantifiers, because
/// some engines reject unknown escapes. Engines may still differ about the characters that `\d`,
/// `\w`, `\s` and `$` match.
pub fn is_portable_pattern(pattern: &str) -> bool {
    let mut rest = pattern.chars();
    let mut in_class = false;
    let mut open_groups = 0_usize;
    let mut previous = Previous::Nothing;
    while let Some(character) = rest.next() {
        previous = match character {
            '\\' => match rest.next() {
                Some(escaped) if r"dDwWsStnr.\/()[]{}^$|?*+".contains(escaped) => Previous::Atom,
                Some('b' | 'B') if !in_class => Previous::Nothing,
                Some('-') if in_class => Previous::Atom,
                _ => return false,
            },
            // These characters begin set operations in some engines.
            '[' | '&' | '~' if in_class => return false,
            '-' if in_class && rest.as_str().starts_with('-') => return false,
            ']' if in_class => {
                in_class = false;
                Previous::Atom
            }
            _ if in_class => Previous::Atom,
            '[' => {
                in_class = true;
                Previous::Atom
            }
            '(' => {
                if rest.as_str().starts_with("?:") {
                    rest.nth(1);
                }
                open_groups += 1;
                Previous::Nothing
            }
            ')' if open_groups > 0 => {
                open_groups -= 1;
                Previous::Atom
            }
            '|' | '^' | '$' => Previous::Nothing,
            '*' | '+' | '?' | '{' => {
                let length = quantifier_length(character, rest.as_str());
                let (Some(length), Previous::Atom) = (length, previous) else {
                    return false;
                };
                rest = rest.as_str()[length..].chars();
                Previous::Quantifier
            }
            ')' | ']' | '}' => return false,
            _ => Previous::Atom,
        };
    }
    !in_class && open_groups == 0
}

/// The number of bytes of a quantifier after its first character, including the `?` of a lazy
/// quantifier. `None` if its bounds are invalid.
fn quantifier_length(first: char, rest: &str) -> Option<usize> {
    let bounds = if first == '{' {
        bounds_length(rest)?
    } else {
        0
    };
    let is_lazy = rest[bounds..].starts_with('?');
    Some(bounds + usize::from(is_lazy))
}

/// The length of `2}`, `2,}` or `2,3}`.
fn bounds_length(rest: &str) -> Option<usize> {
    let (bounds, _) = rest.split_once('}')?;
    let number = |digits: &str| {
        let are_digits = digits.chars().all(|c| c.is_ascii_digit());
        let value: Option<u32> = digits.parse().ok();
        value.filter(|_| are_digits)
    };
    let is_valid = match bounds.split_once(',') {
        None => number(bounds).is_some(),
        Some((least, "")) => number(least).is_some(),
        Some((least, most)) => number(least)? <= number(most)?,
    };
    is_valid.then_some(bounds.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_patterns_that_all_engines_share_are_portable() {
        for good in [
            "^a+$",
            r"\d{4}-\d{2}",
            "[a-z_.-]+",
            "(?:a|b)?",
            r"\/\.",
            "^[^@]+@[^@]+$",
            "a+?b*?c??d{2}?e{2,}f{2,3}?",
            "(a*)*",
            "[a*+{]+",
            r"\**",
            "",
        ] {
            assert!(is_portable_pattern(good), "{good}");
        }
        for bad in [
            r"\-",
            r"\z",
            r"\p{L}",
            "(?i)a",
            "(?<=a)b",
            "[[:alpha:]]",
            "a{",
            "a{,3}",
            "[a",
            "}",
            r"\_",
            "[a&&b]",
            "[a--b]",
            // Not every engine accepts these, and in some engines `a++` never backtracks.
            "a**",
            "a++",
            "a?*",
            "a+??",
            "x{2}{3}",
            "x{2}+",
            "^*",
            "$+",
            r"\b+",
            "*a",
            "(+a)",
            "a|?",
            "(?:*)",
            "a{1,2,3}",
            "a{3,2}",
            "a{99999999999999999999}",
            "(a",
            "a)",
        ] {
            assert!(!is_portable_pattern(bad), "{bad}");
        }
    }
}
