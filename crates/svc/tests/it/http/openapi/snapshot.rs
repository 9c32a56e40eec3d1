//! The OpenAPI document and the codes of its errors, compared with files, so that the review of a
//! commit shows every change of the API. `UPDATE_EXPECT=1 cargo verify openapi::snapshot` replaces
//! the files.
//!
//! `openapi.json` has the codes in place of the responses with errors, which are half of the
//! document. `error_codes.txt` has the meaning of each code.

use std::collections::BTreeSet;

use expect_test::{ExpectFile, expect_file};
use serde_json::{Value, json};
use svc_testkit::TestServer;

use super::difference::differences;
use crate::snapshot::{lines_of, sorted};

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

/// Replaces the responses with errors by their codes. Returns the lines of `error_codes.txt`, such
/// as "404 `not_found`: There is no such record, or the caller may not see it".
fn take_codes(document: &mut Value) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    let paths = document["paths"].as_object_mut().unwrap().values_mut();
    let operations = paths.flat_map(|path| path.as_object_mut().unwrap().values_mut());
    for operation in operations {
        for (status, response) in operation["responses"].as_object_mut().unwrap() {
            let schema = &response["content"]["application/problem+json"]["schema"];
            let codes = schema["properties"]["code"]["enum"].clone();
            if codes.is_null() {
                continue;
            }
            let meanings = response["description"].as_str().unwrap().lines();
            let meanings = meanings.filter_map(|line| line.strip_prefix("- "));
            lines.extend(meanings.map(|meaning| format!("{status} {meaning}")));
            *response = codes;
        }
    }
    lines
}

/// Compares a document with a file. Shows the members that differ, and not the whole text.
#[track_caller]
fn check(document: Value, expected: &ExpectFile) {
    let document = sorted(document);
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
    expected.assert_eq(&lines_of(&document));
}

#[tokio::test]
async fn the_document_and_its_error_codes_are_unchanged() {
    let mut document = document().await;
    let codes: Vec<_> = take_codes(&mut document).into_iter().collect();
    expect_file!["../error_codes.txt"].assert_eq(&format!("{}\n", codes.join("\n")));
    check(document, &expect_file!["../openapi.json"]);
}
