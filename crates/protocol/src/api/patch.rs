//! Functions for serde: members of merge patches, and defaults.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A part of a merge patch that is merged member by member.
pub type Members = Map<String, Value>;

pub(super) fn yes() -> bool {
    true
}

/// Reads a member of a merge patch that cannot be removed: `null` is rejected.
pub(super) fn set<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

/// Reads a member of a merge patch that can be removed: `Some(None)` for `null`, `None` if absent.
pub(super) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(value).map(Some)
}
