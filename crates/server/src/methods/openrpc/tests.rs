use svc_core::{UserId, UserName, delivery_policy::Overflow};

use super::*;

fn method(name: &str, params: Value, result: Value) -> Method {
    Method {
        name: name.to_owned(),
        title: None,
        description: "d".to_owned(),
        keywords: vec!["k".to_owned()],
        scope: "private".to_owned(),
        mcp_tool: false,
        mcp_tool_name: None,
        annotations: Default::default(),
        params_schema: Some(params).filter(|schema| !schema.is_null()),
        result_schema: Some(result).filter(|schema| !schema.is_null()),
        journal: Default::default(),
        journal_redact: Vec::new(),
        owner_id: UserId::NIL,
        owner: UserName::parse("ann").expect("valid"),
        provider_count: 1,
        local_name: None,
        groups: Vec::new(),
        deleted_groups: 0,
        events: Vec::new(),
        event_sinks: Vec::new(),
        event_overflow: Overflow::default(),
        providers: Vec::new(),
    }
}

fn document(params: Value, result: Value) -> Value {
    describe_all(&[method("a.b", params, result)], "d")
}

#[test]
fn references_resolve_in_the_document() {
    let tree = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/tree"}, "self": {"$ref": "#"}},
        "$defs": {"tree": {"properties": {"next": {"$ref": "#/$defs/tree"}}}},
    });
    let document = document(tree.clone(), tree);
    let params = &document["methods"][0]["params"];
    assert_eq!(
        params[0]["schema"]["$ref"],
        "#/components/schemas/a.b.params/$defs/tree"
    );
    assert_eq!(
        params[1]["schema"]["$ref"],
        "#/components/schemas/a.b.params"
    );
    let result = &document["methods"][0]["result"]["schema"]["$ref"];
    assert_eq!(result, "#/components/schemas/a.b.result");
    let stored = &document["components"]["schemas"];
    assert_eq!(
        stored["a.b.result"]["$defs"]["tree"]["properties"]["next"]["$ref"],
        "#/components/schemas/a.b.result/$defs/tree"
    );
    assert!(stored["a.b.params"]["$defs"]["tree"].is_object());
}

#[test]
fn schemas_without_references_stay_in_place() {
    let object = json!({
        "type": "object", "properties": {"b": {"type": "string"}, "a": true}, "required": ["a"],
        "additionalProperties": false,
    });
    let document = document(object, json!({"type": "string"}));
    assert!(document.get("components").is_none());
    let method = &document["methods"][0];
    assert_eq!(method["paramStructure"], "by-name");
    assert_eq!(
        method["params"],
        json!([
            {"name": "a", "required": true, "schema": true},
            {"name": "b", "required": false, "schema": {"type": "string"}},
        ])
    );
    assert_eq!(method["result"]["schema"], json!({"type": "string"}));
    assert!(method.get("x-params-schema").is_none());
}

#[test]
fn arrays_are_params_by_position() {
    let check = |schema: Value, expected: Value| {
        let document = document(schema.clone(), json!(null));
        let method = &document["methods"][0];
        assert_eq!(method["paramStructure"], "by-position", "{schema}");
        assert_eq!(method["params"], expected, "{schema}");
    };
    let number = json!({"type": "number"});
    check(
        json!({"type": "array", "items": number}),
        json!([{"name": "items", "required": false, "schema": number,
                "description": "each further element"}]),
    );
    check(
        json!({"type": "array", "prefixItems": [{"title": "x"}, number], "items": false,
               "minItems": 1}),
        json!([
            {"name": "x", "required": true, "schema": {"title": "x"}},
            {"name": "param2", "required": false, "schema": number},
        ]),
    );
    check(
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array",
               "items": [number, true], "minItems": 2}),
        json!([
            {"name": "param1", "required": true, "schema": number},
            {"name": "param2", "required": true, "schema": true},
        ]),
    );
    check(json!({"type": "array"}), json!([]));
}

#[test]
fn params_are_found_through_references_and_all_of() {
    let document = document(
        json!({
            "allOf": [{"$ref": "#/$defs/page"}, {"properties": {"q": {"type": "string"}}}],
            "$defs": {"page": {"type": "object", "properties": {"limit": {"type": "integer"}},
                               "required": ["limit"]}},
        }),
        json!(null),
    );
    let method = &document["methods"][0];
    assert_eq!(method["paramStructure"], "by-name");
    let names: Vec<_> = method["params"]
        .as_array()
        .expect("params")
        .iter()
        .map(|p| &p["name"])
        .collect();
    assert_eq!(names, ["limit", "q"]);
    assert_eq!(
        method["x-params-schema"]["$ref"],
        "#/components/schemas/a.b.params"
    );
}

#[test]
fn a_schema_that_a_list_of_params_cannot_express_is_added_in_full() {
    for schema in [
        json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        json!({"type": "object", "properties": {"": {"type": "string"}}}),
        json!({"type": "object", "minProperties": 1}),
    ] {
        let document = document(schema.clone(), json!(null));
        let method = &document["methods"][0];
        assert!(method["x-params-schema"]["$ref"].is_string(), "{schema}");
        assert_eq!(document["components"]["schemas"]["a.b.params"], schema);
    }
    let document = document(json!(null), json!(null));
    assert_eq!(document["methods"][0]["paramStructure"], "either");
}
