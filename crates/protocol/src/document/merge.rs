//! JSON Merge Patches (RFC 7396).

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{ReadError, read_value};

/// `current` after a merge patch. `current` must be serialised as an object.
pub fn merge<T: Serialize + DeserializeOwned>(
    current: &T,
    patch: &Map<String, Value>,
) -> Result<T, ReadError> {
    let mut merged = serde_json::to_value(current).expect("records are JSON");
    merge_into(&mut merged, patch);
    read_value(merged)
}

fn merge_into(target: &mut Value, patch: &Map<String, Value>) {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(members) = target else {
        return;
    };
    for (key, change) in patch {
        match change {
            Value::Null => {
                members.shift_remove(key);
            }
            Value::Object(change) => {
                merge_into(members.entry(key.clone()).or_insert(Value::Null), change);
            }
            other => {
                members.insert(key.clone(), other.clone());
            }
        }
    }
}
