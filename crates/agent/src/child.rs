//! What every child process of the agent has in common: it gets none of the agent's credentials,
//! and nothing of it outlives its owner.

use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};
use svc_protocol::env::{ADMIN_PASSWORD, AGENT_TOKEN, AGENT_TOKEN_FILE, SECRET_KEY};
use tokio::process::{Child, Command};

use crate::guard::{Guard, Watched};

/// The agent's credential, and its server's, are none of a child's business.
pub fn withhold_credentials(command: &mut Command) {
    for name in [AGENT_TOKEN, AGENT_TOKEN_FILE, ADMIN_PASSWORD, SECRET_KEY] {
        command.env_remove(name);
    }
}

/// The process group a child leads. It ends with this value, whatever the child has started; the
/// guard ends it if the agent is killed.
pub struct Group {
    id: Pid,
    _watched: Watched,
}

impl Group {
    /// `None` if the child has already been waited for.
    pub fn led_by(child: &Child, guard: &Arc<Guard>) -> Option<Self> {
        let id = child.id()?;
        Some(Self {
            id: Pid::from_raw(i32::try_from(id).ok()?)?,
            _watched: guard.watch(id),
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // An error means that nobody is left to hear it.
        let _ = kill_process_group(self.id, Signal::KILL);
    }
}
