use super::*;

/// A keyword of each form, the phrase in messages, values of the form, and values of another form.
fn samples() -> [(&'static str, &'static str, Value, Value); 16] {
    let schema = "a schema: an object, true or false";
    [
        (
            "title",
            "a string",
            json!(["", "a"]),
            json!([null, 1, true, ["a"], {}]),
        ),
        (
            "deprecated",
            "true or false",
            json!([true, false]),
            json!([null, 0, "true", [], {}]),
        ),
        (
            "examples",
            "an array",
            json!([[], [1, 1]]),
            json!([null, 1, "a", true, {}]),
        ),
        (
            "maximum",
            "a number",
            json!([0, -1, 1.5]),
            json!([null, "1", [], {}]),
        ),
        (
            "multipleOf",
            "a number greater than 0",
            json!([0.5, 1, 7]),
            json!([0, -1, -0.5, "1", null]),
        ),
        (
            "minLength",
            "a whole number of at least 0",
            json!([0, 1, 2.0]),
            json!([-1, 1.5, -0.5, "1", null]),
        ),
        (
            "required",
            "an array of different strings",
            json!([[], ["a"], ["a", "b"]]),
            json!(["a", null, [1], ["a", 1], ["a", "b", "a"]]),
        ),
        (
            "$vocabulary",
            "an object whose values are true or false",
            json!([{}, {"a": true, "b": false}]),
            json!([null, true, [true], {"a": true, "b": 1}]),
        ),
        (
            "dependentRequired",
            "an object whose values are arrays of different strings",
            json!([{}, {"a": [], "b": ["c"]}]),
            json!([null, ["a"], {"a": "b"}, {"a": ["b", "b"]}]),
        ),
        (
            "$dynamicAnchor",
            "a name such as `item-1`",
            json!(["a", "_a-1.b"]),
            json!([null, "", "1a", "-a", "a:b", "a b", "é"]),
        ),
        (
            "type",
            "one of object, array, string, integer, number, boolean and null, or an array of them",
            json!(["object", "null", ["string"], ["integer", "boolean"]]),
            json!([
                "text",
                5,
                null,
                [],
                ["string", "text"],
                [5],
                ["array", "array"]
            ]),
        ),
        ("not", schema, json!([{}, true]), json!([null, 1, "a", []])),
        (
            "items",
            schema,
            json!([{}, false, [{}], [true, {}]]),
            json!([null, 1, "a", [], [{}, 1]]),
        ),
        (
            "allOf",
            "an array of schemas, at least one",
            json!([[{}], [true, {}]]),
            json!([null, {}, true, [], [{}, 1]]),
        ),
        (
            "properties",
            "an object whose values are schemas",
            json!([{}, {"a": {}, "b": true}]),
            json!([null, true, [{}], {"a": 1}, {"a": {}, "b": ["c"]}]),
        ),
        (
            "dependencies",
            "an object whose values are schemas or arrays of names",
            json!([{}, {"a": {}, "b": true, "c": [], "d": ["e"]}]),
            json!([null, true, [{}], {"a": 1}, {"a": [1]}, {"a": ["b", "b"]}]),
        ),
    ]
}

fn values(list: &Value) -> &[Value] {
    list.as_array().expect("a list of values")
}

#[test]
fn each_keyword_accepts_values_of_its_form_only() {
    for (keyword, phrase, good, bad) in samples() {
        let form = form(keyword).expect(keyword);
        assert_eq!(form.describe(), phrase, "{keyword}");
        for value in values(&good) {
            assert!(form.accepts(value), "{keyword}: {value}");
        }
        for value in values(&bad) {
            assert!(!form.accepts(value), "{keyword}: {value}");
        }
    }
    let id = form_in(Draft::Draft2019, "$id").expect("a form");
    assert_eq!(id.describe(), "a string without a fragment");
    let accepted = ["", "#", "a#", "a"].map(|text| id.accepts(&json!(text)));
    assert_eq!(accepted, [true; 4]);
    let refused = ["#a", "a#b", "a##"].map(|text| id.accepts(&json!(text)));
    assert_eq!(refused, [false; 3]);
    assert_eq!(form("x-color"), None);
    assert_eq!(form("const"), None);
}

#[test]
fn the_outline_for_editors_describes_each_form() {
    let outline = jsonschema::draft7::new(&outline("#")).expect("a valid schema");
    for (keyword, _, good, bad) in samples() {
        for value in values(&good) {
            assert!(
                outline.is_valid(&json!({keyword: value})),
                "{keyword}: {value}"
            );
        }
        let refused = values(&bad).iter();
        let refused = refused.filter(|value| !outline.is_valid(&json!({keyword: value})));
        assert!(refused.count() > 0, "{keyword}");
    }
    for good in [json!(true), json!({}), json!({"x-color": 5})] {
        assert!(outline.is_valid(&good), "{good}");
    }
    for bad in [
        json!(null),
        json!("string"),
        json!({"not": {"type": "text"}}),
        json!({"items": [{"title": 5}]}),
        json!({"properties": {"a": {"minLength": -1}}}),
        json!({"dependencies": {"a": {"required": ["b", "b"]}}}),
    ] {
        assert!(!outline.is_valid(&bad), "{bad}");
    }
}

#[test]
fn schemas_in_returns_the_schemas_of_a_well_formed_value() {
    let check = |keyword: &str, value: Value, expected: Option<Value>| {
        let found = schemas_in(keyword, &value).map(|found| found.cloned().collect::<Value>());
        assert_eq!(found, expected, "{keyword}: {value}");
    };
    let one = json!({"type": "string"});
    check("not", one.clone(), Some(json!([one])));
    check("items", json!(false), Some(json!([false])));
    check("items", json!([one, true]), Some(json!([one, true])));
    check("allOf", json!([one]), Some(json!([one])));
    check(
        "properties",
        json!({"a": one, "b": true}),
        Some(json!([one, true])),
    );
    check("properties", json!({}), Some(json!([])));
    check("not", json!([one]), None);
    check("allOf", json!([]), None);
    check("properties", json!({"a": 1}), None);
    check("dependencies", json!({"a": one}), None);
    check("enum", json!([one]), None);
    check("const", one, None);
}

#[test]
fn the_first_unknown_type_is_found() {
    for (value, expected) in [
        (json!("string"), None),
        (json!("text"), Some("text")),
        (json!(["string", "any", "text"]), Some("any")),
        (json!([5, "text"]), Some("text")),
        (json!(["null", "array"]), None),
        (json!(5), None),
    ] {
        assert_eq!(unknown_type(&value), expected, "{value}");
    }
}
