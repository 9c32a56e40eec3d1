//! The subscription of a method to events (spec 6.4).

use crate::{CanonicalName, pattern::Pattern};

/// A method that receives events, as a registration declares it.
#[derive(Clone, PartialEq, Debug)]
pub struct Subscription {
    pub method: CanonicalName,
    pub patterns: Vec<Pattern>,
    /// Names of json-rpc sinks, in the order in which they format an event.
    pub formatters: Vec<String>,
    /// Whether events wait while the method cannot receive them, even after its space has stopped.
    pub holds: bool,
}

impl Subscription {
    /// `None` for a method without patterns: formatters alone subscribe to nothing.
    pub fn new(
        method: &CanonicalName,
        patterns: &[Pattern],
        formatters: &[String],
        holds: bool,
    ) -> Option<Self> {
        (!patterns.is_empty()).then(|| Self {
            method: method.clone(),
            patterns: patterns.to_vec(),
            formatters: formatters.to_vec(),
            holds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_6_4_formatters_without_patterns_subscribe_to_nothing() {
        let method = CanonicalName::parse("notes.on_event").expect("valid");
        let formatters = ["brief".to_owned()];
        assert_eq!(Subscription::new(&method, &[], &formatters, true), None);
        let patterns = Pattern::parse_list("custom.*").expect("valid");
        let subscription = Subscription::new(&method, &patterns, &formatters, false);
        assert_eq!(
            subscription.map(|subscription| subscription.patterns),
            Some(patterns)
        );
    }
}
