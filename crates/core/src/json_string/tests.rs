use proptest::prelude::{
    ProptestConfig, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest,
};
use serde::de::IgnoredAny;

use super::*;

/// Parts of strings: plain text of all lengths around the sizes that are tested at once, escapes,
/// and what a string must not contain.
fn content() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        any::<String>(),
        "[ -~]{0,140}",
        prop::sample::select(vec![
            "\"",
            "\\",
            "\\\"",
            "\\\\",
            "\\/",
            "\\b",
            "\\f",
            "\\n",
            "\\r",
            "\\t",
            "\\u0041",
            "\\uD83D\\uDE00",
            "\\ud800",
            "\\u12",
            "\\u00g0",
            "\\x",
            "\u{0}",
            "\u{1f}",
            "\n",
            "\u{7f}",
            "é",
            "😀",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
}

/// The shortest beginning of the text that serde accepts as one value.
fn end_by_serde(text: &str) -> Option<usize> {
    let mut ends = (1..=text.len()).filter(|end| text.as_bytes()[*end - 1] == b'"');
    ends.find(|end| serde_json::from_str::<IgnoredAny>(&text[..*end]).is_ok())
}

/// The position after the bytes, byte by byte.
fn position_by_byte(bytes: &[u8]) -> Position {
    let step = |position, byte: &u8| match (position, byte) {
        (Position::Outside, b'"') => Position::InString,
        (Position::InString, b'"') => Position::Outside,
        (Position::InString, b'\\') => Position::InEscape,
        (Position::InEscape, _) => Position::InString,
        (same, _) => same,
    };
    bytes.iter().fold(Position::Outside, step)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_string_ends_where_serde_ends_it(content in content()) {
        let text = format!("\"{content}");
        let end = string_end(text.as_bytes(), 1);
        prop_assert_eq!(end, end_by_serde(&text));
        prop_assert_eq!(valid_string_end(text.as_bytes(), 1), end.unwrap_or(text.len()));
    }

    #[test]
    fn a_token_encodes_the_text_that_serde_reads(content in content()) {
        let token = serde_json::to_string(&content).expect("a string is JSON");
        let text = string_text(&token);
        prop_assert_eq!(text.as_deref(), Some(&*content));
        let text = format!("\"{content}");
        if let Some(end) = string_end(text.as_bytes(), 1) {
            let token = &text[..end];
            let read = serde_json::from_str::<String>(token).ok();
            prop_assert_eq!(string_text(token).map(Cow::into_owned), read);
        }
    }

    #[test]
    fn the_position_does_not_depend_on_how_a_text_is_divided(
        texts in prop::collection::vec(content(), 0..4),
    ) {
        let position = texts.iter().fold(Position::Outside, |position, text| position.after(text.as_bytes()));
        prop_assert_eq!(position, position_by_byte(texts.concat().as_bytes()));
    }
}

#[test]
fn a_string_ends_at_the_first_quotation_mark_that_is_not_escaped() {
    for (text, token, content) in [
        (r#""a" "b""#, r#""a""#, "a"),
        (r#""""#, r#""""#, ""),
        (r#""a\"b", 1"#, r#""a\"b""#, "a\"b"),
        (r#""\\","c""#, r#""\\""#, "\\"),
    ] {
        let end = string_end(text.as_bytes(), 1).expect("a string");
        assert_eq!(&text[..end], token);
        assert_eq!(string_text(token).as_deref(), Some(content));
    }
    for unfinished in ["\"", "\"a", "\"\\", "\"\\\"", "\"\\u00", "\"\n\""] {
        assert_eq!(string_end(unfinished.as_bytes(), 1), None, "{unfinished}");
        assert_eq!(valid_string_end(unfinished.as_bytes(), 1), unfinished.len());
    }
    for other in ["", "\"", "1", "null", "\"a", "a\"", r#""\ud800""#] {
        assert_eq!(string_text(other), None, "{other}");
    }
}

#[test]
fn an_escape_ends_after_one_byte() {
    for (text, position) in [
        ("", Position::Outside),
        ("{\"a", Position::InString),
        ("{\"a\"", Position::Outside),
        ("{\"a\\", Position::InEscape),
        ("{\"a\\\\", Position::InString),
        ("{\"a\\\"", Position::InString),
        ("\\\"", Position::InString),
    ] {
        assert_eq!(
            Position::default().after(text.as_bytes()),
            position,
            "{text}"
        );
    }
}
