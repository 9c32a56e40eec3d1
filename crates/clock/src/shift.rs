//! A clock that jumps, for the servers of `svc prove`.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

/// Milliseconds by which the clock of this process differs from the system clock. Global, because
/// the system clock that it replaces is global too.
static SHIFT_MILLIS: AtomicI64 = AtomicI64::new(0);

/// Makes the clock of this process differ from the system clock by this many milliseconds, as if
/// the system clock had jumped.
pub fn shift(millis: i64) {
    SHIFT_MILLIS.store(millis, Ordering::Relaxed);
}

pub(crate) fn shifted(time: Duration) -> Duration {
    let shift = SHIFT_MILLIS.load(Ordering::Relaxed);
    let by = Duration::from_millis(shift.unsigned_abs());
    match shift < 0 {
        true => time.saturating_sub(by),
        false => time.saturating_add(by),
    }
}
