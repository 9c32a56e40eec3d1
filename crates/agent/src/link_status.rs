//! Whether the agent has a home link (the link that decides about the state of the space), and
//! which space the agent belongs to.

use svc_core::ServerId;
use svc_link::SpaceIdentity;

/// The state of the home link, for parts of the agent that wait for the link or show its state.
#[derive(Clone, Debug, Default)]
pub struct LinkStatus {
    /// The number of the home link. `None` while no home link is up.
    pub link: Option<u64>,
    /// Why the home link ended, or why the last attempt failed. `None` while the link is up.
    pub error: Option<String>,
    /// The server of the home link, or of the last home link. `None` until a server has accepted
    /// the first link.
    pub server: Option<ServerId>,
    /// The space of the agent. `None` until a server has accepted the first link.
    pub space: Option<SpaceIdentity>,
}
