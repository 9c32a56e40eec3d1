//! Keeps numbers that a script only passes on from changing without a message.
//!
//! The engine reads a JSON number with a fraction as a float, as Python does. A number with more
//! digits than a float has is rounded then. An event or a request of the script that contains such
//! a float is rejected, because the original number is lost.

use std::collections::HashSet;

use svc_core::json_number::{floats, rounded};

/// The floats that were rounded when the script read them.
#[derive(Default)]
pub(super) struct Rounding {
    bits: HashSet<u64>,
}

impl Rounding {
    /// Records the numbers of a JSON text that the script reads.
    pub(super) fn read(&mut self, text: &str) {
        let floats = floats(text).filter_map(rounded);
        self.bits.extend(floats.map(f64::to_bits));
    }

    /// Why the script may not send a JSON text.
    pub(super) fn check(&self, text: &str) -> Result<(), String> {
        if self.bits.is_empty() {
            return Ok(());
        }
        let is_rounded = |token: &&str| {
            let float = token.parse().map(f64::to_bits);
            float.is_ok_and(|bits| self.bits.contains(&bits))
        };
        match floats(text).find(is_rounded) {
            None => Ok(()),
            Some(number) => Err(format!(
                "the number {number} was rounded when the script read it, because it had more digits than a float; send it as text: str(value)"
            )),
        }
    }
}
