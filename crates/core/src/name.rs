//! Names of users, spaces, methods and MCP tools, and their rules.

use std::{borrow::Borrow, fmt, ops::Deref};

use serde::{Deserialize, Deserializer, Serialize, de};
use thiserror::Error;

use crate::fixed_schema::fixed_schema;

pub const USER_NAME_MAX: usize = 20;
pub const SPACE_NAME_MAX: usize = 32;
/// Longest name of a group, a sink or another record that is not a user, a space or a method. These
/// names are never part of a method name, so they may be longer and have more kinds of characters.
pub const LABEL_MAX: usize = 64;
/// Longest canonical name, with `{{space}}` expanded.
pub const CANONICAL_NAME_MAX: usize = 128;
/// Longest MCP tool name that is accepted.
pub const TOOL_NAME_MAX: usize = 128;
/// Longest tool name without a warning: common clients allow 64, their own prefix included.
pub const TOOL_NAME_ADVISED: usize = 48;

/// Placeholder in a method name for the name of its space.
const SPACE_PLACEHOLDER: &str = "{{space}}";

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    #[error("{kind} name is empty")]
    Empty { kind: &'static str },
    #[error("{kind} name `{name}` has {length} characters; at most {max} are allowed")]
    TooLong {
        kind: &'static str,
        name: String,
        length: usize,
        max: usize,
    },
    #[error(
        "{kind} name `{name}` may hold only lower-case letters, digits and single hyphens between them"
    )]
    NotALabel { kind: &'static str, name: String },
    #[error(
        "{kind} name `{name}` may hold only letters, digits, `.`, `_`, `-`, `@`, and blanks between them"
    )]
    NotFree { kind: &'static str, name: String },
    #[error("space name `{0}` is reserved")]
    Reserved(String),
    #[error(
        "method name `{0}` must be segments of letters, digits, `_` or `-` joined by single dots"
    )]
    NotCanonical(String),
    #[error("method name `{0}` begins with `rpc.`, which JSON-RPC reserves")]
    RpcPrefix(String),
    #[error(
        "method name `{0}` begins with `user.`, which is reserved for shared methods of other users"
    )]
    UserPrefix(String),
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }
    };
}

name_type! {
    /// A user's name. It never changes. It has no dot or underscore, so that
    /// `user.<owner>.<method>` and `user_<owner>_<tool>` are unambiguous.
    UserName
}
name_type! {
    /// A space's name. It is unique per owner and never changes.
    SpaceName
}
name_type! {
    /// A method's published name, with `{{space}}` expanded.
    CanonicalName
}

/// What [`check_label`] accepts, as a regular expression.
const LABEL_PATTERN: &str = "^[a-z0-9]+(-[a-z0-9]+)*$";

fixed_schema!(UserName as "UserName", inline: false, {
    "type": "string", "minLength": 1, "maxLength": USER_NAME_MAX,
    "pattern": LABEL_PATTERN, "examples": ["ann"],
});

fixed_schema!(SpaceName as "SpaceName", inline: false, {
    "type": "string", "minLength": 1, "maxLength": SPACE_NAME_MAX,
    "pattern": LABEL_PATTERN, "not": {"enum": RESERVED_SPACE_NAMES}, "examples": ["notes"],
});

/// A name that [`check_free_name`] accepts. This type exists only for its JSON Schema.
pub struct FreeName;

fixed_schema!(FreeName as "Name", inline: false, {
    "description": "Letters and digits of any script, `.`, `_`, `-`, `@`, and blanks between them",
    "type": "string", "minLength": 1, "maxLength": LABEL_MAX, "examples": ["backup"],
});

/// Names that no space may have: with them, `{{space}}.x.y` would expand to a reserved method name.
const RESERVED_SPACE_NAMES: [&str; 2] = ["user", "rpc"];

impl UserName {
    pub fn parse(name: &str) -> Result<Self, NameError> {
        check_label("user", name, USER_NAME_MAX)?;
        Ok(Self(name.to_owned()))
    }
}

impl SpaceName {
    pub fn parse(name: &str) -> Result<Self, NameError> {
        check_label("space", name, SPACE_NAME_MAX)?;
        if RESERVED_SPACE_NAMES.contains(&name) {
            return Err(NameError::Reserved(name.to_owned()));
        }
        Ok(Self(name.to_owned()))
    }
}

impl CanonicalName {
    /// Checks a name in which `{{space}}` has been expanded.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        check_length("method", name, CANONICAL_NAME_MAX)?;
        if !name.split('.').all(is_segment) {
            return Err(NameError::NotCanonical(name.to_owned()));
        }
        if name.starts_with("rpc.") {
            return Err(NameError::RpcPrefix(name.to_owned()));
        }
        if name.starts_with("user.") && name.split('.').count() >= 3 {
            return Err(NameError::UserPrefix(name.to_owned()));
        }
        Ok(Self(name.to_owned()))
    }

    /// Expands `{{space}}` and checks the result.
    pub fn expand(template: &str, space: &SpaceName) -> Result<Self, NameError> {
        Self::parse(&template.replace(SPACE_PLACEHOLDER, space))
    }

    /// The MCP tool name that the method's owner sees (spec 4.1).
    pub fn tool_name(&self) -> String {
        tool_name(&self.0)
    }
}

