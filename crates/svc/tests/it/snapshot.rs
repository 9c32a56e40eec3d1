//! JSON as text for snapshots.

use serde_json::{Map, Value};

/// A value whose text is at most this long stands on one line.
const WIDTH: usize = 100;

/// The same value, with the members of every object in alphabetical order.
pub fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.into_iter().collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            let members = members
                .into_iter()
                .map(|(name, member)| (name, sorted(member)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// The value as lines. Short arrays and objects stand on one line.
pub fn lines_of(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0);
    text.push('\n');
    text
}

fn write(text: &mut String, value: &Value, indent: usize) {
    let line = value.to_string();
    let parts: Vec<(String, &Value)> = match value {
        _ if indent + line.len() <= WIDTH => Vec::new(),
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| (format!("{}: ", Value::from(name.as_str())), member))
            .collect(),
        Value::Array(items) => items.iter().map(|item| (String::new(), item)).collect(),
        _ => Vec::new(),
    };
    if parts.is_empty() {
        text.push_str(&line);
        return;
    }
    let (open, close) = if value.is_object() {
        ('{', '}')
    } else {
        ('[', ']')
    };
    text.push(open);
    for (n, (name, part)) in parts.iter().enumerate() {
        text.push_str(if n == 0 { "\n" } else { ",\n" });
        text.extend(std::iter::repeat_n(' ', indent + 1));
        text.push_str(name);
        write(text, part, indent + 1);
    }
    text.push('\n');
    text.extend(std::iter::repeat_n(' ', indent));
    text.push(close);
}

#[test]
fn a_long_object_has_a_line_for_each_member() {
    let long = "x".repeat(WIDTH);
    let value = sorted(serde_json::json!({"b": {"y": [2, 1], "x": null}, "a": [long, {}]}));
    let expected = format!(
        "{{\n \"a\": [\n  \"{long}\",\n  {{}}\n ],\n \"b\": {{\"x\":null,\"y\":[2,1]}}\n}}\n"
    );
    assert_eq!(lines_of(&value), expected);
    assert_eq!(
        serde_json::from_str::<Value>(&lines_of(&value)).unwrap(),
        value
    );
}
