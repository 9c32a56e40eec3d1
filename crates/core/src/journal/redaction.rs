//! Replaces secret values in params, results and errors before they are recorded.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::json_text::JsonText;

/// The maximum number of pointers of a method.
pub const POINTERS_MAX: usize = 50;
/// The maximum number of characters of a pointer.
pub const POINTER_MAX: usize = 256;
/// The pointers that are accepted, as a regular expression.
pub const POINTER_PATTERN: &str = "^(/([^/~]|~[01])*)+$";
/// The JSON that is recorded in place of a value.
const REDACTED: &str = r#""[redacted]""#;
/// The step of a pointer that leads to all items of an array.
const ALL_ITEMS: &str = "*";

/// A JSON pointer (RFC 6901) to values that are not recorded. In an array, the step `*` means every
/// item. RFC 6901 gives `*` no meaning for arrays. In an object, `*` is the name of a member.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct JsonPointer(Vec<String>);

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum JsonPointerError {
    #[error("`{0}` must start with `/`, such as `/password` or `/cards/*/number`")]
    NoSlash(String),
    #[error("in `{0}`, `~` must be written as `~0`, and a `/` in a name as `~1`")]
    Escape(String),
    #[error("a pointer has {0} characters; at most {POINTER_MAX} are allowed")]
    TooLong(usize),
}

impl JsonPointer {
    pub fn parse(text: &str) -> Result<Self, JsonPointerError> {
        let length = text.chars().count();
        if length > POINTER_MAX {
            return Err(JsonPointerError::TooLong(length));
        }
        let steps = text.strip_prefix('/');
        let steps = steps.ok_or_else(|| JsonPointerError::NoSlash(text.to_owned()))?;
        let steps = steps.split('/').map(unescape);
        let steps: Option<_> = steps.collect();
        let steps = steps.ok_or_else(|| JsonPointerError::Escape(text.to_owned()))?;
        Ok(Self(steps))
    }
}

/// Decodes `~0` and `~1` in a step of a pointer. `None` if a `~` is not followed by `0` or `1`.
fn unescape(step: &str) -> Option<String> {
    let mut parts = step.split('~');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (character, rest) = match part.split_at_checked(1)? {
            ("0", rest) => ('~', rest),
            ("1", rest) => ('/', rest),
            _ => return None,
        };
        name.push(character);
        name.push_str(rest);
    }
    Some(name)
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            write!(f, "/{}", step.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}

impl Serialize for JsonPointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Replaces the values that the pointers lead to. `None` if the text cannot be parsed.
pub fn redact(text: JsonText, pointers: &[JsonPointer]) -> Option<JsonText> {
    let steps: Vec<&[String]> = pointers
        .iter()
        .map(|pointer| pointer.0.as_slice())
        .collect();
    redact_steps(text, &steps)
}

/// Like [`redact`], but for an error that a method returned. Every pointer applies to the error
/// object and to its `data`.
pub fn redact_error(text: JsonText, pointers: &[JsonPointer]) -> Option<JsonText> {
    let in_data = |pointer: &JsonPointer| {
        let mut steps = vec!["data".to_owned()];
        steps.extend_from_slice(&pointer.0);
        steps
    };
    let in_data: Vec<Vec<String>> = pointers.iter().map(in_data).collect();
    let steps = pointers.iter().map(|pointer| &pointer.0).chain(&in_data);
    let steps: Vec<&[String]> = steps.map(Vec::as_slice).collect();
    redact_steps(text, &steps)
}

fn redact_steps(text: JsonText, pointers: &[&[String]]) -> Option<JsonText> {
    if pointers.is_empty() {
        return Some(text);
    }
    let mut out = String::with_capacity(text.as_str().len());
    write_redacted(text.as_str(), pointers, &mut out).ok()?;
    JsonText::parse(&out).ok()
}

/// Writes a value. `pointers` has the remaining steps of the pointers that lead into it.
fn write_redacted(
    value: &str,
    pointers: &[&[String]],
    out: &mut String,
) -> Result<(), serde_json::Error> {
    if pointers.iter().any(|steps| steps.is_empty()) {
        out.push_str(REDACTED);
        return Ok(());
    }
    if pointers.is_empty() {
        out.push_str(value);
        return Ok(());
    }
    match value.as_bytes().first() {
        Some(b'{') => {
            out.push('{');
            for (index, (name, member)) in members(value)?.into_iter().enumerate() {
                separate(index, out);
                out.push_str(&serde_json::to_string(&name)?);
                out.push(':');
                let inner = step_into(pointers, |step| step == name);
                write_redacted(member.get(), &inner, out)?;
            }
            out.push('}');
        }
        Some(b'[') => {
            out.push('[');
            let items: Vec<&RawValue> = serde_json::from_str(value)?;
            for (index, item) in items.into_iter().enumerate() {
                separate(index, out);
                let position = index.to_string();
                let inner = step_into(pointers, |step| step == position || step == ALL_ITEMS);
                write_redacted(item.get(), &inner, out)?;
            }
            out.push(']');
        }
        _ => out.push_str(value),
    }
    Ok(())
}

fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}

/// The remaining steps of the pointers whose first step leads to a member or item.
fn step_into<'a>(
    pointers: &[&'a [String]],
    leads_there: impl Fn(&str) -> bool,
) -> Vec<&'a [String]> {
    let split = pointers.iter().filter_map(|steps| steps.split_first());
    split
        .filter(|(first, _)| leads_there(first))
        .map(|(_, rest)| rest)
        .collect()
}

