//! Title and annotations: the name that clients show for a tool, and hints about its effects.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The maximum number of characters of a title.
pub const TITLE_MAX: usize = 256;

/// Hints of the publisher about the effects of a tool. Without a hint, nothing is known about that
/// effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Annotations {
    /// The tool changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// The tool may delete or overwrite something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// A second call with the same arguments changes nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// The tool reaches systems beyond its own, such as the web.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

impl Annotations {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The known hints, such as `read_only, not destructive`; empty if nothing is known.
impl fmt::Display for Annotations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hints = [
            ("read_only", self.read_only),
            ("destructive", self.destructive),
            ("idempotent", self.idempotent),
            ("open_world", self.open_world),
        ];
        let known = hints
            .into_iter()
            .filter_map(|(name, hint)| hint.map(|is_so| (name, is_so)));
        for (index, (name, is_so)) in known.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let not = if is_so { "" } else { "not " };
            write!(f, "{comma}{not}{name}")?;
        }
        Ok(())
    }
}

/// Checks a title. The error is the reason why the title is rejected.
pub fn check_title(title: &str) -> Result<(), String> {
    let length = title.chars().count();
    if title.trim().is_empty() {
        Err("the title is empty; omit it instead".to_owned())
    } else if length > TITLE_MAX {
        Err(format!(
            "the title has {length} characters; at most {TITLE_MAX} are allowed"
        ))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_hints_are_shown_and_written() {
        let check = |annotations: Annotations, shown: &str, json: &str| {
            assert_eq!(annotations.to_string(), shown);
            assert_eq!(serde_json::to_string(&annotations).expect("JSON"), json);
        };
        check(Annotations::default(), "", "{}");
        let known = Annotations {
            read_only: Some(false),
            idempotent: Some(true),
            ..Annotations::default()
        };
        let json = r#"{"read_only":false,"idempotent":true}"#;
        check(known, "not read_only, idempotent", json);
    }

    #[test]
    fn annotations_are_empty_only_if_no_hint_is_known() {
        assert!(Annotations::default().is_empty());
        for hints in [
            r#"{"read_only": false}"#,
            r#"{"destructive": false}"#,
            r#"{"idempotent": true}"#,
            r#"{"open_world": true}"#,
        ] {
            let annotations: Annotations = serde_json::from_str(hints).expect("valid");
            assert!(!annotations.is_empty(), "{hints}");
        }
    }

    #[test]
    fn a_title_has_1_to_256_characters() {
        for character in ["x", "ß", "語", "🙂"] {
            assert_eq!(check_title(&character.repeat(TITLE_MAX)), Ok(()));
            let error = check_title(&character.repeat(TITLE_MAX + 1)).expect_err("too long");
            assert_eq!(
                error,
                "the title has 257 characters; at most 256 are allowed"
            );
        }
        for wrong in ["", " "] {
            assert!(check_title(wrong).is_err(), "{wrong}");
        }
    }
}
