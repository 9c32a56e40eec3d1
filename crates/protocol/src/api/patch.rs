//! Reading merge patches and defaults: helpers of the bodies.

use serde::{Deserialize, Deserializer};

pub(super) fn yes() -> bool {
    true
}

/// A member of a merge patch that cannot be removed: `null` is refused, not taken for absent.
pub(super) fn set<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

/// Tells `null` (`Some(None)`) from absent (`None`) in a merge patch.
pub(super) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(value).map(Some)
}
