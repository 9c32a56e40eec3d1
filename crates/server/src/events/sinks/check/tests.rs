use serde_json::json;
use svc_protocol::api::SinkPatch;

use super::*;
use crate::events::sinks::programs::body_template;

fn new_sink(body: Value) -> NewSink {
    serde_json::from_value(body).expect("a new sink")
}

fn webhook_sink(webhook: Value) -> NewSink {
    new_sink(json!({"name": "x", "patterns": "*", "type": "webhook", "webhook": webhook}))
}

fn members(patch: Value) -> Members {
    serde_json::from_value(patch).expect("an object")
}

/// Code and message of a refusal.
fn refused<T>(result: Result<T, RecordError>) -> (&'static str, String) {
    match result {
        Err(RecordError::Refused { code, message }) => (code, message),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was accepted"),
    }
}

#[test]
fn patterns_come_as_a_list_or_as_text() {
    let check = |input: Value, expected: &[&str]| {
        let input: PatternsInput = serde_json::from_value(input).expect("patterns");
        let found = patterns(&input).expect("valid");
        let found: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    };
    check(json!(["a.*", " b "]), &["a.*", "b"]);
    check(json!("a.* , b"), &["a.*", "b"]);
    assert_eq!(
        refused(patterns(&PatternsInput::List(vec![]))).0,
        "invalid_pattern"
    );
    let too_many = PatternsInput::List(vec!["*".to_owned(); PATTERNS_MAX + 1]);
    assert_eq!(refused(patterns(&too_many)).0, "invalid_pattern");
    let bad = patterns(&PatternsInput::Text("a, *b".into())).expect_err("a bad pattern");
    assert!(bad.to_string().contains("at character 1"), "{bad}");
}

#[test]
fn a_sink_has_only_the_configuration_of_its_type() {
    let missing = new_sink(json!({"name": "x", "patterns": "*", "type": "webhook"}));
    assert_eq!(refused(new_config(&missing)).0, "invalid_config");
    let other = new_sink(json!({
        "name": "x", "patterns": "*", "type": "json-rpc", "webhook": {"url": "https://example.org"},
    }));
    let (code, message) = refused(new_config(&other));
    assert_eq!(code, "invalid_config");
    assert!(message.contains("`webhook`"), "{message}");
    let script = new_sink(json!({
        "name": "x", "patterns": "*", "type": "script", "script": {"source": "pass"},
    }));
    assert!(new_config(&script).is_ok());
    let id = "01890000-0000-7000-8000-000000000000";
    for part in [json!({}), json!({"source": "pass", "script_id": id})] {
        let body = json!({"name": "x", "patterns": "*", "type": "script", "script": part});
        assert_eq!(refused(new_config(&new_sink(body))).0, "invalid_config");
    }
}

#[test]
fn invalid_webhooks_are_refused_with_a_code() {
    let check = |webhook: Value, code| {
        assert_eq!(refused(new_config(&webhook_sink(webhook))).0, code);
    };
    check(json!({"url": "ftp://example.org"}), "invalid_url");
    check(json!({"url": "nowhere"}), "invalid_url");
    let url = "https://example.org/hook";
    check(
        json!({"url": url, "headers": {"webhook-id": "x"}}),
        "invalid_header",
    );
    check(
        json!({"url": url, "headers": {"X-Bad": "a\nb"}}),
        "invalid_header",
    );
    check(json!({"url": url, "secret": "short"}), "invalid_secret");
    for template in ["{% for %}", "hello"] {
        let refused = refused(body_template(template, SinkType::Webhook));
        assert_eq!(refused.0, "invalid_template", "{template}");
    }
    assert!(new_config(&webhook_sink(json!({"url": url}))).is_ok());
}

#[test]
fn a_patch_is_merged_member_by_member() {
    let current = SinkConfig::Webhook(WebhookConfig {
        url: "https://example.org/a".to_owned(),
        headers: BTreeMap::from([("a".to_owned(), "1".to_owned()), ("b".into(), "2".into())]),
        body_template: Some("{}".to_owned()),
        ..WebhookConfig::default()
    });
    let patch = json!({"headers": {"a": null, "c": "3"}, "body_template": null});
    let merged = merged_config(&current, &members(patch)).expect("valid");
    assert_eq!(
        merged,
        SinkConfig::Webhook(WebhookConfig {
            url: "https://example.org/a".to_owned(),
            headers: BTreeMap::from([("b".to_owned(), "2".to_owned()), ("c".into(), "3".into())]),
            ..WebhookConfig::default()
        })
    );
    for (patch, code) in [
        (json!({"url": null}), "invalid_config"),
        (json!({"colour": "red"}), "invalid_config"),
        (json!({"secret": "whsec_x"}), "invalid_secret"),
        (json!({"url": "x"}), "invalid_url"),
    ] {
        let merged = merged_config(&current, &members(patch.clone()));
        assert_eq!(refused(merged).0, code, "{patch}");
    }
}

#[test]
fn a_masked_header_keeps_its_stored_value() {
    let current = SinkConfig::Webhook(WebhookConfig {
        url: "https://example.org/a".to_owned(),
        headers: BTreeMap::from([("a".to_owned(), "1".to_owned()), ("b".into(), MASK.into())]),
        ..WebhookConfig::default()
    });
    let same = json!({"headers": {"a": MASK, "b": MASK}});
    let merged = merged_config(&current, &members(same));
    assert_eq!(merged.expect("valid"), current);
    let unknown = json!({"headers": {"c": MASK}});
    let (code, message) = refused(merged_config(&current, &members(unknown)));
    assert_eq!(code, "invalid_header");
    assert!(message.contains("`c`"), "{message}");
    let new = webhook_sink(json!({"url": "https://example.org/", "headers": {"a": MASK}}));
    assert_eq!(refused(new_config(&new)).0, "invalid_header");
}

#[test]
fn the_template_of_a_json_rpc_sink_renders_an_object() {
    assert!(body_template("{}", SinkType::JsonRpc).is_ok());
    assert!(body_template("[1]", SinkType::Webhook).is_ok());
    let (code, message) = refused(body_template("[1]", SinkType::JsonRpc));
    assert_eq!(code, "invalid_template");
    assert!(message.contains("JSON object"), "{message}");
}

#[test]
fn a_part_of_a_patch_is_an_object() {
    for part in ["webhook", "script", "json_rpc", "delivery"] {
        for (value, shown) in [(json!(null), "null"), (json!([]), "an array")] {
            let read = document::read_value::<SinkPatch>(json!({ part: value }));
            let expected = format!("`{part}`: expected an object, not {shown}");
            assert_eq!(read.expect_err(part).to_string(), expected);
        }
    }
}

#[test]
fn the_stored_configuration_never_has_the_signing_secret() {
    let secret = format!("whsec_{}", "c2VjcmV0".repeat(4));
    let url = "https://example.org/a";
    let new = webhook_sink(json!({"url": url, "secret": secret}));
    let created = new_config(&new).expect("valid");
    let patch = json!({"url": "https://example.com/", "secret": secret});
    let moved = merged_config(&created, &members(patch)).expect("valid");
    for config in [created, moved] {
        let stored = serde_json::to_string(&config).expect("JSON");
        assert!(stored.contains("https://example."), "{stored}");
        assert!(
            !stored.contains("secret") && !stored.contains(&secret),
            "{stored}"
        );
    }
}
