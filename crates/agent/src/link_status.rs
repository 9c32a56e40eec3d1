//! Whether the agent has a home link, and which space the agent belongs to.

use svc_core::ServerId;
use svc_link::SpaceIdentity;

/// The state of the link, for parts of the agent that wait for the link or show its state.
#[derive(Clone, Debug, Default)]
pub struct LinkStatus {
    /// The number of the link that is up. `None` while no link is up.
    pub link: Option<u64>,
    /// Why the last attempt failed, while no link is up.
    pub error: Option<String>,
    /// The server of the home link, or of the last one. `None` until a server has accepted the first
    /// link.
    pub server: Option<ServerId>,
    /// `None` until a server has accepted the first link.
    pub space: Option<SpaceIdentity>,
}
