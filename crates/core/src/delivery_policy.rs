//! The delivery policy of a sink: how often and when a delivery is retried, what happens if the
//! queue is full, which events are delivered, in which order and how fast. With the defaults, a
//! sink behaves as the specification says (6.5).

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use thiserror::Error;

use crate::{
    Timestamp,
    lane::{ATTEMPTS_MAX, RetryPolicy},
};

/// The largest `attempts` of a sink.
pub const ATTEMPTS_LIMIT: u32 = 50;
/// The longest wait between two attempts, in seconds: seven days.
pub const WAIT_LIMIT: u32 = 7 * 24 * 60 * 60;
/// The largest `max_repeats` and `in_flight` of a sink.
pub const WINDOW_LIMIT: u32 = 64;
/// The number of deliveries that a crash may repeat, unless the sink sets `max_repeats`.
pub const MAX_REPEATS: u32 = 8;
/// The maximum number of statuses in `permanent_statuses`.
const STATUSES_MAX: usize = 50;
/// The largest `rate_per_minute`.
const RATE_LIMIT: u32 = 60_000;
/// The status of a receiver that no longer exists.
const GONE: u16 = 410;
/// The maximum size of an expression, in bytes.
pub const EXPRESSION_BYTES_MAX: usize = 4_096;
/// The longest time after which a failing sink is reported or paused, in minutes: 30 days.
const MINUTES_LIMIT: u32 = 30 * 24 * 60;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeliveryPolicy {
    /// Attempts of one delivery, the first included.
    #[schemars(range(min = 1, max = ATTEMPTS_LIMIT))]
    pub attempts: u32,
    /// The waits between attempts. If absent: 5 seconds after the first attempt, then 15 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Whether a `Retry-After` of the receiver lengthens the wait, to at most seven days.
    pub retry_after: bool,
    /// Statuses after which a delivery is dead at once. If 410 is in the list, it pauses the sink
    /// instead, and the delivery stays in the queue.
    #[schemars(length(max = STATUSES_MAX))]
    pub permanent_statuses: Vec<u16>,
    /// What happens after the last attempt of a delivery has failed.
    pub on_exhausted: OnExhausted,
    /// What happens to an event that does not fit into the queue.
    pub overflow: Overflow,
    /// Deliveries of a webhook that a crash of the server may repeat. The next delivery starts if
    /// fewer than this many results still have to be written to disk. With 1, each delivery waits
    /// until the result of the previous one is on disk.
    #[schemars(range(min = 1, max = WINDOW_LIMIT))]
    pub max_repeats: u32,
    /// Attempts a minute; no limit if absent.
    #[schemars(range(min = 1, max = RATE_LIMIT))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_minute: Option<u32>,
    pub ordering: Ordering,
    /// An expression over the event. With `ordering = "key"`, events for which it has the same
    /// value are delivered in order.
    #[schemars(length(max = EXPRESSION_BYTES_MAX))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The maximum number of deliveries in flight with `ordering = "key"`.
    #[schemars(range(min = 1, max = WINDOW_LIMIT))]
    pub in_flight: u32,
    /// An expression over the event; only events for which it is true are delivered.
    #[schemars(length(max = EXPRESSION_BYTES_MAX))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Whether changes of the sink's state raise `sink.*` events.
    pub notify: bool,
    /// The sink counts as failing after this many failed attempts in a row.
    #[schemars(range(min = 1, max = 1000))]
    pub failing_after_failures: u32,
    /// The sink counts as failing when every attempt has failed for this many minutes.
    #[schemars(range(min = 1, max = MINUTES_LIMIT))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing_after_minutes: Option<u32>,
    /// The sink is paused when every attempt has failed for this many minutes; never if absent.
    #[schemars(range(min = 1, max = MINUTES_LIMIT))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_after_minutes: Option<u32>,
    /// Whether attempts are stored with their request and answer.
    pub keep_exchanges: bool,
}

impl Default for DeliveryPolicy {
    fn default() -> Self {
        Self {
            attempts: ATTEMPTS_MAX,
            retry: None,
            retry_after: false,
            permanent_statuses: Vec::new(),
            on_exhausted: OnExhausted::default(),
            overflow: Overflow::default(),
            max_repeats: MAX_REPEATS,
            rate_per_minute: None,
            ordering: Ordering::default(),
            key: None,
            in_flight: 16,
            filter: None,
            notify: false,
            failing_after_failures: ATTEMPTS_MAX,
            failing_after_minutes: None,
            pause_after_minutes: None,
            keep_exchanges: false,
        }
    }
}

