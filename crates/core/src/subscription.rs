//! The subscription of a method to events (spec 6.4).

use thiserror::Error;

use crate::{CanonicalName, Quota, Quotas, pattern::Pattern};

/// Bytes of patterns for each subscription that the quota `methods` allows.
const PATTERN_BYTES_PER_METHOD: u64 = 1024;
/// Lowest limit in bytes: one registration file of the largest size.
const PATTERN_BYTES_MIN: u64 = 4 * 1024 * 1024;

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

/// The stored subscriptions of an owner. A subscription with `event_overflow = "hold"` is stored
/// until its space is deleted, also while the space is stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SubscriptionTotals {
    pub subscriptions: u64,
    /// Bytes of their patterns.
    pub bytes: u64,
}

/// A registration that would give its owner more subscriptions than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "with the subscriptions of stopped spaces, your methods would have {wanted} {counted}, and at most {limit} are allowed (setting `{}`); delete stopped spaces whose methods have `event_overflow = \"hold\"` (`svc space delete <name>`), subscribe fewer methods, or ask an administrator for a higher limit",
    Quota::Methods.setting()
)]
pub struct SubscriptionsExceeded {
    pub wanted: u64,
    pub limit: u64,
    counted: &'static str,
}

impl SubscriptionTotals {
    /// Checks the totals `after` a registration. A registration that adds no more than it removes is
    /// accepted even if the owner exceeds a lowered quota.
    pub fn check_growth(self, after: Self, quotas: &Quotas) -> Result<(), SubscriptionsExceeded> {
        let bytes_max = quotas.methods.saturating_mul(PATTERN_BYTES_PER_METHOD);
        let checks = [
            (
                self.subscriptions,
                after.subscriptions,
                quotas.methods,
                "subscriptions",
            ),
            (
                self.bytes,
                after.bytes,
                bytes_max.max(PATTERN_BYTES_MIN),
                "bytes of event patterns",
            ),
        ];
        for (before, wanted, limit, counted) in checks {
            if wanted > before && wanted > limit {
                return Err(SubscriptionsExceeded {
                    wanted,
                    limit,
                    counted,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_and_their_patterns_may_grow_up_to_the_quota_of_methods() {
        let check =
            |before: (u64, u64), after: (u64, u64), methods, expected: Option<(u64, u64)>| {
                let totals = |(subscriptions, bytes)| SubscriptionTotals {
                    subscriptions,
                    bytes,
                };
                let quotas = Quotas {
                    methods,
                    ..Quotas::default()
                };
                let checked = totals(before).check_growth(totals(after), &quotas);
                let refused = checked.err().map(|error| {
                    let message = error.to_string();
                    for part in ["quotas.methods", "svc space delete"] {
                        assert!(message.contains(part), "{message}");
                    }
                    (error.wanted, error.limit)
                });
                assert_eq!(refused, expected, "{before:?} {after:?} {methods}");
            };
        const MIN: u64 = PATTERN_BYTES_MIN;
        check((0, 0), (3, 10), 3, None);
        check((0, 0), (4, 10), 3, Some((4, 3)));
        check((5, 10), (4, 10), 3, None);
        check((5, 10), (5, 20), 3, None);
        check((0, 0), (1, MIN), 1, None);
        check((0, 0), (1, MIN + 1), 1, Some((MIN + 1, MIN)));
        check((1, MIN + 9), (1, MIN + 1), 1, None);
        check(
            (0, 0),
            (1, 20_480_001),
            20_000,
            Some((20_480_001, 20_480_000)),
        );
    }

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
