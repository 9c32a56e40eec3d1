//! The differences of two JSON documents, one line each.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A longer value is cut.
const SHOWN_CHARACTERS_MAX: usize = 200;

/// Lines such as `+ paths > /api/users > get > summary: "List users"`.
pub fn differences(before: &Value, after: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(&[], before, after, &mut found);
    found
}

fn compare(path: &[String], before: &Value, after: &Value, found: &mut Vec<String>) {
    if before == after {
        return;
    }
    let at = path.join(" > ");
    let (Some(old), Some(new)) = (members(before), members(after)) else {
        found.push(format!("~ {at}: {} -> {}", shown(before), shown(after)));
        return;
    };
    let earlier = found.len();
    for name in old.keys().chain(new.keys()).collect::<BTreeSet<_>>() {
        let path = [path, std::slice::from_ref(name)].concat();
        let at = path.join(" > ");
        match (old.get(name), new.get(name)) {
            (Some(before), Some(after)) => compare(&path, before, after, found),
            (Some(before), None) => found.push(format!("- {at}: {}", shown(before))),
            (None, Some(after)) => found.push(format!("+ {at}: {}", shown(after))),
            (None, None) => {}
        }
    }
    if found.len() == earlier {
        found.push(format!("~ {at}: another order"));
    }
}

/// The members of an object, or the items of an array. Items are found by their name if they have
/// one, so that a new item in the middle is one difference.
fn members(value: &Value) -> Option<BTreeMap<String, &Value>> {
    let items = match value {
        Value::Object(members) => {
            return Some(members.iter().map(|(name, v)| (name.clone(), v)).collect());
        }
        Value::Array(items) => items,
        _ => return None,
    };
    let named = items.iter().filter_map(|item| Some((name_of(item)?, item)));
    let named: BTreeMap<_, _> = named.collect();
    if named.len() == items.len() {
        return Some(named);
    }
    let numbered = items.iter().enumerate();
    Some(numbered.map(|(n, item)| (n.to_string(), item)).collect())
}

fn name_of(item: &Value) -> Option<String> {
    match item {
        Value::Object(members) => {
            let name = members.get("name").or_else(|| members.get("$ref"))?;
            name.as_str().map(str::to_owned)
        }
        Value::Array(_) => None,
        scalar => Some(scalar.to_string()),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[test]
fn a_difference_names_the_member_and_not_those_beside_it() {
    let before = serde_json::json!({
        "a": {"required": ["x", "y"], "type": "object"},
        "parameters": [{"name": "limit"}, {"name": "user", "in": "query"}],
        "order": [1, 2],
    });
    let after = serde_json::json!({
        "a": {"required": ["x", "w", "y"], "type": "string"},
        "parameters": [{"name": "cursor"}, {"name": "limit"}, {"name": "user"}],
        "order": [2, 1],
    });
    let expected = [
        r#"+ a > required > "w": "w""#,
        r#"~ a > type: "object" -> "string""#,
        "~ order: another order",
        r#"+ parameters > cursor: {"name":"cursor"}"#,
        r#"- parameters > user > in: "query""#,
    ];
    assert_eq!(differences(&before, &after), expected);
    assert_eq!(differences(&after, &after), [] as [String; 0]);
}
