//! Shortens the details of audit entries, which callers may make large.

use serde_json::{Map, Value as JsonValue};

use crate::value::json;

/// The maximum number of bytes of the detail of an entry, as JSON.
pub const DETAIL_BYTES_MAX: usize = 2 * 1024;
/// A text that is cut keeps about this many bytes of its start.
const START_BYTES: usize = 200;
/// Set in a detail that was cut.
const CUT: &str = "cut";

/// The detail as JSON text. In a detail that is too large, the largest members are cut, largest
/// first, until the rest fits. A cut detail has the member `cut`.
pub(super) fn shorten(detail: &JsonValue) -> String {
    let text = json(detail);
    if text.len() <= DETAIL_BYTES_MAX {
        return text;
    }
    let mut members = match detail {
        JsonValue::Object(members) => members.clone(),
        _ => Map::new(),
    };
    members.insert(CUT.to_owned(), true.into());
    let sizes = members
        .iter()
        .map(|(name, value)| (json(value).len(), name.clone()));
    let mut sizes: Vec<_> = sizes.collect();
    sizes.sort_unstable();
    loop {
        let text = json(&members);
        if text.len() <= DETAIL_BYTES_MAX {
            return text;
        }
        let Some((bytes, name)) = sizes.pop() else {
            return json(&Map::from_iter([(CUT.to_owned(), true.into())]));
        };
        let short = members.get(&name).map(|value| cut(value, bytes));
        match short.filter(|short| json(short).len() < bytes) {
            Some(short) => members.insert(name, short),
            // Many small members: those that do not fit are removed.
            None => members.remove(&name),
        };
        members.insert(CUT.to_owned(), true.into());
    }
}

/// What remains of a large value.
fn cut(value: &JsonValue, bytes: usize) -> JsonValue {
    match value {
        JsonValue::String(text) => {
            let start = &text[..text.floor_char_boundary(START_BYTES)];
            format!("{start}… ({} bytes)", text.len()).into()
        }
        JsonValue::Array(items) => format!("{} items, {bytes} bytes", items.len()).into(),
        _ => format!("{bytes} bytes").into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(detail: &JsonValue, expected: &JsonValue) {
        let short = shorten(detail);
        assert!(short.len() <= DETAIL_BYTES_MAX, "{} bytes", short.len());
        let short: JsonValue = serde_json::from_str(&short).expect("JSON");
        assert_eq!(short, *expected);
    }

    #[test]
    fn only_the_largest_members_of_a_detail_are_cut() {
        let small = json!({"name": "orders", "patterns": ["a.*", "b"]});
        check(&small, &small);
        let patterns = vec!["custom.x.*"; 100];
        let detail = json!({"name": "orders", "note": "x".repeat(900), "patterns": patterns});
        let expected = json!({
            "name": "orders", "note": "x".repeat(900), "patterns": "100 items, 1301 bytes",
            "cut": true,
        });
        check(&detail, &expected);
        let detail = json!({"name": "orders", "url": "ü".repeat(2_000)});
        let expected = json!({
            "name": "orders", "url": format!("{}… (4000 bytes)", "ü".repeat(100)), "cut": true,
        });
        check(&detail, &expected);
    }

    #[test]
    fn any_detail_fits() {
        let members = (0..1_000).map(|n| (format!("member {n}"), json!(n)));
        let text = shorten(&JsonValue::Object(members.collect()));
        assert!(text.len() <= DETAIL_BYTES_MAX && text.contains("\"cut\":true"));
        let name = "n".repeat(5_000);
        check(&json!({name: 1}), &json!({"cut": true}));
        check(&json!(["x".repeat(5_000)]), &json!({"cut": true}));
    }
}
