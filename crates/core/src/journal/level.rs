//! What the call journal may record about the calls of a method. The publisher decides this.

use std::sync::Arc;

use super::JsonPointer;
use crate::text_enum::text_enum;

text_enum! {
    /// What the call journal records of the calls of a method.
    #[derive(Default)]
    JournalLevel {
        /// Nothing.
        None = "none",
        /// A row without params and results.
        #[default]
        Outcome = "outcome",
        /// A row with params, results and errors.
        Payloads = "payloads",
    }
}

impl JournalLevel {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What is recorded of the calls of one method.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MethodJournal {
    pub level: JournalLevel,
    /// The values of params, results and errors that are not recorded. Sorted.
    pub redact: Arc<[JsonPointer]>,
}
