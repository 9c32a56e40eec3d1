//! Quotas: how much one user may have on a server, and the error for a request that exceeds a
//! quota.
//!
//! The server's configuration sets the values for all users ([`Quotas`]). An administrator may set
//! other values for one user ([`QuotaOverrides`]).

use std::{collections::BTreeMap, fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The largest value of a quota: the largest integer that every JSON reader keeps exactly.
pub const QUOTA_MAX: u64 = (1 << 53) - 1;

/// `Variant field = default, "what is counted", "what the user can do";`
macro_rules! quotas {
    ($($(#[$doc:meta])*
       $variant:ident $field:ident = $default:expr, $counted:literal, $way_out:literal;)*) => {
        /// A kind of thing that is counted per user.
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Quota {
            $($(#[$doc])* $variant,)*
        }

        impl Quota {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The key in `[quotas]` and in `quotas` of a user.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($field),)*
                }
            }

            /// The setting in the server's configuration.
            pub fn setting(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!("quotas.", stringify!($field)),)*
                }
            }

            /// The name of the counted things in messages.
            fn counted(self) -> &'static str {
                match self {
                    $(Self::$variant => $counted,)*
                }
            }

            fn way_out(self) -> &'static str {
                match self {
                    $(Self::$variant => $way_out,)*
                }
            }
        }

        /// The value of every quota. A quota of 0 allows nothing.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
        pub struct Quotas {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Default for Quotas {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl Quotas {
            pub fn get(&self, quota: Quota) -> u64 {
                match quota {
                    $(Quota::$variant => self.$field,)*
                }
            }

            pub fn set(&mut self, quota: Quota, value: u64) {
                match quota {
                    $(Quota::$variant => self.$field = value,)*
                }
            }
        }
    };
}

quotas! {
    /// Spaces that are not deleted.
    Spaces spaces = 500, "spaces", "delete a space first";
    /// API tokens, expired ones included until they are revoked.
    Tokens tokens = 200, "API tokens", "revoke a token first";
    /// Stored scripts. All global scripts count together, as if one user owned them.
    Scripts scripts = 500, "scripts", "delete a script first";
    /// Event sinks. All global sinks count together, as if one user owned them.
    Sinks sinks = 100, "event sinks", "delete a sink first";
    /// Sources: URLs to which other services send requests.
    Sources sources = 100, "sources", "delete a source first";
    /// Schedules.
    Schedules schedules = 100, "schedules", "delete a schedule first";
    /// Methods that all spaces of the user publish on one server.
    Methods methods = 20_000, "methods",
        "register fewer methods, or unregister those of another space first";
    /// Bytes of the user's stored events, and of the answers and errors of their deliveries, except
    /// events that only global sinks still need.
    EventBytes event_bytes = 1 << 30, "bytes of stored events",
        "try again when some of them are delivered";
    /// Bytes of audit entries about the user's own changes, within a day (UTC).
    AuditBytes audit_bytes = 10 << 20, "bytes of audit entries today",
        "wait until midnight UTC";
    /// Streams (of events, of calls, of MCP) that are open at the same time.
    Streams streams = 50, "open streams", "close a stream first";
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("quota `{0}` does not exist; the quotas are {names}", names = names())]
pub struct UnknownQuota(pub String);

fn names() -> String {
    let names: Vec<_> = Quota::ALL.iter().map(|quota| quota.as_str()).collect();
    names.join(", ")
}

impl FromStr for Quota {
    type Err = UnknownQuota;

    fn from_str(text: &str) -> Result<Self, UnknownQuota> {
        let mut all = Self::ALL.iter().copied();
        all.find(|quota| quota.as_str() == text)
            .ok_or_else(|| UnknownQuota(text.to_owned()))
    }
}

/// Values that an administrator set for one user. For all other quotas the server's values apply.
pub type QuotaOverrides = BTreeMap<Quota, u64>;

impl Quotas {
    /// The quotas of a user: the server's values, replaced by the user's overrides.
    #[must_use]
    pub fn with(mut self, overrides: &QuotaOverrides) -> Self {
        for (&quota, &value) in overrides {
            self.set(quota, value);
        }
        self
    }

    /// Rejects a request if `wanted`, the total that the user would then have, exceeds the quota.
    pub fn check(&self, quota: Quota, wanted: u64) -> Result<(), QuotaExceeded> {
        let limit = self.get(quota);
        if wanted <= limit {
            return Ok(());
        }
        Err(QuotaExceeded {
            quota,
            wanted,
            limit,
        })
    }
}

/// A request that would give a user more than a quota allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "this would make {wanted} {}, and at most {limit} are allowed (setting `{}`); {}, or ask an administrator for a higher limit",
    quota.counted(), quota.setting(), quota.way_out()
)]
pub struct QuotaExceeded {
    pub quota: Quota,
    /// The total that the user would have.
    pub wanted: u64,
    pub limit: u64,
}

impl QuotaExceeded {
    /// Error code for programs; never changes.
    pub const CODE: &'static str = "quota_exceeded";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_may_be_reached_but_not_exceeded() {
        let quotas = Quotas::default();
        for &quota in Quota::ALL {
            let limit = quotas.get(quota);
            assert_eq!(quotas.check(quota, limit), Ok(()));
            let over = quotas.check(quota, limit + 1).expect_err("one too many");
            assert_eq!((over.wanted, over.limit), (limit + 1, limit));
            let message = over.to_string();
            for part in [
                &limit.to_string(),
                &(limit + 1).to_string(),
                quota.setting(),
            ] {
                assert!(message.contains(part), "{message}");
            }
        }
        let none = Quotas { sinks: 0, ..quotas };
        assert!(none.check(Quota::Sinks, 1).is_err());
    }

    #[test]
    fn overrides_replace_only_the_quotas_that_they_name() {
        let overrides = QuotaOverrides::from([(Quota::Sinks, 500), (Quota::Streams, 0)]);
        let quotas = Quotas::default().with(&overrides);
        assert_eq!((quotas.sinks, quotas.streams, quotas.spaces), (500, 0, 500));
    }

    #[test]
    fn quota_names_match_the_settings() {
        for &quota in Quota::ALL {
            assert_eq!(quota.as_str().parse(), Ok(quota));
            let json = serde_json::to_string(&quota).expect("text");
            assert_eq!(json, format!("{:?}", quota.as_str()));
            assert_eq!(quota.setting(), format!("quotas.{quota}"));
        }
        let error = "users".parse::<Quota>().expect_err("unknown");
        assert!(error.to_string().contains("`users`"), "{error}");
        assert!(error.to_string().contains("event_bytes"), "{error}");
    }

    #[test]
    fn overrides_are_a_json_object_with_known_quotas_only() {
        let overrides: QuotaOverrides = serde_json::from_str(r#"{"sinks":5}"#).expect("valid");
        assert_eq!(overrides.get(&Quota::Sinks), Some(&5));
        assert_eq!(
            serde_json::to_string(&overrides).expect("JSON"),
            r#"{"sinks":5}"#
        );
        assert!(serde_json::from_str::<QuotaOverrides>(r#"{"sink":5}"#).is_err());
    }

    #[test]
    fn the_largest_quota_is_the_largest_integer_that_json_readers_keep_exactly() {
        assert_eq!(QUOTA_MAX, 9_007_199_254_740_991);
        let quotas = Quotas {
            event_bytes: QUOTA_MAX,
            ..Quotas::default()
        };
        let json = serde_json::to_value(quotas).expect("JSON");
        let as_float = json["event_bytes"].as_f64().expect("a number");
        assert_eq!(as_float as u64, QUOTA_MAX);
    }
}
