//! Sources: they turn inbound requests of other services into events.
//!
//! `settings` defines how a source verifies its requests. `rules` is a table with a row for each
//! known service, such as GitHub. `verify` checks a request by a row of this table. `request` turns
//! a verified request into the type and the data of an event.

pub mod request;
mod rules;
pub mod settings;
pub mod verify;

use thiserror::Error;

use crate::name::is_segment;

/// Prefix of the types of events from sources. Users can emit only types that begin with `custom.`,
/// so no user can fake an event from a source.
pub const SOURCE_EVENTS: &str = "source.";

/// Longest name of a source or a schedule. The name is a part of event types, which patterns of at
/// most 128 characters must be able to match.
pub const EVENT_NAME_MAX: usize = 48;

/// The characters that [`check_event_name`] accepts, as a regular expression.
pub const EVENT_NAME_PATTERN: &str = "^[A-Za-z0-9_-]+$";

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the name `{name}` must have 1 to {EVENT_NAME_MAX} letters, digits, `_` or `-`, because it is a part of event types"
)]
pub struct EventNameError {
    name: String,
}

/// Checks the name of a source or a schedule: one segment of an event type.
pub fn check_event_name(name: &str) -> Result<(), EventNameError> {
    if name.len() <= EVENT_NAME_MAX && is_segment(name) {
        return Ok(());
    }
    let name = name.chars().take(EVENT_NAME_MAX).collect();
    Err(EventNameError { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_segment_of_an_event_type() {
        for good in ["github", "a", "Pay_ments-2", &"x".repeat(EVENT_NAME_MAX)] {
            assert_eq!(check_event_name(good), Ok(()), "{good}");
        }
        for bad in ["", "a.b", "a b", "é", "*", &"x".repeat(EVENT_NAME_MAX + 1)] {
            assert!(check_event_name(bad).is_err(), "{bad}");
        }
    }
}
