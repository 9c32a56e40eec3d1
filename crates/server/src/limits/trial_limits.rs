//! Limits what one user tries out.

use super::MinuteLimit;

/// Trials of one user per minute. In a zone, trials at other servers count too (`zone::limits`).
pub struct TrialLimits {
    /// Test deliveries, backtests and replays: they may send to any address or read much of the
    /// history.
    pub sinks: MinuteLimit,
    /// Runs by hand, because each run occupies a worker.
    pub scripts: MinuteLimit,
}

impl Default for TrialLimits {
    fn default() -> Self {
        Self {
            sinks: MinuteLimit::new(10),
            scripts: MinuteLimit::new(60),
        }
    }
}
