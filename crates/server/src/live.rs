//! The linked spaces, in memory. A [`LiveSpace`] has a [`Link`], or has lost its link and the grace
//! period has not ended yet. A [`Link`] sends calls; `calls` holds the calls in flight.
//! [`SpaceLogs`] holds the last log lines of each space. This module must not open, register or end
//! links: that is the task of the module `links`.

mod calls;
mod link;
mod live_space;
mod logs;
mod reports;

pub use calls::{Answer, InvalidAnswer};
pub use link::{Link, LinkSetup, NotSent, PendingCall, UserNumber};
pub use live_space::{Availability, HealthReport, LiveSpace};
pub use logs::SpaceLogs;
pub use reports::{Listener, Reports};
