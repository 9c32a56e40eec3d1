//! The wall clock. No other crate of the product reads it, but some libraries do, for example to
//! create UUIDs or to check certificates.
//!
//! The code for leases, credentials and limits uses a [`Clock`], which a test can replace. Code
//! that only records a time calls [`now`].

#[cfg(feature = "shift")]
mod shift;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

#[cfg(feature = "shift")]
pub use shift::shift;

use svc_core::Timestamp;

/// A source of the current time; cheap to clone.
#[derive(Clone)]
pub struct Clock {
    read: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    elapsed: Option<Arc<dyn Fn() -> Duration + Send + Sync>>,
}

impl Clock {
    /// The system clock.
    pub fn system() -> Self {
        Self::from_fn(now).with_elapsed(since_boot)
    }

    /// A clock that calls `read` for the time.
    pub fn from_fn(read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self {
            read: Arc::new(read),
            elapsed: None,
        }
    }

    /// Adds a measure of time that does not change when the clock is set.
    pub fn with_elapsed(self, elapsed: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self {
            elapsed: Some(Arc::new(elapsed)),
            ..self
        }
    }

    pub fn now(&self) -> Timestamp {
        (self.read)()
    }

    /// The time since an unknown moment. Setting the clock does not change it. It includes the time
    /// during which the machine is suspended. `None` for a clock without
    /// [`with_elapsed`](Self::with_elapsed): such a clock never jumps.
    pub fn elapsed(&self) -> Option<Duration> {
        self.elapsed.as_ref().map(|elapsed| elapsed())
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The time since 1970. A time before 1970 is returned as 1970.
fn since_epoch() -> Duration {
    let system = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    #[cfg(feature = "shift")]
    let system = shift::shifted(system);
    system
}

/// The system time.
pub fn now() -> Timestamp {
    Timestamp(i64::try_from(since_epoch().as_millis()).unwrap_or(i64::MAX))
}

#[cfg(target_os = "linux")]
fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn since_boot() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::try_from(time).unwrap_or_default()
}

/// The system time in microseconds, for numbers that must grow across restarts.
pub fn now_micros() -> u64 {
    u64::try_from(since_epoch().as_micros()).unwrap_or(u64::MAX)
}

/// The system time in nanoseconds, for the spans of traces.
pub fn now_nanos() -> u64 {
    u64::try_from(since_epoch().as_nanos()).unwrap_or(u64::MAX)
}
