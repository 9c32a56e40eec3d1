use serde_json::json;

use super::*;

fn result(text: &'static str, output: OutputSchema, era: Era) -> Value {
    let result = ToolResult::of(&Reply::Result(text.into()), output, era);
    read(&result)
}

fn read(result: &ToolResult) -> Value {
    let text = format!("{{{}}}", String::from_utf8_lossy(&result.members));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn objects_are_data_and_text_and_other_values_are_text() {
    let check = |text, expected: Value| {
        assert_eq!(
            result(text, OutputSchema::Absent, Era::Modern),
            expected,
            "{text}"
        );
    };
    check(
        r#"{"b":1, "a":"\"x"}"#,
        json!({
            "content": [{"type": "text", "text": "{\"b\":1, \"a\":\"\\\"x\"}"}],
            "structuredContent": {"b": 1, "a": "\"x"},
            "isError": false,
        }),
    );
    let text = |text| json!({"content": [{"type": "text", "text": text}], "isError": false});
    check(r#""a\nb""#, text("a\nb"));
    check("[1,2]", text("[1,2]"));
    check("null", text("null"));
    check(" 7 ", text("7"));
}

#[test]
fn a_result_matches_its_output_schema() {
    let broken = result("[1]", OutputSchema::Object, Era::Legacy);
    assert_eq!(broken["isError"], true);
    let any = result("[1]", OutputSchema::AnyValue, Era::Modern);
    assert_eq!(any["structuredContent"], json!([1]));
    let legacy = result("[1]", OutputSchema::AnyValue, Era::Legacy);
    assert_eq!(legacy.get("structuredContent"), None);
    let ready = r#"{"content":[{"type":"text","text":"x"}]}"#;
    let promised = result(ready, OutputSchema::Object, Era::Legacy);
    assert_eq!(promised["structuredContent"]["content"][0]["text"], "x");
}

#[test]
fn ready_made_content_passes_through() {
    let ready = r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}],"isError":true,"structuredContent":{"a":1},"_meta":{"k":1},"other":1}"#;
    let reply = Reply::Result(ready.into());
    let passed = ToolResult::of(&reply, OutputSchema::Absent, Era::Legacy);
    assert!(passed.is_error);
    assert_eq!(passed.meta.as_deref(), Some(r#"{"k":1}"#));
    assert_eq!(
        read(&passed),
        json!({
            "content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}],
            "structuredContent": {"a": 1},
            "isError": true,
        })
    );
    // These results have a member `content`, but no valid content blocks: they are ordinary data.
    for data in [
        r#"{"content":["a"]}"#,
        r#"{"content":"a"}"#,
        r#"{"content":[["text"]]}"#,
        r#"{"content":[{"type":"chapter"}]}"#,
        r#"{"a":{"content":[]}}"#,
    ] {
        let result = result(data, OutputSchema::Absent, Era::Modern);
        assert_eq!(result["structuredContent"].to_string(), data);
    }
}

#[test]
fn errors_become_text_blocks() {
    let check = |error: &'static str, blocks: &[&str]| {
        let result = ToolResult::of(
            &Reply::Error(error.into()),
            OutputSchema::Object,
            Era::Modern,
        );
        let result = read(&result);
        assert_eq!(result["isError"], true);
        let content = result["content"].as_array().expect("blocks");
        let texts: Vec<_> = content
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect();
        assert_eq!(texts, blocks, "{error}");
    };
    check(r#"{"code":5,"message":"disk full"}"#, &["disk full"]);
    check(
        r#"{"code":5,"message":"disk full","data":{"free":0}}"#,
        &["disk full", r#"{"free":0}"#],
    );
    check(r#"{"code":5}"#, &[r#"{"code":5}"#]);
}
