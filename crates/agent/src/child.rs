//! Child processes of the agent. A child gets no credential of the agent or the server, and its
//! process group is killed when its [`ProcessGroup`] is dropped.
//!
//! The guard is also a child, but it is not started with this module. If the agent is killed, the
//! guard ends the process groups of the other children.

use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};
use svc_protocol::env::{ADMIN_PASSWORD, AGENT_TOKEN, AGENT_TOKEN_FILE, SECRET_KEY};
use tokio::process::{Child, Command};

use crate::guard::Guard;

/// Removes the credentials of the agent and of the server from a child's environment.
pub fn withhold_credentials(command: &mut Command) {
    for name in [AGENT_TOKEN, AGENT_TOKEN_FILE, ADMIN_PASSWORD, SECRET_KEY] {
        command.env_remove(name);
    }
}

/// The process group that a child leads. Dropping this value kills the group: the child, and the
/// processes that it started and that did not leave the group. If the agent is killed, the guard
/// ends the group.
pub struct ProcessGroup {
    id: Pid,
    guard: Arc<Guard>,
}

impl ProcessGroup {
    /// `None` if the child has already been waited for.
    pub fn led_by(child: &Child, guard: &Arc<Guard>) -> Option<Self> {
        let id = Pid::from_raw(i32::try_from(child.id()?).ok()?)?;
        guard.watch(id);
        let guard = Arc::clone(guard);
        Some(Self { id, guard })
    }

    pub fn signal(&self, signal: Signal) {
        // The group may have ended already.
        let _ = kill_process_group(self.id, signal);
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.guard.unwatch(self.id);
    }
}
