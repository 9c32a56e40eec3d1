//! The one place where the agent reads the time of day.

use std::time::{SystemTime, UNIX_EPOCH};

use svc_core::Timestamp;

pub fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
