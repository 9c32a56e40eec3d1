//! Whether the agent is linked to a server, and to which space.

use svc_link::SpaceIdentity;

/// The state of the link, for all who wait for it or show it.
#[derive(Clone, Debug, Default)]
pub struct LinkStatus {
    /// The number of the link that is up.
    pub link: Option<u64>,
    /// Why the last attempt failed, while no link is up.
    pub error: Option<String>,
    /// Known from the first welcome on.
    pub space: Option<SpaceIdentity>,
}
