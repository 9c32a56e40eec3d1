//! Spaces as this server holds them in memory: [`LiveSpace`] has a [`Link`], or lost it within the
//! grace period. Calls are put on a [`Link`]; `calls` knows those in flight. [`SpaceLogs`] holds
//! the last lines of each space. Nothing here opens, registers or ends a space: that is `links`.

mod calls;
mod health_pace;
mod link;
mod live_space;
mod logs;
mod reports;

pub use calls::{Answer, NoAnswer};
pub use health_pace::HealthReport;
pub use link::{Link, NotSent, PendingCall, UserNumber};
pub use live_space::{Availability, LiveSpace};
pub use logs::SpaceLogs;
pub use reports::{Listener, Reports};
