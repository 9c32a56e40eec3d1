//! JSON Merge Patches (RFC 7396) of parts of records. The patch of a whole record is derived from the
//! body that creates the record, see `svc_derive`.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::document::{ReadError, read_value};

/// The member after the patch does not have the form that it must have.
#[derive(Debug, Error)]
#[error("in `{member}`: {error}")]
pub struct MergeError {
    member: &'static str,
    error: ReadError,
}

/// The member of a record after a merge patch: members of objects are merged, `null` removes a
/// member, and other values replace the value. Both must be serialised as objects.
pub fn merge<T: Serialize + DeserializeOwned>(
    member: &'static str,
    before: &T,
    patch: &impl Serialize,
) -> Result<T, MergeError> {
    let patch = serde_json::to_value(patch).expect("patches are JSON");
    let mut merged = serde_json::to_value(before).expect("records are JSON");
    apply(&mut merged, patch);
    read_value(merged).map_err(|error| MergeError { member, error })
}

fn apply(target: &mut Value, patch: Value) {
    let changes = match patch {
        Value::Object(changes) => changes,
        other => {
            *target = other;
            return;
        }
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let members = target.as_object_mut().expect("it was made an object");
    for (name, change) in changes {
        match change {
            Value::Null => drop(members.shift_remove(&name)),
            change => apply(members.entry(name).or_insert(Value::Null), change),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The examples of RFC 7396, appendix A, whose patch is an object.
    #[test]
    fn objects_are_merged_as_in_the_rfc() {
        for (before, patch, after) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b"}),
                json!({"b": "c"}),
                json!({"a": "b", "b": "c"}),
            ),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (
                json!({"a": "b", "b": "c"}),
                json!({"a": null}),
                json!({"b": "c"}),
            ),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (
                json!({"a": [{"b": "c"}]}),
                json!({"a": [1]}),
                json!({"a": [1]}),
            ),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!([1, 2]),
                json!({"a": "b", "c": null}),
                json!({"a": "b"}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
        ] {
            let merged = merge("part", &before, &patch).expect("any JSON");
            assert_eq!(merged, after, "{before} {patch}");
        }
    }

    #[test]
    fn a_member_of_a_wrong_form_is_refused_by_its_name() {
        let before = std::collections::BTreeMap::from([("a".to_owned(), 1_u32)]);
        let merged = merge("quotas", &before, &json!({"a": "x"}));
        let text = merged.expect_err("a text").to_string();
        assert!(text.starts_with("in `quotas`: "), "{text}");
    }
}
