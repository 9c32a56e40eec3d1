//! Logs failed connections of webhooks, with the address, for administrators.
//!
//! The owner of a webhook must never see the address behind a name: it may belong to the operator's
//! internal network.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use svc_client::transport::GuardedError;
use svc_core::UserId;
use tracing::info;

/// Log lines for one owner in each [`WINDOW`].
const LINES_MAX: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);

#[derive(Default)]
pub(super) struct FailureLog(Mutex<HashMap<UserId, Window>>);

struct Window {
    began: Instant,
    lines: u32,
}

impl FailureLog {
    pub(super) fn note(&self, owner: UserId, error: &GuardedError) {
        let (GuardedError::Blocked { .. } | GuardedError::Connect { .. }) = error else {
            return;
        };
        if self.may_log(owner, Instant::now()) {
            info!(user.id = %owner, "a webhook could not connect: {error}");
        }
    }

    /// Counts a line of an owner; `false` if the owner has reached the limit.
    fn may_log(&self, owner: UserId, now: Instant) -> bool {
        let mut windows = self.0.lock();
        windows.retain(|_, window| now.duration_since(window.began) < WINDOW);
        let window = windows.entry(owner).or_insert(Window {
            began: now,
            lines: 0,
        });
        window.lines += 1;
        window.lines <= LINES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_of_one_owner_are_limited() {
        let log = FailureLog::default();
        let now = Instant::now();
        let logged = (0..50).filter(|_| log.may_log(UserId::NIL, now)).count();
        assert_eq!(logged, 10);
        assert!(log.may_log(UserId(uuid::Uuid::from_u128(1)), now));
        assert!(log.may_log(UserId::NIL, now + WINDOW));
    }
}
