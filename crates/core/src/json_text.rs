//! JSON that is checked once and then passed on as text. Every receiver gets the numbers, the order
//! of members and the escapes in strings as the sender wrote them.

use std::{borrow::Cow, collections::HashSet, fmt};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Value, value::RawValue};
use thiserror::Error;

use crate::json_string::{string_text, valid_string_end};

/// The maximum nesting depth of a text.
pub const DEPTH_MAX: usize = 128;

/// One JSON value on one line: no white space outside strings, no member twice in an object, at
/// most [`DEPTH_MAX`] levels.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct JsonText(Box<RawValue>);

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum JsonTextError {
    #[error("not valid JSON at line {line}, column {column}")]
    NotJson { line: usize, column: usize },
    #[error("the JSON nests more than {DEPTH_MAX} levels deep")]
    TooDeep,
    #[error("the member `{0}` occurs twice in one object")]
    RepeatedMember(String),
    #[error("the escape sequences of the string {0} do not encode text")]
    NotText(String),
}

/// The maximum number of characters of a name or string that an error quotes.
const QUOTED_MAX: usize = 60;

impl JsonText {
    /// Checks a text and removes the white space outside strings. All tokens stay as they are.
    pub fn parse(text: &str) -> Result<Self, JsonTextError> {
        if let Err(error) = serde_json::from_str::<&RawValue>(text) {
            return Err(JsonTextError::NotJson {
                line: error.line(),
                column: error.column(),
            });
        }
        let compact = compact(text)?;
        let raw = RawValue::from_string(compact).expect("white space does not change JSON");
        Ok(Self(raw))
    }

    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    pub fn is_object(&self) -> bool {
        self.as_str().starts_with('{')
    }

    /// The type, for error messages.
    pub fn type_name(&self) -> &'static str {
        match self.as_str().as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }

    pub fn into_raw(self) -> Box<RawValue> {
        self.0
    }
}

/// Removes the white space outside strings from valid JSON. Checks the rules that the JSON grammar
/// does not have: depth, repeated members, escapes.
fn compact(text: &str) -> Result<String, JsonTextError> {
    let bytes = text.as_bytes();
    let mut compact = String::with_capacity(text.len());
    // The member names of each open object; `None` for an open array.
    let mut open: Vec<Option<HashSet<Cow<'_, str>>>> = Vec::new();
    let (mut at, mut before) = (0, b' ');
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => continue,
            b'{' => open.push(Some(HashSet::new())),
            b'[' => open.push(None),
            b'}' | b']' => drop(open.pop()),
            b'"' => {
                at = valid_string_end(bytes, at);
                let token = &text[start..at];
                let not_text = || JsonTextError::NotText(excerpt(token));
                let string = string_text(token).ok_or_else(not_text)?;
                if let Some(Some(names)) = open.last_mut()
                    && matches!(before, b'{' | b',')
                    && let Some(repeated) = names.replace(string)
                {
                    return Err(JsonTextError::RepeatedMember(excerpt(&repeated)));
                }
            }
            _ => {}
        }
        if open.len() > DEPTH_MAX {
            return Err(JsonTextError::TooDeep);
        }
        before = byte;
        compact.push_str(&text[start..at]);
    }
    Ok(compact)
}

fn excerpt(text: &str) -> String {
    text.chars().take(QUOTED_MAX).collect()
}

impl From<&Value> for JsonText {
    fn from(value: &Value) -> Self {
        let raw = RawValue::from_string(value.to_string());
        Self(raw.expect("a value is always JSON"))
    }
}

impl fmt::Display for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for JsonText {}