/// The waits between attempts, in seconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(example = json!({"waits": [5, 60, 3600]}))]
pub enum Retry {
    /// One wait after each failed attempt. The last wait repeats.
    Waits(#[schemars(length(min = 1, max = ATTEMPTS_LIMIT))] Vec<u32>),
    Exponential(Exponential),
}

/// Waits that grow by a factor, up to a maximum.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exponential {
    #[schemars(range(min = 1, max = WAIT_LIMIT))]
    pub first: u32,
    #[schemars(range(min = 1.0, max = 10.0))]
    #[serde(default = "two")]
    pub factor: f64,
    #[schemars(range(min = 1, max = WAIT_LIMIT))]
    pub max: u32,
    /// Whether each wait is shortened by a random part, up to half of it.
    #[serde(default = "yes")]
    pub jitter: bool,
}

fn two() -> f64 {
    2.0
}

fn yes() -> bool {
    true
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnExhausted {
    /// The delivery is dead, and the next one starts.
    #[default]
    Skip,
    /// The sink is paused. The delivery stays at the head of the queue.
    Pause,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overflow {
    /// The event is dropped, with a log line and an audit entry.
    #[default]
    Drop,
    /// The event is queued later: when the queue has room, the stored events are read in their
    /// order.
    Hold,
}

impl Overflow {
    pub fn is_drop(&self) -> bool {
        *self == Self::Drop
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ordering {
    /// One delivery at a time.
    #[default]
    Strict,
    /// Several deliveries at a time, in order for each value of `key`.
    Key,
}

/// Why a policy is refused.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum PolicyError {
    #[error("`{field}` is {value}; it must be between {min} and {max}")]
    OutOfRange {
        field: &'static str,
        value: String,
        min: u32,
        max: u32,
    },
    #[error("`retry.waits` has {0} waits; give between 1 and {ATTEMPTS_LIMIT}")]
    Waits(usize),
    #[error("`retry.exponential.max` ({max}) is less than `first` ({first})")]
    Exponential { first: u32, max: u32 },
    #[error("`permanent_statuses` contains {0}; a failure has a status between 300 and 599")]
    Status(u16),
    #[error("`permanent_statuses` has {0} statuses; at most {STATUSES_MAX} are allowed")]
    Statuses(usize),
    #[error("`ordering = \"key\"` needs `key`, an expression such as `event.data.order_id`")]
    NoKey,
    #[error("`key` has no effect without `ordering = \"key\"`; set both or neither")]
    UnusedKey,
    #[error("`{field}` is empty; leave it out")]
    Empty { field: &'static str },
    #[error("`{field}` has {bytes} bytes; at most {EXPRESSION_BYTES_MAX} are allowed")]
    TooLong { field: &'static str, bytes: usize },
}

impl DeliveryPolicy {
    /// Checks every value against its limits. The syntax of expressions is not checked here but by
    /// the crate `template`.
    pub fn check(&self) -> Result<(), PolicyError> {
        in_range("attempts", self.attempts, 1, ATTEMPTS_LIMIT)?;
        self.retry.as_ref().map_or(Ok(()), Retry::check)?;
        if self.permanent_statuses.len() > STATUSES_MAX {
            return Err(PolicyError::Statuses(self.permanent_statuses.len()));
        }
        if let Some(status) = self
            .permanent_statuses
            .iter()
            .find(|status| !(300..600).contains(*status))
        {
            return Err(PolicyError::Status(*status));
        }
        in_range("max_repeats", self.max_repeats, 1, WINDOW_LIMIT)?;
        in_range("in_flight", self.in_flight, 1, WINDOW_LIMIT)?;
        in_range(
            "rate_per_minute",
            self.rate_per_minute.unwrap_or(1),
            1,
            RATE_LIMIT,
        )?;
        match (self.ordering, &self.key) {
            (Ordering::Key, None) => return Err(PolicyError::NoKey),
            (Ordering::Strict, Some(_)) => return Err(PolicyError::UnusedKey),
            (Ordering::Key, Some(_)) | (Ordering::Strict, None) => {}
        }
        for (field, text) in [("key", &self.key), ("filter", &self.filter)] {
            let Some(text) = text else { continue };
            if text.trim().is_empty() {
                return Err(PolicyError::Empty { field });
            }
            if text.len() > EXPRESSION_BYTES_MAX {
                let bytes = text.len();
                return Err(PolicyError::TooLong { field, bytes });
            }
        }
        in_range(
            "failing_after_failures",
            self.failing_after_failures,
            1,
            1_000,
        )?;
        let minutes = [
            ("failing_after_minutes", self.failing_after_minutes),
            ("pause_after_minutes", self.pause_after_minutes),
        ];
        for (field, minutes) in minutes {
            in_range(field, minutes.unwrap_or(1), 1, MINUTES_LIMIT)?;
        }
        Ok(())
    }
}

/// An attempt that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FailedAttempt {
    /// Failed attempts of the delivery, this one included.
    pub failures: u32,
    /// The status of the receiver's answer, if there was one.
    pub status: Option<u16>,
    /// The `Retry-After` of the answer.
    pub retry_after: Option<Duration>,
}

/// The consequence of a failed attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AfterFailure {
    RetryIn(Duration),
    Dead,
    /// The sink is paused, for this reason. The delivery stays at the head of the queue.
    Pause(String),
}

impl DeliveryPolicy {
    /// Decides what follows a failed attempt (spec 6.5). `default` gives the waits if this policy
    /// has none; `random` is between 0 and 1.
    pub fn after_failure(
        &self,
        failed: FailedAttempt,
        default: RetryPolicy,
        random: f64,
    ) -> AfterFailure {
        match failed.status {
            Some(GONE) if self.permanent_statuses.contains(&GONE) => {
                return AfterFailure::Pause(format!("the receiver answered {GONE} (gone)"));
            }
            Some(status) if self.permanent_statuses.contains(&status) => {
                return AfterFailure::Dead;
            }
            _ => {}
        }
        if failed.failures >= self.attempts {
            return match self.on_exhausted {
                OnExhausted::Skip => AfterFailure::Dead,
                OnExhausted::Pause => AfterFailure::Pause(match failed.failures {
                    1 => "the only attempt of a delivery failed".to_owned(),
                    count => format!("all {count} attempts of a delivery failed"),
                }),
            };
        }
        let wait = match &self.retry {
            Some(retry) => retry.wait(failed.failures, random),
            None => default.wait(failed.failures),
        };
        let longest = Duration::from_secs(WAIT_LIMIT.into());
        let asked = failed.retry_after.filter(|_| self.retry_after);
        AfterFailure::RetryIn(asked.map_or(wait, |asked| wait.max(asked.min(longest))))
    }
}

impl DeliveryPolicy {
    /// Whether the sink counts as failing after this many failed attempts in a row, the first of
    /// them at `since`. Decides when the event `sink.failing` is emitted. For the question whether
    /// a person must look at the sink, see
    /// [`SinkHealth::needs_attention`](crate::lane::SinkHealth::needs_attention).
    pub fn is_failing(&self, failed_in_row: u32, since: Timestamp, now: Timestamp) -> bool {
        failed_in_row >= self.failing_after_failures
            || have_passed(self.failing_after_minutes, since, now).is_some()
    }

    /// The minutes after which the sink is paused, if every attempt since `since` has failed and
    /// they have passed.
    pub fn pauses_after(&self, since: Timestamp, now: Timestamp) -> Option<u32> {
        have_passed(self.pause_after_minutes, since, now)
    }
}

/// These minutes, if they have passed.
fn have_passed(minutes: Option<u32>, since: Timestamp, now: Timestamp) -> Option<u32> {
    let end = |minutes: u32| since.plus(Duration::from_secs(u64::from(minutes) * 60));
    minutes.filter(|minutes| end(*minutes) <= now)
}

fn in_range(field: &'static str, value: u32, min: u32, max: u32) -> Result<(), PolicyError> {
    match (min..=max).contains(&value) {
        true => Ok(()),
        false => Err(PolicyError::OutOfRange {
            field,
            value: value.to_string(),
            min,
            max,
        }),
    }
}

impl Retry {
    fn check(&self) -> Result<(), PolicyError> {
        match self {
            Self::Waits(waits) => {
                if waits.is_empty() || waits.len() > ATTEMPTS_LIMIT as usize {
                    return Err(PolicyError::Waits(waits.len()));
                }
                waits
                    .iter()
                    .try_for_each(|wait| in_range("retry.waits", *wait, 1, WAIT_LIMIT))
            }
            Self::Exponential(Exponential {
                first, factor, max, ..
            }) => {
                in_range("retry.exponential.first", *first, 1, WAIT_LIMIT)?;
                in_range("retry.exponential.max", *max, 1, WAIT_LIMIT)?;
                if !(1.0..=10.0).contains(factor) {
                    return Err(PolicyError::OutOfRange {
                        field: "retry.exponential.factor",
                        value: factor.to_string(),
                        min: 1,
                        max: 10,
                    });
                }
                match first <= max {
                    true => Ok(()),
                    false => Err(PolicyError::Exponential {
                        first: *first,
                        max: *max,
                    }),
                }
            }
        }
    }

    /// The wait after an attempt failed. `failures` counts the failed attempts of the delivery, the
    /// latest included; `random` is between 0 and 1.
    pub fn wait(&self, failures: u32, random: f64) -> Duration {
        let earlier = failures.saturating_sub(1);
        match self {
            Self::Waits(waits) => {
                let wait = waits.get(earlier as usize).or(waits.last());
                Duration::from_secs(wait.copied().unwrap_or(1).into())
            }
            Self::Exponential(Exponential {
                first,
                factor,
                max,
                jitter,
            }) => {
                let exponent = i32::try_from(earlier).unwrap_or(i32::MAX);
                let full = (f64::from(*first) * factor.powi(exponent)).min(f64::from(*max));
                let part = if *jitter {
                    1.0 - random.clamp(0.0, 1.0) / 2.0
                } else {
                    1.0
                };
                Duration::from_secs_f64(full * part)
            }
        }
    }
}

#[cfg(test)]
mod tests;