/// The MCP tool name of a visible name: every dot becomes an underscore (spec 4.1).
pub fn tool_name(visible: &str) -> String {
    visible.replace('.', "_")
}

/// Checks the name of a group, a sink or another record that is not a user, a space or a method.
/// Letters of every alphabet are allowed.
pub fn check_free_name(kind: &'static str, name: &str) -> Result<(), NameError> {
    check_length(kind, name, LABEL_MAX)?;
    let inner = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | ' ');
    if name.trim() != name || !name.chars().all(inner) {
        return Err(NameError::NotFree {
            kind,
            name: name.to_owned(),
        });
    }
    Ok(())
}

fn check_label(kind: &'static str, name: &str, max: usize) -> Result<(), NameError> {
    check_length(kind, name, max)?;
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.chars().all(allowed)
        || name.starts_with('-')
        || name.ends_with('-')
        || name.contains("--")
    {
        return Err(NameError::NotALabel {
            kind,
            name: name.to_owned(),
        });
    }
    Ok(())
}

fn check_length(kind: &'static str, name: &str, max: usize) -> Result<(), NameError> {
    let length = name.chars().count();
    if length == 0 {
        return Err(NameError::Empty { kind });
    }
    if length > max {
        let name = name.chars().take(max).collect::<String>() + "…";
        return Err(NameError::TooLong {
            kind,
            name,
            length,
            max,
        });
    }
    Ok(())
}

/// Whether a text can be one segment of a method name or of an event type.
pub(crate) fn is_segment(segment: &str) -> bool {
    !segment.is_empty()
        && segment
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_are_labels_of_at_most_20_characters() {
        for good in ["a", "ann", "a1-b2", "x".repeat(20).as_str()] {
            assert!(UserName::parse(good).is_ok(), "{good}");
        }
        let long = "x".repeat(21);
        for bad in [
            "",
            "Ann",
            "a.b",
            "a_b",
            "-a",
            "a-",
            "a--b",
            "é",
            long.as_str(),
        ] {
            assert!(UserName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn space_names_are_labels_of_at_most_32_characters_and_never_reserved() {
        assert!(SpaceName::parse(&"x".repeat(32)).is_ok());
        for bad in ["user", "rpc", "", "My-Space"] {
            assert!(SpaceName::parse(bad).is_err(), "{bad}");
        }
        assert!(SpaceName::parse(&"x".repeat(33)).is_err());
    }

    #[test]
    fn free_names_hold_letters_of_every_alphabet_and_blanks_only_between_them() {
        let longest = "ß".repeat(64);
        for good in ["a", "Ops 2", "a.b_c-d@e", "команда", "東京", &longest] {
            assert_eq!(check_free_name("group", good), Ok(()), "{good}");
        }
        for bad in [" ops", "ops ", " ", "a/b", "a\tb", "a\nb", "a,b", "a🙂"] {
            let name = bad.to_owned();
            let kind = "group";
            let expected = Err(NameError::NotFree { kind, name });
            assert_eq!(check_free_name("group", bad), expected, "{bad:?}");
        }
        let message = |name: &str| check_free_name("sink", name).expect_err(name).to_string();
        assert_eq!(message(""), "sink name is empty");
        assert_eq!(
            message(&"ß".repeat(65)),
            format!("sink name `{longest}…` has 65 characters; at most 64 are allowed")
        );
    }

    #[test]
    fn s2_1_canonical_names_are_dotted_segments() {
        for good in [
            "search",
            "notes.search",
            "a.b.c",
            "user.x",
            "User-1_x.y",
            "user",
            "rpc",
        ] {
            assert!(CanonicalName::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            ".",
            "a.",
            ".a",
            "a..b",
            "a b",
            "rpc.discover",
            "user.ann.x",
            "user.a.b.c",
            "ä",
        ] {
            assert!(CanonicalName::parse(bad).is_err(), "{bad}");
        }
        assert!(CanonicalName::parse(&"x".repeat(128)).is_ok());
        assert!(CanonicalName::parse(&"x".repeat(129)).is_err());
    }

    #[test]
    fn s2_1_the_space_placeholder_becomes_the_space_name() {
        let space = SpaceName::parse("lab-1").expect("valid");
        let check = |template, expected: &str| {
            assert_eq!(
                CanonicalName::expand(template, &space)
                    .expect("valid")
                    .as_str(),
                expected
            );
        };
        check("{{space}}.search", "lab-1.search");
        check("x.{{space}}.{{space}}", "x.lab-1.lab-1");
        assert!(CanonicalName::expand("{{spac}}.x", &space).is_err());
    }

    #[test]
    fn s4_1_tool_names_replace_each_dot() {
        assert_eq!(
            CanonicalName::parse("a.b.c").expect("valid").tool_name(),
            "a_b_c"
        );
        assert_eq!(tool_name("user.ann.a.b"), "user_ann_a_b");
    }
}
