//! Nesting depth of JSON text.

use svc_core::json_string::valid_string_end;

/// The maximum nesting that serde_json parses into a value.
pub const JSON_DEPTH_MAX: usize = 127;

/// Whether parsing failed because the JSON nests more than [`JSON_DEPTH_MAX`] levels.
pub fn is_too_deep(error: &serde_json::Error) -> bool {
    // serde_json has no category of its own for this error.
    error.is_syntax() && error.to_string().starts_with("recursion limit exceeded")
}

/// Whether JSON nests more than `levels` levels: `1` has none, `{}` has one. The text must be valid
/// JSON.
pub fn nests_deeper_than(json: &str, levels: usize) -> bool {
    let bytes = json.as_bytes();
    // Every level needs two brackets.
    if bytes.len() <= 2 * levels {
        return false;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > levels {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => at = valid_string_end(bytes, at),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, Strategy, any, prop, prop_assert_eq, proptest};
    use serde_json::Value;

    use super::*;

    fn depth_of(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(depth_of).max().unwrap_or(0),
            Value::Object(members) => 1 + members.values().map(depth_of).max().unwrap_or(0),
            _ => 0,
        }
    }

    #[test]
    fn serde_reads_at_most_json_depth_max_levels() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let read = |depth| serde_json::from_str::<Value>(&nested(depth));
        assert!(read(JSON_DEPTH_MAX).is_ok());
        assert!(is_too_deep(
            &read(JSON_DEPTH_MAX + 1).expect_err("too deep")
        ));
        assert!(is_too_deep(&read(100_000).expect_err("too deep")));
        assert!(!is_too_deep(
            &serde_json::from_str::<Value>("[").expect_err("cut off")
        ));
    }

    #[test]
    fn brackets_count_as_levels_except_inside_strings() {
        let check = |json: &str, depth: usize| {
            assert!(!nests_deeper_than(json, depth), "{json}");
            assert!(depth == 0 || nests_deeper_than(json, depth - 1), "{json}");
        };
        check("1", 0);
        check("{}", 1);
        check("[[],[],{}]", 2);
        check(r#"{"a":[{"b":"]]]]"}]}"#, 3);
        check(r#"["[[[[\"[[[[", "\\", []]"#, 2);
        check(r#"["\\\"[", "[[[["]"#, 1);
        check(&format!("{}{}", "[".repeat(500), "]".repeat(500)), 500);
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = any::<String>().prop_map(Value::String);
        leaf.prop_recursive(12, 60, 3, |inner| {
            let objects = prop::collection::hash_map(any::<String>(), inner.clone(), 0..3);
            proptest::prelude::prop_oneof![
                prop::collection::vec(inner, 0..3).prop_map(Value::Array),
                objects.prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn nests_deeper_than_agrees_with_the_depth_of_the_parsed_value(value in json(), levels in 0_usize..14) {
            let text = value.to_string();
            prop_assert_eq!(nests_deeper_than(&text, levels), depth_of(&value) > levels);
        }
    }
}