impl<'de> Deserialize<'de> for JsonText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(raw.get()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_stay_as_they_are() {
        for (given, expected) in [
            (" {\n\t\"a b\" : [ 1 , 2.50 ] }\r\n", r#"{"a b":[1,2.50]}"#),
            (
                "{\"n\": 123456789012345678901234567890, \"e\": 1E+400, \"z\": -0}",
                r#"{"n":123456789012345678901234567890,"e":1E+400,"z":-0}"#,
            ),
            (r#"["\u0041\/", " \" , "]"#, r#"["\u0041\/"," \" , "]"#),
            ("true", "true"),
        ] {
            let text = JsonText::parse(given).expect("valid");
            assert_eq!(text.as_str(), expected);
            let again = serde_json::to_string(&text).expect("JSON");
            assert_eq!(again, expected, "serialised as it is");
        }
    }

    #[test]
    fn invalid_texts_are_refused_with_the_reason() {
        let error = |text: &str| JsonText::parse(text).expect_err(text);
        assert_eq!(
            error("{\n\"a\" 1}"),
            JsonTextError::NotJson { line: 2, column: 5 }
        );
        for bad in ["", "{} {}", "[1,]", "\"\u{1}\"", "nul", "01", "'a'"] {
            assert!(matches!(error(bad), JsonTextError::NotJson { .. }), "{bad}");
        }
        let repeated = |name: &str| JsonTextError::RepeatedMember(name.to_owned());
        assert_eq!(error(r#"{"a":1,"b":2,"a":3}"#), repeated("a"));
        assert_eq!(error(r#"[{"x":{"b":1,"\u0062":2}}]"#), repeated("b"));
        assert!(matches!(error(r#"["\ud800"]"#), JsonTextError::NotText(_)));
    }

    #[test]
    fn the_same_name_may_occur_in_different_objects_and_as_a_value() {
        let text = r#"{"a":"a","b":{"a":["a","a"]},"c":[{"a":1},{"a":1}]}"#;
        assert_eq!(JsonText::parse(text).expect("valid").as_str(), text);
    }

    #[test]
    fn any_nesting_beyond_the_limit_is_rejected() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(JsonText::parse(&nested(DEPTH_MAX)).is_ok());
        for levels in [DEPTH_MAX + 1, 100_000] {
            let error = JsonText::parse(&nested(levels));
            assert_eq!(error, Err(JsonTextError::TooDeep));
        }
    }

    #[test]
    fn a_closed_array_or_object_does_not_count_as_open() {
        let wide = format!("[{}]", vec!["[{}]"; 200].join(","));
        assert_eq!(JsonText::parse(&wide).expect("valid").as_str(), wide);
        for text in [r#"{"a":{"b":1},"a":2}"#, r#"{"a":["b"],"a":2}"#] {
            assert_eq!(
                JsonText::parse(text),
                Err(JsonTextError::RepeatedMember("a".to_owned()))
            );
        }
    }

    #[test]
    fn an_error_quotes_at_most_60_characters() {
        let long = "ü".repeat(61);
        assert_eq!(
            JsonText::parse(&format!(r#"{{"{long}":1,"{long}":2}}"#)),
            Err(JsonTextError::RepeatedMember("ü".repeat(60)))
        );
        assert_eq!(
            JsonText::parse(&format!(r#"["\ud800{long}"]"#)),
            Err(JsonTextError::NotText(
                r#""\ud800"#.to_owned() + &"ü".repeat(53)
            ))
        );
    }

    #[test]
    fn each_value_has_the_name_of_its_type() {
        for (text, name) in [
            ("{}", "an object"),
            ("[{}]", "an array"),
            (r#""{}""#, "a string"),
            ("true", "a boolean"),
            ("false", "a boolean"),
            ("null", "null"),
            ("0", "a number"),
            ("-1", "a number"),
        ] {
            let value = JsonText::parse(text).expect("valid");
            assert_eq!(value.type_name(), name, "{text}");
            assert_eq!(value.is_object(), name == "an object", "{text}");
        }
    }

    #[test]
    fn texts_are_shown_and_compared_without_white_space() {
        let text = JsonText::parse(r#"{ "a": 1.0 }"#).expect("valid");
        assert_eq!(text.to_string(), r#"{"a":1.0}"#);
        assert_eq!(format!("{text:?}"), r#"{"a":1.0}"#);
        assert_eq!(text.clone().into_raw().get(), r#"{"a":1.0}"#);
        assert!(text == JsonText::from(&serde_json::json!({"a": 1.0})));
        assert!(text != JsonText::from(&serde_json::json!({"a": 1})));
        assert!(serde_json::from_str::<JsonText>(r#" {"a" :1.0}"#).is_ok_and(|read| read == text));
    }
}
