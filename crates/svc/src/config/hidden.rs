//! Values that the program chooses best. Only tests and `svc prove` change them, by a variable: they
//! are not keys of the configuration file, and the documentation does not name them.

use std::{num::NonZeroUsize, time::Duration};

use serde::Deserialize;

use super::section::hidden;

pub const RETRY_FIRST_SECONDS: &str = "SVC_RETRY_FIRST_SECONDS";
pub const RETRY_SECOND_SECONDS: &str = "SVC_RETRY_SECOND_SECONDS";
pub const LEASE_SECONDS: &str = "SVC_LEASE_SECONDS";

hidden! {
    workers: NonZeroUsize = "SVC_WORKERS",
    compute_threads: NonZeroUsize = "SVC_COMPUTE_THREADS",
    compute_queue: NonZeroUsize = "SVC_COMPUTE_QUEUE",
    script_workers: NonZeroUsize = "SVC_SCRIPT_WORKERS",
    head_seconds: Seconds = "SVC_HEAD_SECONDS",
    answer_stall_seconds: Seconds = "SVC_ANSWER_STALL_SECONDS",
    heartbeat_seconds: Seconds = "SVC_HEARTBEAT_SECONDS",
    retry_first_seconds: Seconds = RETRY_FIRST_SECONDS,
    retry_second_seconds: Seconds = RETRY_SECOND_SECONDS,
    lease_seconds: Seconds = LEASE_SECONDS,
    parents_per_second: u32 = "SVC_TRACES_PARENTS_PER_SECOND",
}

/// From 0.01 seconds to a day.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(try_from = "f64")]
pub struct Seconds(Duration);

impl TryFrom<f64> for Seconds {
    type Error = String;

    fn try_from(seconds: f64) -> Result<Self, String> {
        match (0.01..=86_400.0).contains(&seconds) {
            true => Ok(Self(Duration::from_secs_f64(seconds))),
            false => Err(format!("{seconds} is not between 0.01 and 86400 seconds")),
        }
    }
}

impl From<Seconds> for Duration {
    fn from(seconds: Seconds) -> Self {
        seconds.0
    }
}