/// The members of an object in their order, with their values as text.
fn members(object: &str) -> Result<Vec<(String, &RawValue)>, serde_json::Error> {
    struct Members;

    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }

    serde_json::Deserializer::from_str(object).deserialize_map(Members)
}

impl<'de> Deserialize<'de> for JsonPointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointers(texts: &[&str]) -> Vec<JsonPointer> {
        let parse = |text: &&str| JsonPointer::parse(text).expect("valid");
        texts.iter().map(parse).collect()
    }

    fn check(texts: &[&str], given: &str, expected: &str) {
        let given = JsonText::parse(given).expect("valid");
        let redacted = redact(given, &pointers(texts)).expect("readable");
        assert_eq!(redacted.as_str(), expected, "{texts:?}");
    }

    #[test]
    fn pointers_lead_to_members_and_items() {
        let card = r#"{"card":{"number":"4111","owner":"ann"},"n":1e400}"#;
        check(&[], card, card);
        check(&["/cart"], card, card);
        check(&["/n/number"], card, card);
        let expected = r#"{"card":{"number":"[redacted]","owner":"ann"},"n":1e400}"#;
        check(&["/card/number"], card, expected);
        let expected = r#"{"card":"[redacted]","n":"[redacted]"}"#;
        check(&["/card/number", "/card", "/n"], card, expected);
        check(&["/1", "/01"], "[1,2,3]", r#"[1,"[redacted]",3]"#);
        check(&["/-", "/3", "/length"], "[1,2,3]", "[1,2,3]");
        check(&["/a"], r#""a""#, r#""a""#);
    }

    #[test]
    fn a_star_means_every_item_of_an_array_and_a_member_of_an_object() {
        let cards = r#"{"cards":[{"n":1,"x":2},[{"n":3}],{"n":[4]}]}"#;
        let expected = r#"{"cards":[{"n":"[redacted]","x":2},[{"n":3}],{"n":"[redacted]"}]}"#;
        check(&["/cards/*/n"], cards, expected);
        let expected = r#"{"cards":[{"n":1,"x":2},[{"n":"[redacted]"}],{"n":[4]}]}"#;
        check(&["/cards/*/*/n"], cards, expected);
        check(&["/*"], r#"{"*":1,"a":2}"#, r#"{"*":"[redacted]","a":2}"#);
        check(&["/*", "/0"], "[1,2]", r#"["[redacted]","[redacted]"]"#);
    }

    #[test]
    fn escapes_in_names_and_pointers_do_not_hide_a_value() {
        check(
            &["/password"],
            r#"{"pass\u0077ord":"x"}"#,
            r#"{"password":"[redacted]"}"#,
        );
        check(
            &["/a~1b/~0/"],
            r#"{"a/b":{"~":{"":1}}}"#,
            r#"{"a/b":{"~":{"":"[redacted]"}}}"#,
        );
    }

    #[test]
    fn pointers_of_an_error_also_apply_to_its_data() {
        let error = r#"{"code":1,"message":"no pin","data":{"pin":"1234","message":"m"}}"#;
        let error = JsonText::parse(error).expect("valid");
        let redacted = redact_error(error, &pointers(&["/pin", "/message"])).expect("readable");
        assert_eq!(
            redacted.as_str(),
            r#"{"code":1,"message":"[redacted]","data":{"pin":"[redacted]","message":"[redacted]"}}"#
        );
    }

    #[test]
    fn a_value_of_any_depth_is_redacted() {
        let deep = |inner: &str| "[".repeat(128) + inner + &"]".repeat(128);
        let pointer = "/0".repeat(127);
        let expected = "[".repeat(127) + r#""[redacted]""# + &"]".repeat(127);
        check(&[&pointer], &deep("1"), &expected);
    }

    #[test]
    fn only_json_pointers_to_a_part_are_accepted() {
        for text in ["/a", "/", "//", "/a~0b/~1", "/ä b/*", "/-"] {
            let pointer = JsonPointer::parse(text).expect(text);
            assert_eq!(pointer.to_string(), text);
        }
        for (text, start) in [
            ("", "`` must start with `/`"),
            ("a/b", "`a/b` must start with `/`"),
            ("#/a", "`#/a` must start with `/`"),
            ("/a~", "in `/a~`, `~` must be written as `~0`"),
            ("/~2", "in `/~2`, `~` must be written as `~0`"),
            ("/~ä", "in `/~ä`, `~` must be written as `~0`"),
        ] {
            let error = JsonPointer::parse(text).expect_err(text).to_string();
            assert!(error.starts_with(start), "{error}");
        }
        let longest = format!("/{}", "ä".repeat(POINTER_MAX - 1));
        assert!(JsonPointer::parse(&longest).is_ok());
        assert_eq!(
            JsonPointer::parse(&(longest + "x")),
            Err(JsonPointerError::TooLong(POINTER_MAX + 1))
        );
    }

    #[test]
    fn a_pointer_is_a_string_in_json() {
        let pointer: JsonPointer = serde_json::from_str(r#""/a~1b/*""#).expect("valid");
        assert_eq!(pointer.0, ["a/b", "*"]);
        let json = serde_json::to_string(&pointer).expect("JSON");
        assert_eq!(json, r#""/a~1b/*""#);
        let error = serde_json::from_str::<JsonPointer>(r#""a""#).expect_err("no slash");
        assert!(error.to_string().starts_with("`a` must start with `/`"));
    }
}
