//! Limits on the requests of users and addresses, and on the memory of bodies and answers.
//!
//! | Limit | Type | Value |
//! |---|---|---|
//! | calls of a user per second | [`RateLimit`] | `calls_per_second`, none by default |
//! | events a user emits per second | [`RateLimit`] | `emits_per_second`, 1,000 by default |
//! | requests of a user that change something, per second | [`RateLimit`] | `changes_per_second`, 50 by default, with a burst of [`CHANGES_BURST_SECONDS`] |
//! | trials of sinks and of scripts by a user per minute | [`TrialLimits`] | constants |
//! | registrations of a user's spaces per minute | [`RegistrationLimit`] | `registrations_per_minute`, 600 by default |
//! | links of a space, announced changes of its health | [`SpacePace`] | constants of `links` |
//! | failed logins of a user at an address | [`LoginLimit`] | [`LoginPolicy`]; `login_limit` is the number of failures after which the next attempt must wait |
//! | codes of device logins that a user tries per minute | [`MinuteLimit`] | a constant of `oauth` |
//! | requests of an address, and of the networks around it, about OAuth, sign-in providers and passkeys | [`AddressLimit`] | constants of `oauth`, `oidc` and `second_factors` |
//! | rejected requests of an address, and of the networks around it, to one source | [`AddressLimit`] | constants of `sources` |
//! | bytes of bodies of requests, and of calls that wait for a link | [`ByteBudget`] | `max_unfinished_body_bytes`, a quarter of it per user |
//! | bytes of answers that are not read yet | [`ByteBudget`], [`AnswerHold`] | `max_unread_answer_bytes`, a quarter of it per user |
//!
//! On a single server, all counters are in memory, and a restart resets them. In a zone (servers
//! that share a database), failed logins are also counted in the database. Twice a second, the
//! servers exchange their use of the limits on calls, emits, changes, trials and open streams
//! (`zone::limits`). The budgets for bytes are not exchanged: they protect the memory of one server.
//! Each server counts the other limits separately.
//!
//! Limits on the number of a user's records (spaces, sinks, scripts) and open streams are quotas:
//! `svc_core::quota`. `http::connections` limits the connections, and `svc_pool` the waiting
//! computations and password hashes.

mod address_limit;
mod answer_hold;
mod byte_budget;
mod count_use;
mod login_limit;
mod minute_limit;
mod rate_limit;
mod registration_limit;
mod space_pace;
mod trial_limits;

pub use address_limit::AddressLimit;
pub use answer_hold::{AnswerHold, UNCOUNTED_BYTES_MAX, charge_reply};
pub use byte_budget::{
    Account, BudgetFull, ByteBudget, ByteBudgets, ChargedBytes, Hold, Reservation, Shortage,
};
pub use count_use::CountUse;
pub use login_limit::{LoginLimit, LoginPolicy, LoginRefused, network};
pub use minute_limit::{MinuteLimit, OverMinuteLimit};
pub use rate_limit::{OverLimit, RateLimit, RateUse};
pub use registration_limit::RegistrationLimit;
pub use space_pace::SpacePace;
pub use trial_limits::TrialLimits;

/// The maximum number of users in a report to the other servers of the zone, for each limit.
const USES_MAX: usize = 1_000;

/// After a pause, a user may make the changes of this many seconds at once: enough for an import up to
/// the default quotas.
pub const CHANGES_BURST_SECONDS: f64 = 20.0;
