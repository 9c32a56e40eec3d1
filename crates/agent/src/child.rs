//! What every child process of the agent has in common: it gets none of the agent's credentials,
//! and nothing of it outlives its owner.

use rustix::process::{Pid, Signal, kill_process_group};
use svc_protocol::env::{ADMIN_PASSWORD, AGENT_TOKEN, SECRET_KEY};
use tokio::process::{Child, Command};

/// The agent's credential, and its server's, are none of a child's business.
pub fn withhold_credentials(command: &mut Command) {
    for name in [AGENT_TOKEN, ADMIN_PASSWORD, SECRET_KEY] {
        command.env_remove(name);
    }
}

/// The process group a child leads; it ends with this value, whatever the child has started.
pub struct Group(Pid);

impl Group {
    /// `None` if the child has already been waited for.
    pub fn led_by(child: &Child) -> Option<Self> {
        let id = i32::try_from(child.id()?).ok()?;
        Pid::from_raw(id).map(Self)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // An error means that nobody is left to hear it.
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}
