//! The OpenAPI document and the codes of its errors, compared with files, so that the review of a
//! commit shows every change of the API. `UPDATE_EXPECT=1 cargo verify openapi::snapshot` replaces
//! the files.

use std::collections::BTreeSet;

use expect_test::{ExpectFile, expect_file};
use serde_json::{Map, Value, json};
use svc_testkit::TestServer;

use super::difference::differences;

/// A failed test shows at most this many differences.
const SHOWN_MAX: usize = 100;

async fn document() -> Value {
    let server = TestServer::start().await;
    let http = server.http();
    let answer = http.request("GET", "/api/openapi.json", &[], "").await;
    let mut document = answer.expect(200).json();
    // Each release has another version.
    document["info"]["version"] = json!("VERSION");
    document
}

/// The same value, with the members of every object in alphabetical order.
fn sorted(value: Value) -> Value {
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

/// Compares a document with a file. Shows the members that differ, and not the whole text.
#[track_caller]
fn check(document: Value, expected: &ExpectFile) {
    let document = sorted(document);
    let text = serde_json::to_string_pretty(&document).unwrap();
    if std::env::var_os("UPDATE_EXPECT").is_none() {
        let before = serde_json::from_str(&expected.data()).unwrap_or_default();
        let found = differences(&before, &document);
        let shown = found.len().min(SHOWN_MAX);
        assert!(
            found.is_empty(),
            "the OpenAPI document has {} differences:\n{}\nif they are intended: UPDATE_EXPECT=1 cargo verify openapi::snapshot",
            found.len(),
            found[..shown].join("\n")
        );
    }
    expected.assert_eq(&format!("{text}\n"));
}

/// Every documented code with its status, such as `404 not_found`.
fn codes(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|path| path.as_object().unwrap().values());
    let responses = operations.flat_map(|operation| operation["responses"].as_object().unwrap());
    let mut codes = BTreeSet::new();
    for (status, response) in responses {
        let schema = &response["content"]["application/problem+json"]["schema"];
        let names = schema["properties"]["code"]["enum"].as_array();
        for name in names.into_iter().flatten() {
            codes.insert(format!("{status} {}", name.as_str().unwrap()));
        }
    }
    codes
}

#[tokio::test]
async fn the_document_and_its_error_codes_are_unchanged() {
    let document = document().await;
    let codes: Vec<_> = codes(&document).into_iter().collect();
    expect_file!["../error_codes.txt"].assert_eq(&format!("{}\n", codes.join("\n")));
    check(document, &expect_file!["../openapi.json"]);
}
