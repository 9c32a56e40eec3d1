//! Claims: the statements of a provider about a user.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub type Claims = Map<String, Value>;

/// The maximum number of values of a claim. A claim with more values counts as incomplete.
pub const CLAIM_VALUES_MAX: usize = 1_000;

/// The values of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClaimValues {
    /// The provider did not send the claim. Keycloak leaves out the groups of a user who has none.
    Absent,
    /// The provider did not send all values, sent more than [`CLAIM_VALUES_MAX`], or sent an
    /// object. Entra leaves out a long list of groups and names the claim in `_claim_names`
    /// instead.
    Incomplete,
    /// Members of a list that are objects, lists or null are left out.
    Known(Vec<String>),
}

/// Finds a claim by its name, or else by a path such as `realm_access.roles`. A name may contain
/// dots (`https://example.org/groups`), so the whole text is tried as a name first.
pub fn find_values(claims: &Claims, path: &str) -> ClaimValues {
    let found = claims.get(path).or_else(|| {
        let mut segments = path.split('.');
        let first = claims.get(segments.next()?)?;
        segments.try_fold(first, |value, segment| value.get(segment))
    });
    if is_left_out(claims, path) {
        return ClaimValues::Incomplete;
    }
    match found {
        None | Some(Value::Null) => ClaimValues::Absent,
        Some(Value::Array(values)) if values.len() <= CLAIM_VALUES_MAX => {
            ClaimValues::Known(values.iter().filter_map(text).collect())
        }
        Some(value) => {
            text(value).map_or(ClaimValues::Incomplete, |one| ClaimValues::Known(vec![one]))
        }
    }
}

/// Whether the other claims state that the provider left out this claim.
fn is_left_out(claims: &Claims, path: &str) -> bool {
    let first = path.split('.').next().unwrap_or_default();
    let names = claims.get("_claim_names").and_then(Value::as_object);
    let is_named = names.is_some_and(|names| names.contains_key(path) || names.contains_key(first));
    is_named || (path == "groups" && claims.get("hasgroups") == Some(&Value::Bool(true)))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Checks that each required claim has at least one of its accepted values. The error is the path
/// of the first claim that has none.
pub fn has_required<'a>(
    claims: &Claims,
    required: &'a BTreeMap<String, Vec<String>>,
) -> Result<(), &'a str> {
    for (path, accepted) in required {
        let is_met = match find_values(claims, path) {
            ClaimValues::Known(values) => values.iter().any(|value| accepted.contains(value)),
            ClaimValues::Absent | ClaimValues::Incomplete => false,
        };
        if !is_met {
            return Err(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claims(value: Value) -> Claims {
        value.as_object().expect("an object").clone()
    }

    #[test]
    fn a_claim_is_found_by_its_name_or_its_path() {
        let known = |values: &[&str]| {
            ClaimValues::Known(values.iter().map(|&value| value.to_owned()).collect())
        };
        let long: Vec<_> = (0..=CLAIM_VALUES_MAX).map(|n| n.to_string()).collect();
        for (given, path, expected) in [
            (json!({"groups": ["a", "b"]}), "groups", known(&["a", "b"])),
            (json!({"groups": []}), "groups", known(&[])),
            (json!({"groups": "a"}), "groups", known(&["a"])),
            (
                json!({"groups": [1, true, null, {}, []]}),
                "groups",
                known(&["1", "true"]),
            ),
            (json!({"a": {"b": {"c": ["x"]}}}), "a.b.c", known(&["x"])),
            (
                json!({"https://x.org/g": ["x"]}),
                "https://x.org/g",
                known(&["x"]),
            ),
            (
                json!({"a.b": "whole", "a": {"b": "path"}}),
                "a.b",
                known(&["whole"]),
            ),
            (json!({}), "groups", ClaimValues::Absent),
            (json!({"groups": null}), "groups", ClaimValues::Absent),
            (
                json!({"groups": {"a": 1}}),
                "groups",
                ClaimValues::Incomplete,
            ),
            (json!({"groups": long}), "groups", ClaimValues::Incomplete),
            (json!({"a": "text"}), "a.b", ClaimValues::Absent),
            (
                json!({"_claim_names": {"groups": "src1"}}),
                "groups",
                ClaimValues::Incomplete,
            ),
            (
                json!({"groups": ["a"], "_claim_names": {"groups": "src1"}}),
                "groups",
                ClaimValues::Incomplete,
            ),
            (
                json!({"groups": ["a"], "hasgroups": true}),
                "groups",
                ClaimValues::Incomplete,
            ),
            (
                json!({"roles": ["a"], "hasgroups": true}),
                "roles",
                known(&["a"]),
            ),
            // The provider names either the whole path or the first part of it.
            (
                json!({"_claim_names": {"realm": "src1"}}),
                "realm.roles",
                ClaimValues::Incomplete,
            ),
            (
                json!({"_claim_names": {"https://x.org/g": "src1"}}),
                "https://x.org/g",
                ClaimValues::Incomplete,
            ),
            (
                json!({"groups": ["a"], "_claim_names": {"roles": "src1"}}),
                "groups",
                known(&["a"]),
            ),
        ] {
            assert_eq!(
                find_values(&claims(given.clone()), path),
                expected,
                "{given}"
            );
        }
    }

    #[test]
    fn every_required_claim_needs_one_of_its_values() {
        let required = BTreeMap::from([
            (
                "groups".to_owned(),
                vec!["staff".to_owned(), "ops".to_owned()],
            ),
            ("org".to_owned(), vec!["acme".to_owned()]),
        ]);
        let check = |given: Value| has_required(&claims(given), &required);
        assert_eq!(
            check(json!({"groups": ["x", "ops"], "org": "acme"})),
            Ok(())
        );
        assert_eq!(
            check(json!({"groups": ["x"], "org": "acme"})),
            Err("groups")
        );
        assert_eq!(
            check(json!({"groups": ["ops"], "org": "acme2"})),
            Err("org")
        );
        assert_eq!(check(json!({"groups": ["ops"]})), Err("org"));
        assert_eq!(has_required(&claims(json!({})), &BTreeMap::new()), Ok(()));
    }
}
