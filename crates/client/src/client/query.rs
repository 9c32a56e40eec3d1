//! Query strings.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde_json::Value;
use svc_protocol::api::PageQuery;

/// All but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The path of a list with two queries: `page` selects the page, `query` the records.
pub(super) fn page_path(path: &str, page: &PageQuery, query: &impl Serialize) -> String {
    with_query(&with_query(path, page), query)
}

/// Appends the fields of `query` that are not null: `path?name=value&…`.
pub(crate) fn with_query(path: &str, query: &impl Serialize) -> String {
    let mut out = path.to_owned();
    let mut separator = if path.contains('?') { '&' } else { '?' };
    let fields = serde_json::to_value(query).expect("a query is always JSON");
    for (name, value) in fields.as_object().into_iter().flatten() {
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        out.push(separator);
        separator = '&';
        out.push_str(name);
        out.push('=');
        out.extend(utf8_percent_encode(&value, ENCODED));
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn absent_fields_are_omitted_and_values_are_encoded() {
        let nothing: Option<&str> = None;
        assert_eq!(with_query("/a", &json!({"x": nothing})), "/a");
        assert_eq!(
            with_query("/a", &json!({"x": "a b&c=é", "y": nothing, "z": 1})),
            "/a?x=a%20b%26c%3D%C3%A9&z=1"
        );
        let page = PageQuery {
            limit: Some(2),
            cursor: None,
        };
        let path = page_path("/a", &page, &json!({"kind": "tool"}));
        assert_eq!(path, "/a?limit=2&kind=tool");
    }
}
