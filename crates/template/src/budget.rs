//! The time limit of one rendering. The limit counts processor time. A limit of elapsed time could
//! stop a harmless template on a busy machine, and then the delivery would fail permanently.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use thiserror::Error;

/// The maximum processor time of one rendering.
const TIME_MAX: Duration = Duration::from_millis(250);

#[derive(Debug, Error)]
#[error("the rendering took more than {} ms", TIME_MAX.as_millis())]
pub(crate) struct OutOfTime;

#[derive(Debug)]
pub(crate) struct Budget {
    until: Duration,
}

impl Budget {
    /// Starts the budget of a rendering. The whole rendering must run on the current thread.
    pub(crate) fn start() -> Self {
        Self {
            until: thread_time() + TIME_MAX,
        }
    }

    pub(crate) fn check(&self) -> Result<(), OutOfTime> {
        if thread_time() > self.until {
            Err(OutOfTime)
        } else {
            Ok(())
        }
    }
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::from_secs(seconds)
        + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or_default())
}
